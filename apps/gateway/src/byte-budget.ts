/**
 * The memory that clients can occupy in this process: the bytes of request bodies that are not yet
 * sent upstream, and of responses that their clients have not yet read.
 *
 * A key may reserve at most as much memory as stays free. The first key can therefore reserve half,
 * the next one a quarter, and so on, so that some memory is always left for small requests of other
 * keys. A declared length reserves memory before a byte of the body has arrived. With fixed shares,
 * two keys could take everything by declaring bodies that they never send.
 */

export interface ByteBudget {
  /** @returns the reservation of one request, of 0 bytes at first */
  open(keyId: string): ByteReservation;
  /** The sum of all reservations. */
  readonly reservedBytes: number;
}

export interface ByteReservation {
  /**
   * Changes this reservation to `bytes` in total. It changes only if the outcome is `reserved`.
   *
   * @returns `key_full` if the key would have more than half of the budget, `full` if other keys
   * have reserved too much
   */
  resize(bytes: number): 'reserved' | 'key_full' | 'full';
  /** Releases the whole reservation. Calling it again does nothing. */
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
