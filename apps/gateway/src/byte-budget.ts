/**
 * Memory that clients may make this process take at one moment: the bytes of request bodies that
 * have not been sent on, and of responses that their clients have not read.
 *
 * A key may have at most as much reserved as is still free. So one key alone gets half, the next
 * one a quarter, and however many keys reserve all they can, some is left for the small requests of
 * the others. A declared length reserves memory before a byte of the body has arrived: with fixed
 * shares two keys could take everything by declaring bodies that they never send.
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
   * @returns `key_full` if the key would have more than half of the budget, `full` if other keys
   * have reserved too much
   */
  resize(bytes: number): 'reserved' | 'key_full' | 'full';
  /** Gives everything back. Calling it again does nothing. */
  release(): void;
}

export function createByteBudget(totalBytes: number): ByteBudget {
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
            const ofKey = (reservedByKey.get(keyId) ?? 0) + more;
            if (ofKey > totalBytes / 2) return 'key_full';
            if (ofKey > totalBytes - reserved - more) return 'full';
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
