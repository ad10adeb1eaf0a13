/** Sums of the ledger for books: what changed balances before and within a range of time. */

import type { CreditSource, EntryReason } from './account.js';
import type { LedgerEntry } from './ledger-entry.js';

export interface BookQuery {
  /** Inclusive. This and `until` must be whole hours, because charges are summed by hour. */
  readonly from: Date;
  /** Exclusive. */
  readonly until: Date;
  /** `next` of the page before. */
  readonly after?: string | undefined;
  /** The most accounts of the page. */
  readonly limit: number;
}

/** All of its sums are of the same state of the ledger. */
export interface BookPage {
  /** In the order of their ids, also those that nothing happened to. */
  readonly accounts: readonly {
    readonly id: string;
    readonly name: string;
    readonly externalId: string | null;
  }[];
  /** Of these accounts. */
  readonly sums: readonly BookSum[];
  /** Of the whole ledger, whatever the page; their `accountId` is empty. */
  readonly totals: readonly BookSum[];
  /** Absent on the last page. */
  readonly next?: string;
}

/** The sum of the entries of an account that are equal in every other member. */
export interface BookSum {
  readonly accountId: string;
  /** Whether the entries were made before `from`. The others were made before `until`. */
  readonly isBefore: boolean;
  readonly kind: LedgerEntry['kind'];
  /** `null` unless the entries are top-ups. */
  readonly source: CreditSource | null;
  /** `null` unless the entries are adjustments. */
  readonly reason: EntryReason | null;
  /** In units of 10^-14 USD. Negative if it left the balances. */
  readonly amount: bigint;
  /** The part of charges that was not charged, in the same unit. */
  readonly writtenOff: bigint;
  /** How many charges; 0 for other entries. */
  readonly requests: number;
  /** What the charges cost the operator, as far as that is recorded: of `costed` charges. */
  readonly cost: bigint;
  readonly costed: number;
}
