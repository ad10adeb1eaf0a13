/**
 * Budgets: how much one part of an account may spend in a period. An account can have many, for the
 * whole account, its groups, its members, its keys, tags and runs; a request counts for each that
 * applies to it. An empty budget refuses requests; it disables no key.
 */

import type { Actor } from './account.js';
import type { Attributed, Spender, SpenderFilter, SpenderOutcome } from './spender.js';

/** `reserve`: counts only what chains of other budgets pass to it. */
export const BUDGET_SCOPES = [
  'account',
  'group',
  'member',
  'key',
  'tag',
  'run',
  'reserve',
] as const;
export type BudgetScope = (typeof BUDGET_SCOPES)[number];

/** `once`: from `from` to `until`, or for ever. Weeks begin on Mondays. */
export const BUDGET_PERIODS = ['day', 'week', 'month', 'once'] as const;
export type BudgetPeriod = (typeof BUDGET_PERIODS)[number];

export interface BudgetTerms {
  readonly scope: BudgetScope;
  /**
   * The id of the group (with all groups below it), the member or the key, or the text of the tag
   * or the run. `null` for the account and a reserve; otherwise, but not for groups: each one has
   * this budget of its own.
   */
  readonly subject: string | null;
  /** Only what members of this group, or of groups below it, spend. */
  readonly withinGroup: string | null;
  /** Only what this member spends, or this key without a member. By its id. */
  readonly onlyFor: string | null;
  readonly period: BudgetPeriod;
  /** The time zone in which periods begin, an IANA name. */
  readonly zone: string;
  /** When it begins to count; `null` for a period that repeats. Inclusive. */
  readonly from: Date | null;
  /** When it ends to count. Exclusive. */
  readonly until: Date | null;
}

export interface BudgetSettings {
  readonly name: string;
  /** In units of 10^-14 USD. Not negative. */
  readonly amount: bigint;
  /** `notify`: requests go on when it is empty. */
  readonly action: 'refuse' | 'notify';
  /** In percent, from 1 to 100: when one is reached, an event says so. */
  readonly shares: readonly number[];
  /** Whom a spender is told to ask for more. */
  readonly contact: string | null;
  /** The id of the reserve that pays when this one is empty. */
  readonly thenId: string | null;
}

/** How many budgets a chain has at most: each one's `thenId` is the next. */
export const MAX_CHAIN = 4;

export interface BudgetRecord extends BudgetTerms, BudgetSettings {
  readonly id: string;
  readonly accountId: string;
  /**
   * Whether it is a cap of a key, which is changed through its key. No list of budgets has caps;
   * they are among the budgets that count a request.
   */
  readonly isCap: boolean;
  /** Whether it was ended. What it counted stays recorded. */
  readonly isEnded: boolean;
  readonly createdAt: Date;
  /** Whether a holder of a key of the account created it, or an operator. */
  readonly createdBy: 'operator' | 'holder';
}

export type NewBudget = Pick<BudgetSettings, 'name' | 'amount'> &
  Partial<Omit<BudgetSettings, 'name' | 'amount'>> &
  Pick<BudgetTerms, 'scope' | 'period'> &
  Partial<Omit<BudgetTerms, 'scope' | 'period'>> & { readonly accountId: string };

export type BudgetChange = Partial<BudgetSettings>;

/** An amount that is added to a budget for some time. */
export interface BudgetRaise {
  readonly id: string;
  readonly budgetId: string;
  readonly accountId: string;
  /** Of a budget that each one has: whose it is. `null`: everybody's. */
  readonly subject: string | null;
  readonly amount: bigint;
  readonly from: Date;
  /** Exclusive. */
  readonly until: Date;
}

export type NewRaise = Pick<BudgetRaise, 'budgetId' | 'amount' | 'until'> & {
  readonly subject?: string | undefined;
};

