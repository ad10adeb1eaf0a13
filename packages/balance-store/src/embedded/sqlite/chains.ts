/**
 * Finds what live holds may use of reserves, by the same rules as the SQL functions
 * `lacking_budget` and `reserve_need` on PostgreSQL. No split of a hold is stored: it follows from
 * the account's live holds and from what is left in each budget.
 */

import type { BudgetRecord } from '../../budget.js';
import { periodAt, subjectOf } from '../../ledger/rules/budgets.js';
import type { CountingTerms } from '../../ledger/rules/budgets.js';
import type { Spender } from '../../spender.js';

export interface AccountBudget {
  readonly record: BudgetRecord;
  readonly terms: CountingTerms;
}

/** Budgets of an account that have not ended. */
export interface ChainedBudgets {
  /** Those that may count a request. */
  readonly budgets: readonly AccountBudget[];
  /** All of the account for which reserves pay; empty if none of these budgets has one. */
  readonly passing: readonly AccountBudget[];
  /** Those that only pay for others, by their ids; empty if none of these budgets has one. */
  readonly reserves: ReadonlyMap<string, AccountBudget>;
}

/** A live hold. */
export interface HeldFor {
  readonly keyId: string;
  readonly spender: Spender;
  readonly amount: bigint;
}

/** The reserves that pay after a budget at this time, in their order. */
export function reservesAfter(
  of: Pick<ChainedBudgets, 'reserves'>,
  { thenId }: Pick<BudgetRecord, 'thenId'>,
  now: number,
): readonly AccountBudget[] {
  const chain: AccountBudget[] = [];
  for (let id = thenId; id !== null;) {
    const next = of.reserves.get(id);
    if (next === undefined || periodAt(next.terms, now) === undefined) break;
    chain.push(next);
    id = next.record.thenId;
  }
  return chain;
}

interface Situation {
  readonly of: ChainedBudgets;
  readonly now: number;
  readonly holds: readonly HeldFor[];
  /** What is left of a budget for this subject. Not below zero. */
  readonly leftOf: (budget: AccountBudget, subject: string) => bigint;
}

/** What the holds may use of a reserve: what does not fit into the budgets that it pays for. */
export function neededOf(reserve: AccountBudget, situation: Situation): bigint {
  const { of, now } = situation;
  return of.passing
    .filter(({ record }) => record.thenId === reserve.record.id)
    .filter(({ terms }) => periodAt(terms, now) !== undefined)
    .reduce((sum, budget) => sum + passedOn(budget, situation), 0n);
}

function passedOn(budget: AccountBudget, situation: Situation): bigint {
  const { holds, leftOf } = situation;
  const over = (held: bigint, left: bigint) => (held > left ? held - left : 0n);
  if (budget.terms.scope === 'reserve') {
    return over(neededOf(budget, situation), leftOf(budget, ''));
  }
  const held = new Map<string, bigint>();
  for (const { keyId, spender, amount } of holds) {
    const subject = subjectOf(budget.terms, keyId, spender);
    if (subject !== undefined) held.set(subject, (held.get(subject) ?? 0n) + amount);
  }
  let sum = 0n;
  for (const [subject, amount] of held) sum += over(amount, leftOf(budget, subject));
  return sum;
}
