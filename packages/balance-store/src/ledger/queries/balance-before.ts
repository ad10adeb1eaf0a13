/**
 * Finds the balance that an account had just before a given time. It needs only a few look-ups,
 * because the entries of an account are in order of time.
 */

import { HOUR_MS } from '../base/hours.js';

export interface EntryLookUp {
  /** The number of the account's last entry; 0 if it has none. */
  lastSeq(): Promise<number>;
  entry(seq: number): Promise<{ readonly createdAt: Date; readonly balanceAfter: bigint }>;
  /** The last run of the account's charges that was archived; `undefined` if there is none. */
  lastArchived(): Promise<ArchivedRun | undefined>;
  /**
   * The balance before `time`, a whole hour: the account's entries other than charges, minus its
   * sums of usage.
   */
  sumBefore(time: Date): Promise<bigint>;
}

export interface ArchivedRun {
  readonly to: number;
  readonly balanceAfter: bigint;
  /** The end of its archive. */
  readonly until: Date;
}

/**
 * @returns the balance after the last entry before `time`; 0 if there is no such entry @throws
 * {RangeError} The time is archived and not a whole hour. Archived balances are known for whole
 * hours only.
 */
export async function balanceBefore(time: Date, look: EntryLookUp): Promise<bigint> {
  const archived = await look.lastArchived();
  if (archived !== undefined && time < archived.until) {
    if (time.getTime() % HOUR_MS === 0) return look.sumBefore(time);
    throw new RangeError(
      `charges before ${archived.until.toISOString()} are archived, so earlier balances are known ` +
        'at whole hours only',
    );
  }
  let [low, high] = [archived?.to ?? 0, await look.lastSeq()];
  let balance = archived?.balanceAfter ?? 0n;
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
