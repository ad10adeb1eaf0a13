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
  /** What moved into and out of the sides of the books, of these accounts. */
  readonly sides: readonly SideSum[];
  /** The same of the whole ledger, with an empty `accountId`. */
  readonly sideTotals: readonly SideSum[];
  /** The accounts of the page of which the sides are not known throughout the range. */
  readonly unopened: readonly Unopened[];
  /** With an empty `accountId`, if there is any such account in the ledger. */
  readonly unopenedTotal: Unopened | undefined;
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

/**
 * What the entries of an account moved into or out of one side of the books: `balance:paid` and
 * `balance:given`, or an account of the operator. Charges are in it only with what was paid from
 * given money; all that they took is a {@link BookSum}.
 */
export interface SideSum {
  readonly accountId: string;
  readonly isBefore: boolean;
  readonly side: string;
  /** In units of 10^-14 USD. Above zero: what the operator owes or has earned. */
  readonly amount: bigint;
}

/**
 * An account of an earlier version whose entries said nothing of their other side at the start of
 * the range: its entry `opening`, from which on they do, is later.
 */
export interface Unopened {
  readonly accountId: string;
  /** Whether that entry is not made before the end of the range either. */
  readonly isAtEnd: boolean;
}
