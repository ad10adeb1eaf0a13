/**
 * The memory that clients can occupy in this process: the bytes of request bodies that are not yet
 * sent upstream, and of responses that their clients have not yet read.
 *
 * An account may reserve at most as much memory as stays free. The first account can therefore
 * reserve half, the next one a quarter, and so on, so that some memory is always left for other
 * accounts. The share is one of the account, because a holder chooses the number of its keys.
 *
 * Small reservations, below {@link SMALL_BYTES}, may use all of the budget, and larger ones only
 * 7/8 of it. Large bodies of several accounts together thus leave room for small ones. How many
 * small ones an account can have is limited by its leases.
 */

export interface ByteBudget {
  /** @returns the reservation of one request, of 0 bytes at first */
  open(accountId: string): ByteReservation;
  /** The sum of all reservations. */
  readonly reservedBytes: number;
}

export type ReservationOutcome = 'reserved' | 'account_full' | 'full';

export interface ByteReservation {
  /**
   * Changes this reservation to `bytes` in total. It changes only if the outcome is `reserved`.
   *
   * @returns `account_full` if the account would have more than half of the budget, `full` if other
   * accounts have reserved too much
   */
  resize(bytes: number): ReservationOutcome;
  /** What {@link resize} would return now. It reserves nothing. */
  check(bytes: number): ReservationOutcome;
  /** Releases the whole reservation. Calling it again does nothing. */
  release(): void;
}

/** A smaller reservation may also use the part of the budget that is kept for small ones. */
export const SMALL_BYTES = 64 * 1024;
/** The part of the budget that only small reservations may use: 1/8. */
const SMALL_PART_DIVISOR = 8;

/** What an account has reserved. */
interface Share {
  small: number;
  large: number;
}

export function createByteBudget(totalBytes: number): ByteBudget {
  const keptForSmall = totalBytes / SMALL_PART_DIVISOR;
  let reserved = 0;
  const shares = new Map<string, Share>();

  return {
    get reservedBytes() {
      return reserved;
    },
    open(accountId) {
      let mine = 0;

      function change(bytes: number): void {
        const share = shares.get(accountId) ?? { small: 0, large: 0 };
        share[sizeOf(mine)] -= mine;
        share[sizeOf(bytes)] += bytes;
        if (share.small + share.large === 0) shares.delete(accountId);
        else shares.set(accountId, share);
        reserved += bytes - mine;
        mine = bytes;
      }

      function check(bytes: number): ReservationOutcome {
        if (bytes <= mine) return 'reserved';
        const { small, large } = shares.get(accountId) ?? { small: 0, large: 0 };
        const free = totalBytes - reserved - (bytes - mine);
        const isSmall = sizeOf(bytes) === 'small';
        // The large reservations of an account do not keep it from small ones.
        const others = sizeOf(mine) === 'small' ? small - mine : small;
        const ofAccount = isSmall ? others + bytes : small + large - mine + bytes;
        if (ofAccount > totalBytes / 2) return 'account_full';
        return ofAccount > free || (!isSmall && free < keptForSmall) ? 'full' : 'reserved';
      }

      return {
        check,
        resize(bytes) {
          const outcome = check(bytes);
          if (outcome === 'reserved') change(bytes);
          return outcome;
        },
        release() {
          change(0);
        },
      };
    },
  };
}

function sizeOf(bytes: number): keyof Share {
  return bytes < SMALL_BYTES ? 'small' : 'large';
}
