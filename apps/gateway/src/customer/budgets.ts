/** The budgets that count the requests of a key, as its holder sees them. */

import type { BudgetRaise, BudgetUse, KeyRecord } from '@gateway/balance-store';
import { formatUsd } from '@gateway/billing';
import { emptyBudgets } from '../exchange/spending/budget-refusals.js';
import { spenderOfKey } from '../exchange/spending/spender.js';
import type { CustomerParts } from './customer-parts.js';

/** A budget in its current period, with the name of its group if it is one of a group. */
export interface ApplyingBudget extends BudgetUse {
  readonly groupName: string | null;
  /** Those that are part of its amount. */
  readonly raises: readonly BudgetRaise[];
}

/**
 * Those that refuse requests first, then the one with the least left; one whose reserve pays now
 * comes after those that can still refuse. Budgets of tags and runs are not among them: they apply
 * to single requests.
 */
export async function readApplyingBudgets(
  key: KeyRecord,
  { store, now }: Pick<CustomerParts, 'store' | 'now'>,
): Promise<readonly ApplyingBudget[]> {
  const uses = await store.readBudgets(key.id, spenderOfKey(key, {}));
  // Caps have a member of their own.
  const budgets = uses.filter(({ budget }) => !budget.isCap);
  const named = await Promise.all(
    budgets.map(async (use) => {
      const { scope, subject } = use.budget;
      const group = scope === 'group' && subject !== null ? await store.getGroup(subject) : null;
      const raises = await raisesOf(use, { store, now });
      return { ...use, groupName: group?.name ?? null, raises };
    }),
  );
  return named.sort(byLeft);
}

/** Asks only where there are any: each read of a balance comes here. */
async function raisesOf(
  { budget: { id, amount: least }, subject: of, amount }: BudgetUse,
  { store, now }: Pick<CustomerParts, 'store' | 'now'>,
): Promise<readonly BudgetRaise[]> {
  if (amount === least) return [];
  const at = now();
  return (await store.listRaises(id)).filter(
    ({ subject: whose, from, until }) =>
      (whose === null || whose === of) && from.getTime() <= at && at < until.getTime(),
  );
}

function byLeft(a: ApplyingBudget, b: ApplyingBudget): number {
  if (refuses(a) !== refuses(b)) return refuses(a) ? -1 : 1;
  if (isPaidFor(a) !== isPaidFor(b)) return isPaidFor(a) ? 1 : -1;
  const [left, right] = [leftOf(a), leftOf(b)];
  return left < right ? -1 : Number(left > right);
}

/** Whether it is used up, and its reserve pays. That has a use of its own. */
function isPaidFor(use: BudgetUse): boolean {
  return use.budget.thenId !== null && leftOf(use) === 0n;
}

function refuses({ budget }: BudgetUse): boolean {
  return budget.action === 'refuse';
}

/**
 * What is not spent yet, like a balance: holds are part of it until they are charged. A charge may
 * exceed a budget; then nothing is left, rather than less.
 */
function leftOf({ amount, used }: BudgetUse): bigint {
  return used < amount ? amount - used : 0n;
}

export function budgetsView(uses: readonly ApplyingBudget[]) {
  return uses.map((use) => ({
    name: use.budget.name,
    scope: use.budget.scope,
    group_name: use.groupName,
    amount_usd: formatUsd(use.amount),
    raises: use.raises.map(({ amount, until }) => ({
      amount_usd: formatUsd(amount),
      until: until.toISOString(),
    })),
    used_usd: formatUsd(use.used),
    held_usd: formatUsd(use.held),
    left_usd: formatUsd(leftOf(use)),
    action: use.budget.action,
    then_name: uses.find(({ budget }) => budget.id === use.budget.thenId)?.budget.name ?? null,
    starts_at: use.startsAt?.toISOString() ?? null,
    renews_at: use.renewsAt?.toISOString() ?? null,
    contact: contactOf(use),
  }));
}

/** Of the budgets that refuse each request because they are used up, the one that renews last. */
export function usedUpBudget({ isActive }: KeyRecord, uses: readonly ApplyingBudget[]) {
  if (!isActive) return null;
  const timeOf = ({ renewsAt }: BudgetUse) => renewsAt?.getTime() ?? Infinity;
  const [last] = emptyBudgets(uses).toSorted((a, b) => timeOf(b) - timeOf(a));
  if (last === undefined) return null;
  return {
    name: last.budget.name,
    amount_usd: formatUsd(last.amount),
    renews_at: last.renewsAt?.toISOString() ?? null,
    contact: contactOf(last),
  };
}

/** One that was erased is empty. */
function contactOf({ budget: { contact } }: BudgetUse): string | null {
  return contact === '' ? null : contact;
}
