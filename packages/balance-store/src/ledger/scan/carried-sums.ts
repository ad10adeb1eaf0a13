/** Reads the sums of archived charges, which stay in the ledger in place of the charges. */

import type { CarryPosition, CarryRow } from '../rows/carry-row.js';
import { MAX_SEQ } from './ledger-scan.js';
import type { LedgerScan, KeyRange } from './ledger-scan.js';

const CARRIES_PER_PAGE = 1_000;

/** A range of an account's entries that has only archived charges. */
export type CarriedRun = Pick<CarryRow, 'accountId' | 'from' | 'to'>;

/**
 * Sums ordered by account, entry number and key, of accounts above `after` and at most `last`.
 *
 * @param keys - Only those of these keys.
 */
export async function* readCarried(
  source: Pick<LedgerScan, 'carriesAfter'>,
  after: string,
  last: string | undefined,
  keys?: KeyRange,
): AsyncGenerator<CarryRow, undefined> {
  let position: CarryPosition = { accountId: after, from: MAX_SEQ, keyId: '' };
  for (;;) {
    const page = await source.carriesAfter(
      position,
      { lastAccountId: last, keys },
      CARRIES_PER_PAGE,
    );
    yield* page;
    const end = page.at(-1);
    if (end === undefined || page.length < CARRIES_PER_PAGE) return undefined;
    position = end;
  }
}

export function isSameRun(a: CarriedRun | undefined, b: CarriedRun): boolean {
  return a?.accountId === b.accountId && a.from === b.from;
}

/** Finds the sums of runs. Calls must come in the order of account and entry number. */
export interface CarryCursor {
  /** The next sum whose run begins at or before this entry. Each sum is returned once. */
  takeBefore(accountId: string, seq: bigint): Promise<CarryRow | undefined>;
  /**
   * Whether a run carries this entry. Considers only the run of the sum that was taken last, and
   * those not taken yet.
   */
  carries(accountId: string, seq: bigint): Promise<boolean>;
}

export function createCarryCursor(carried: AsyncGenerator<CarryRow, undefined>): CarryCursor {
  let next: CarryRow | undefined;
  let last: CarryRow | undefined;
  let isStarted = false;
  async function advance(): Promise<void> {
    last = next;
    const step = await carried.next();
    next = step.done === true ? undefined : step.value;
    isStarted = true;
  }
  async function takeBefore(accountId: string, seq: bigint): Promise<CarryRow | undefined> {
    if (!isStarted) await advance();
    const isBefore =
      next !== undefined &&
      (next.accountId < accountId || (next.accountId === accountId && next.from <= seq));
    if (!isBefore) return undefined;
    await advance();
    return last;
  }
  return {
    takeBefore,
    async carries(accountId, seq) {
      while ((await takeBefore(accountId, seq)) !== undefined);
      return last?.accountId === accountId && seq >= last.from && seq <= last.to;
    },
  };
}
