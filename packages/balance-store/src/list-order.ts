/** The orders of lists of accounts and keys, and the cursors of their pages. */

/**
 * Says which records come first. `newest`: those created last. `spent`: those that spent most.
 * `balance`: those with the lowest balance. `last_charged`: those charged last; records that were
 * never charged come at the end. Records that are equal are ordered by id.
 */
export type ListOrder = 'newest' | 'spent' | 'balance' | 'last_charged';

interface Listed {
  readonly id: string;
  readonly spent: bigint;
  readonly balance: bigint;
  readonly lastChargedAt: Date | null;
}

/**
 * The cursor of the page that begins after this record. It contains the record's place in the
 * order, so that the next page does not depend on later changes of the record. A record that moves
 * in the order between two pages may be on both or on neither.
 */
export function listCursorOf(order: ListOrder, last: Listed): string {
  if (order === 'newest') return last.id;
  const place = `${order}:${placeOf(order, last).toString()}:${last.id}`;
  return Buffer.from(place).toString('base64url');
}

function placeOf(order: Exclude<ListOrder, 'newest'>, last: Listed): bigint {
  switch (order) {
    case 'spent':
      return last.spent;
    case 'balance':
      return last.balance;
    case 'last_charged':
      return last.lastChargedAt === null ? NEVER : BigInt(last.lastChargedAt.getTime());
  }
}

/** The place of records that were never charged: before every time. */
export const NEVER = -1n;

export interface ListPosition {
  /**
   * An amount in units of 10^-14 USD, or milliseconds since the epoch. Not used with `newest`: ids
   * are in the order of creation.
   */
  readonly place: bigint;
  readonly id: string;
}

const ID = /^(acct|key)_[\w-]{1,64}$/;
/** The end of 9999-12-31, the last day that the gateway accepts. */
const LAST_TIME = 253_402_300_799_999n;

/** @throws {RangeError} when the cursor was not returned for a list in this order. */
export function listPositionOf(order: ListOrder, cursor: string): ListPosition {
  if (order === 'newest') {
    if (ID.test(cursor)) return { place: 0n, id: cursor };
    throw new RangeError('must be the next_cursor of the previous page');
  }
  const text = Buffer.from(cursor, 'base64url').toString();
  const [, of, place = '', id = ''] = /^([a-z_]+):(-?\d{1,38}):([^]+)$/.exec(text) ?? [];
  const isTime = order === 'last_charged';
  if (of !== order || !ID.test(id) || (isTime && !isTimeOrNever(BigInt(place)))) {
    throw new RangeError('must be the next_cursor of the previous page, in the same order');
  }
  return { place: BigInt(place), id };
}

function isTimeOrNever(ms: bigint): boolean {
  return ms >= NEVER && ms <= LAST_TIME;
}
