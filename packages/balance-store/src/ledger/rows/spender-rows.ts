/** What a transaction reads and writes of groups, members and budgets. */

import type { Spender } from '../../spender.js';
import type { Row, SomeColumns } from '../tables/tables.js';

export type SpenderModel = 'SpendGroup' | 'Member' | 'Budget' | 'BudgetRaise';

export interface SpenderRows {
  find<Of extends SpenderModel>(model: Of, id: string): Promise<Row<Of> | undefined>;
  insert<Of extends SpenderModel | 'BudgetUse'>(model: Of, row: Row<Of>): Promise<void>;
  /** Many in one statement, where the database waits for each. */
  insertAll<Of extends SpenderModel>(model: Of, rows: readonly Row<Of>[]): Promise<void>;
  update<Of extends SpenderModel>(model: Of, id: string, change: SomeColumns<Of>): Promise<void>;
  /** How many an account has, ended ones included, but no caps and no budgets of requests. */
  count(model: SpenderModel, accountId: string): Promise<number>;
  /** Whether the account has a budget that has not ended. */
  hasBudgets(accountId: string): Promise<boolean>;
  /** The budgets of an account that have a next one, and have not ended. */
  chained(accountId: string): Promise<readonly Row<'Budget'>[]>;
  /** The budget of a run that a request set, and that counts at this time. */
  runBudget(
    of: { readonly accountId: string; readonly run: string; readonly onlyFor: string },
    at: Date,
  ): Promise<Row<'Budget'> | undefined>;
  /** How many of them count at this time: in all, or of one member or key. */
  countRunBudgets(
    of: { readonly accountId: string; readonly onlyFor?: string },
    at: Date,
  ): Promise<number>;
  /** Some of them whose time is up, the oldest first. */
  expiredRunBudgets(accountId: string, at: Date, limit: number): Promise<readonly Row<'Budget'>[]>;
  isExternalIdTaken(
    model: 'SpendGroup' | 'Member',
    of: { readonly accountId: string; readonly externalId: string; readonly id: string },
  ): Promise<boolean>;
  /** Which of these external ids the account has. */
  takenExternalIds(
    model: 'SpendGroup' | 'Member',
    accountId: string,
    externalIds: readonly string[],
  ): Promise<readonly string[]>;
  /** The keys of a member, in the order of ids. */
  keyIdsOf(memberId: string): Promise<readonly string[]>;
  /** Sums of the account's charges from a time on, per key and spender; or only those of a key. */
  chargesSince(accountId: string, from: Date, keyId?: string): Promise<readonly SpentSum[]>;
  /** The same of one run. @param hour - In hours since the epoch. */
  chargesOfRunSince(accountId: string, run: string, hour: number): Promise<readonly SpentSum[]>;
  /** Deletes what a budget has used. */
  deleteUses(budgetId: string): Promise<void>;
  /** Clears the personal columns of the account's groups, members and budgets, and its labels. */
  erase(
    accountId: string,
    erasedColumns: <Of extends SpenderModel>(model: Of) => SomeColumns<Of>,
  ): Promise<void>;
}

export interface SpentSum {
  readonly keyId: string;
  readonly spender: Spender;
  /** With the parts that were written off. */
  readonly amount: bigint;
}