/** What is left of a budget in its current period. Amounts are in units of 10^-14 USD. */
export interface BudgetUse {
  readonly budget: BudgetRecord;
  /** Of a budget that each one has: whose it is; otherwise empty. */
  readonly subject: string;
  /** With its raises. */
  readonly amount: bigint;
  /** The sum of charges, including the parts that were written off. */
  readonly used: bigint;
  /** What live holds of requests in flight may still use. */
  readonly held: bigint;
  readonly startsAt: Date | null;
  /** When the next period begins, or the budget ends; `null`: never. */
  readonly renewsAt: Date | null;
}

/** What is left of a chain of budgets, in units of 10^-14 USD. */
export interface ChainRoom {
  /** Not used yet, in all of its budgets. */
  readonly left: bigint;
  /** What a request could hold now; may be below zero. */
  readonly room: bigint;
}

/** A part of a charge that a reserve paid, because the budget that counts the charge was empty. */
export interface ChargePart {
  /** The budget that counts the charge. */
  readonly budgetId: string;
  readonly paidBy: string;
  /** Above zero, in units of 10^-14 USD. */
  readonly amount: bigint;
}

/** The budget of a run, as the request that starts it sets it. */
export interface NewRunBudget {
  readonly accountId: string;
  readonly run: string;
  /** Whose run it is: a member, or a key without a member. By its id. */
  readonly onlyFor: string;
  readonly name: string;
  /** In units of 10^-14 USD. Not negative. */
  readonly amount: bigint;
}

export type RunBudgetOutcome =
  /** With the lower one of this amount and the amount that it had. */
  | { readonly outcome: 'set'; readonly record: BudgetRecord }
  | { readonly outcome: 'unknown_account' | 'account_closed' }
  /** There are too many budgets of runs that have not ended: of this one, or of the account. */
  | { readonly outcome: 'too_many' };

/** Budgets of runs that have not ended: of one member or key, and of an account. */
export const MAX_RUN_BUDGETS_OF_ONE = 500;
export const MAX_RUN_BUDGETS = 5_000;

export interface BudgetFilter extends Omit<SpenderFilter, 'externalId'> {
  readonly withEnded?: boolean | undefined;
}

/** The operations of a balance store on budgets. */
export interface Budgets {
  /**
   * Charges of its first period that were made before it was created count, too.
   *
   * @throws {RangeError} names the member that is not possible.
   */
  createBudget(budget: NewBudget, options: Attributed): Promise<SpenderOutcome<BudgetRecord>>;
  getBudget(budgetId: string): Promise<BudgetRecord | undefined>;
  /** In the order of ids, which is that of creation. */
  listBudgets(filter: BudgetFilter): Promise<readonly BudgetRecord[]>;
  /** @returns `unfit_next` as {@link SpenderOutcome} */
  updateBudget(
    budgetId: string,
    change: BudgetChange,
    by: Actor,
  ): Promise<BudgetRecord | 'unfit_next' | undefined>;
  /**
   * Gives a run a budget of its owner, or lowers it; never raises it. It counts what this owner has
   * spent in the run for some days before, and ends after some days. However many requests set it
   * at the same time, there is one.
   *
   * @throws {RangeError} names the member that is not possible.
   */
  setRunBudget(budget: NewRunBudget, by: Actor): Promise<RunBudgetOutcome>;
  /** From then on it counts nothing and refuses nothing. */
  endBudget(budgetId: string, by: Actor): Promise<BudgetRecord | undefined>;
  raiseBudget(
    raise: NewRaise,
    options: Attributed,
  ): Promise<SpenderOutcome<BudgetRaise> | { readonly outcome: 'unknown_budget' | 'budget_ended' }>;
  /** Those that have not ended. */
  listRaises(budgetId: string): Promise<readonly BudgetRaise[]>;
  /**
   * What each subject of a budget has used in its current period, the most first.
   *
   * @param subjects - Only those of these; one that has used nothing is absent.
   */
  listBudgetUses(
    budgetId: string,
    limit: number,
    subjects?: readonly string[],
  ): Promise<readonly Pick<BudgetUse, 'subject' | 'used' | 'startsAt'>[]>;
  /**
   * The budgets that count a request of this key and spender now, and the reserves of their chains,
   * those that refuse first, then the one with the least left.
   */
  readBudgets(keyId: string, spender?: Spender): Promise<readonly BudgetUse[]>;
}
