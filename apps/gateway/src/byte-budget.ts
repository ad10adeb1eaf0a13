/**
 * Memory that clients may make this process take at one moment: the bytes of request bodies that
 * have not been sent on, and of responses that their clients have not read. One key can take a
 * share of it, so that no key leaves the others without.
 */

export interface ByteBudget {
  /** @returns what is reserved for one request, nothing at first */
  open(keyId: string): ByteReservation;
  /** How much is reserved now. */
  readonly reservedBytes: number;
}

export interface ByteReservation {
  /**
   * Changes what is reserved to `bytes` in total. On any outcome but `reserved` nothing changes.
   *
   * @returns `key_full` if the key's share does not allow it, `full` if the whole budget does not
   */
  resize(bytes: number): 'reserved' | 'key_full' | 'full';
  /** Gives everything back. Calling it again does nothing. */
  release(): void;
}

export interface ByteBudgetOptions {
  readonly totalBytes: number;
  /** The most that one key can have reserved. */
  readonly keyBytes: number;
}

export function createByteBudget({ totalBytes, keyBytes }: ByteBudgetOptions): ByteBudget {
  let reserved = 0;
  const reservedByKey = new Map<string, number>();

  return {
    get reservedBytes() {
      return reserved;
    },
    open(keyId) {
      let mine = 0;
      const change = (bytes: number): void => {
        const ofKey = (reservedByKey.get(keyId) ?? 0) + bytes - mine;
        if (ofKey === 0) reservedByKey.delete(keyId);
        else reservedByKey.set(keyId, ofKey);
        reserved += bytes - mine;
        mine = bytes;
      };
      return {
        resize(bytes) {
          const more = bytes - mine;
          if (more > 0) {
            if ((reservedByKey.get(keyId) ?? 0) + more > keyBytes) return 'key_full';
            if (reserved + more > totalBytes) return 'full';
          }
          change(bytes);
          return 'reserved';
        },
        release() {
          change(0);
        },
      };
    },
  };
}
