/** The rows that archives and audits read of the whole ledger, page by page. */

import type { LedgerArchive } from '../../archive.js';
import type { SealHead } from '../../audit.js';
import type { CarryPosition, CarryRow } from '../rows/carry-row.js';
import type { SealedLedger } from '../../generated/tables.js';
import type { BlockFields } from '../seals/hashes.js';

export interface LedgerScan {
  head(): Promise<SealHead | undefined>;
  /** Ordered by account and number, beginning after `position`. */
  entriesAfter(
    position: LedgerPosition,
    lastAccountId: string | undefined,
    limit: number,
  ): Promise<readonly SealedLedger[]>;
  /**
   * Hourly totals of usage before an hour, ordered by primary key, beginning after `position`. At
   * most `limit`. Returns an empty list only after the last total.
   */
  usageAfter(
    position: UsagePosition,
    until: {
      readonly lastAccountId: string;
      readonly hour: number;
      readonly keys?: KeyRange | undefined;
    },
    limit: number,
  ): Promise<readonly UsageFields[]>;
  /**
   * Blocks whose number is greater than `after` and at most `last`, at most `limit` of them, each
   * with its seals by account.
   */
  blocksAfter(after: bigint, last: bigint, limit: number): Promise<readonly BlockFields[]>;
  /** Oldest first. */
  archives(): Promise<readonly LedgerArchive[]>;
  /** Ordered by account, number and key, beginning after `position`. */
  carriesAfter(
    position: CarryPosition,
    until: {
      readonly lastAccountId: string | undefined;
      readonly keys?: KeyRange | undefined;
    },
    limit: number,
  ): Promise<readonly CarryRow[]>;
  /** The number of the block that seals this entry. */
  blockOf(position: LedgerPosition): Promise<bigint | undefined>;
  /** The charges that a block seals and that are still in the ledger, by account and number. */
  chargesOf(block: bigint): Promise<readonly SealedLedger[]>;
  /** Whether charges that this archive carries are still in the ledger. */
  hasCarriedCharges(archive: number): Promise<boolean>;
}

export interface LedgerPosition {
  readonly accountId: string;
  readonly seq: bigint;
}

/** The keys with the ids from `from` on and before `before`. */
export interface KeyRange {
  readonly from: string;
  readonly before: string;
}

export interface UsagePosition {
  readonly accountId: string;
  readonly hour: number;
  readonly keyId: string;
  readonly model: string;
  readonly endpoint: string;
  readonly upstreamAccount: string;
  readonly ratesId: string;
}

export interface UsageFields extends UsagePosition {
  /** The five rates as decimal text, in the order of the ledger's columns. */
  readonly rates: readonly string[];
  readonly requests: bigint;
  /** In the order of the ledger's columns. */
  readonly counts: readonly bigint[];
  readonly writtenOff: bigint;
  readonly fees: bigint;
  readonly cost: bigint;
  /** How many of the requests have a known cost. */
  readonly costed: bigint;
}

/** Counts first, then amounts, in units of 10^-14 USD. `storedDifference` has their names. */
export function figuresOf(
  sum: Omit<UsageFields, keyof UsagePosition | 'rates'>,
): readonly bigint[] {
  return [sum.requests, ...sum.counts, sum.costed, sum.writtenOff, sum.fees, sum.cost];
}

/** Sorts after every id. */
export const AFTER_ALL_IDS = '\u{10ffff}';

/** No entry has a higher number, so this is a position after all entries of one account. */
export const MAX_SEQ = 2n ** 63n - 1n;
