/** The budgets that members and groups have of their own, and what they used of each. */

import type { BalanceStore, BudgetRaise, BudgetRecord } from '@gateway/balance-store';

/** What one has used of a budget in its current period. In units of 10^-14 USD. */
export interface OwnBudget {
  readonly budget: BudgetRecord;
  /** Of a budget that each one has: whose it is; otherwise empty. */
  readonly subject: string;
  /** With the raises that are in force. */
  readonly amount: bigint;
  readonly used: bigint;
}

interface Reading {
  readonly store: Pick<BalanceStore, 'listBudgets' | 'listBudgetUses' | 'listRaises'>;
  readonly now: () => number;
}

/** Of so many budgets the uses are read at the same time. */
const TOGETHER = 50;
const PER_PAGE = 1_000;

/**
 * Adds their budgets to members or groups, in the order of the budgets.
 *
 * @param subjectOf - Whose use of the budget is that of the owner; `undefined`: it has no such
 * budget.
 */
export async function withOwnBudgets<Owner extends { readonly accountId: string }>(
  owners: readonly Owner[],
  subjectOf: (budget: BudgetRecord, owner: Owner) => string | undefined,
  { store, now }: Reading,
): Promise<readonly (Owner & { readonly budgets: readonly OwnBudget[] })[]> {
  const accountId = owners[0]?.accountId;
  const found = new Map<Owner, OwnBudget[]>(owners.map((owner) => [owner, []]));
  const all = accountId === undefined ? [] : await budgetsOf(accountId, { store, now });
  const owned = all
    .filter(({ from }) => (from?.getTime() ?? 0) <= now())
    .map((budget) => ({
      budget,
      subjects: [...found.keys()].flatMap((owner) => {
        const subject = subjectOf(budget, owner);
        return subject === undefined ? [] : [{ owner, subject }];
      }),
    }))
    .filter(({ subjects }) => subjects.length > 0);
  for (let start = 0; start < owned.length; start += TOGETHER) {
    const some = owned.slice(start, start + TOGETHER);
    const read = await Promise.all(
      some.map(async ({ budget: { id }, subjects }) => {
        const ids = subjects.map(({ subject }) => subject);
        return Promise.all([store.listBudgetUses(id, ids.length, ids), store.listRaises(id)]);
      }),
    );
    some.forEach(({ budget, subjects }, index) => {
      const [uses = [], raises = []] = read[index] ?? [];
      const used = new Map(uses.map((use) => [use.subject, use.used]));
      for (const { owner, subject } of subjects) {
        const amount = amountFor(subject, { budget, raises, at: now() });
        found.get(owner)?.push({ budget, subject, amount, used: used.get(subject) ?? 0n });
      }
    });
  }
  return owners.map((owner) => ({ ...owner, budgets: found.get(owner) ?? [] }));
}

/** The amount of a budget for one of its subjects, with the raises that are in force. */
export function amountFor(
  subject: string,
  of: {
    readonly budget: Pick<BudgetRecord, 'amount'>;
    readonly raises: readonly BudgetRaise[];
    readonly at: number;
  },
): bigint {
  return of.raises
    .filter(({ subject: whose }) => whose === null || whose === subject)
    .filter(({ from, until }) => from.getTime() <= of.at && of.at < until.getTime())
    .reduce((sum, { amount }) => sum + amount, of.budget.amount);
}

/** The budgets of an account that count now or later: at most 2,000. */
export async function budgetsOf(
  accountId: string,
  { store, now }: Pick<Reading, 'now'> & { readonly store: Pick<BalanceStore, 'listBudgets'> },
): Promise<readonly BudgetRecord[]> {
  const budgets: BudgetRecord[] = [];
  for (let after: string | undefined; ;) {
    const page = await store.listBudgets({ accountId, limit: PER_PAGE, after });
    budgets.push(...page);
    if (page.length < PER_PAGE) break;
    after = page.at(-1)?.id;
  }
  return budgets.filter(({ until }) => now() < (until?.getTime() ?? Infinity));
}
