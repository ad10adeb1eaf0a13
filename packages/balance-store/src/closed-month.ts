/** Months that are closed, and the statements that were issued for them. */

import type { Actor } from './account.js';
import type { SealHead } from './audit.js';
import type { BookSum, SideSum, Unopened } from './books.js';

export interface MonthToClose {
  /** Its name, such as `2026-11`. */
  readonly month: string;
  /** Inclusive. This and `until` must be whole hours. */
  readonly from: Date;
  /** Exclusive. */
  readonly until: Date;
  /** The time zone in which these are the ends of the month. */
  readonly zone: string;
  readonly by: Actor;
}

/** The figures of a closed month in all; those of each account are in its `digest`. */
export interface ClosingFigures {
  readonly totals: readonly BookSum[];
  readonly sideTotals: readonly SideSum[];
  readonly unopenedTotal: Unopened | undefined;
}

export interface ClosedMonth {
  readonly month: string;
  readonly from: Date;
  readonly until: Date;
  readonly zone: string;
  readonly figures: ClosingFigures;
  /** SHA-256 of the sums of each account, in hexadecimal, as are all hashes of months. */
  readonly digest: string;
  /** `hash` of the month before; empty for the first. */
  readonly previousHash: string;
  /** The end of the hash chain when it was closed. */
  readonly head: SealHead | undefined;
  readonly closedAt: Date;
  readonly closedBy: string;
  /** SHA-256 of all of this. */
  readonly hash: string;
}

export type MonthOutcome =
  /** Also if it was closed before. */
  | { readonly outcome: 'closed'; readonly closed: ClosedMonth; readonly isNew: boolean }
  /** It ends in the future, or a charge may still be on its way to the database. */
  | { readonly outcome: 'not_over'; readonly closableAt: Date }
  /** Months are closed in order: the next one begins at this time. */
  | { readonly outcome: 'not_next'; readonly nextFrom: Date };

export type StatementKind = 'statement' | 'credit_note';

export interface NewStatement {
  /** Whose numbers it has. */
  readonly issuer: string;
  readonly kind: StatementKind;
  /** A closed one. */
  readonly month: string;
  readonly accountId: string;
  /** JSON. */
  readonly contents: string;
  readonly by: Actor;
}

export interface IssuedStatement extends Omit<NewStatement, 'by'> {
  /** From 1, without gaps for each issuer. */
  readonly number: number;
  readonly issuedAt: Date;
  /** SHA-256 of all of this. */
  readonly hash: string;
}

export interface StatementFilter {
  readonly month: string;
  readonly accountId?: string | undefined;
  /** Only those whose account's id is greater. */
  readonly afterAccount?: string | undefined;
  /** The most accounts; each has at most two statements. */
  readonly limit: number;
}
