/**
 * Finds the balance of an account at a time. It needs only a few look-ups, because the entries of
 * an account are in order of time.
 */

export interface EntryLookUp {
  /** The number of the account's last entry; 0 without any. */
  lastSeq(): Promise<number>;
  entry(seq: number): Promise<{ readonly createdAt: Date; readonly balanceAfter: bigint }>;
}

/** @returns the balance after the last entry before `time`; 0 if there is none */
export async function balanceBefore(time: Date, look: EntryLookUp): Promise<bigint> {
  let [low, high] = [0, await look.lastSeq()];
  let balance = 0n;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    const { createdAt, balanceAfter } = await look.entry(middle);
    if (createdAt < time) {
      low = middle;
      balance = balanceAfter;
    } else {
      high = middle - 1;
    }
  }
  return balance;
}
