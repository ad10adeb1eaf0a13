/** What a client is told if a budget, or a cap of its key, does not allow its request. */

import { chainOf, leftIn, refuses } from '@gateway/balance-store';
import type {
  BudgetPeriod,
  BudgetRecord,
  BudgetUse,
  CapPeriod,
  HoldOutcome,
} from '@gateway/balance-store';
import { formatUsd } from '@gateway/billing';
import { newRefusal } from '../../base/errors/refusal.js';
import type { Refusal } from '../../base/errors/refusal.js';
import type { RequestLedger } from '../../ledger/open-store.js';

type Names = Pick<RequestLedger, 'getGroup' | 'getMember'>;

/** A budget, or a chain of budgets by its last one, that lacks room for a hold. */
export type LackingBudget = Omit<Extract<HoldOutcome, { outcome: 'over_budget' }>, 'outcome'>;

/**
 * The budgets because of which every request that counts for them is refused: of a chain that is
 * used up, its last one.
 */
export function emptyBudgets<Use extends BudgetUse>(uses: readonly Use[]): readonly Use[] {
  return uses
    .filter(({ budget }) => budget.scope !== 'reserve')
    .map((use) => chainOf(use, uses))
    .filter((chain) => refuses(chain) && chain.every((use) => leftIn(use) === 0n))
    .flatMap((chain) => chain.slice(-1));
}

/** What is not used of a budget, or of its whole chain. */
function leftOf({ use, chain }: LackingBudget): bigint {
  return chain?.left ?? leftIn(use);
}

export async function emptyBudget(use: BudgetUse, names: Names): Promise<Refusal> {
  if (use.budget.isCap) return usedUpCap(capOf(use));
  return newRefusal('budget_used_up', {
    budget: await budgetText(use, names),
    renewal: renewalText(use),
    contact: contactText(use.budget),
  });
}

/**
 * @param request.amount - The most that the request can cost, in units of 10^-14 USD.
 * @param request.advice - What a client can do about the limit of its answer.
 */
export async function overBudget(
  lacking: LackingBudget,
  { amount, advice }: { readonly amount: bigint; readonly advice: string },
  names: Names,
): Promise<Refusal> {
  const { use } = lacking;
  if (leftOf(lacking) === 0n) return emptyBudget(use, names);
  const { held } = use;
  const values = {
    amount: formatUsd(amount),
    held: held === 0n ? '' : `, and ${formatUsd(held)} USD are held for requests in flight`,
    advice,
    renewal: renewalText(use),
  };
  const fitsLater = fitsOnceFree(lacking, amount);
  if (use.budget.isCap) {
    const cap = capText(capOf(use));
    return newRefusal(fitsLater ? 'over_cap_with_holds' : 'over_cap', { ...values, cap });
  }
  return newRefusal(fitsLater ? 'over_budget_with_holds' : 'over_budget', {
    ...values,
    budget: await budgetText(use, names),
    contact: contactText(use.budget),
  });
}

/** A cap of a key, from its standing or from its budget. */
interface Cap {
  readonly period: CapPeriod | BudgetPeriod;
  readonly cap: bigint;
  readonly used: bigint;
  readonly renewsAt: Date | null;
}

function capOf({ budget: { period }, amount: cap, used, renewsAt }: BudgetUse): Cap {
  return { period, cap, used, renewsAt };
}

export function usedUpCap(cap: Cap): Refusal {
  const { renewsAt } = cap;
  const renewal = renewsAt === null ? '' : `; it renews at ${renewsAt.toISOString()}`;
  return newRefusal('cap_used_up', { cap: capText(cap), renewal });
}

function capText({ period, cap, used }: Cap): string {
  const per = period === 'total' || period === 'once' ? 'in total' : `per ${period}`;
  return `this key's cap of ${formatUsd(cap)} USD ${per} (${formatUsd(used)} USD used)`;
}

/** Whether a budget lacks room for an amount only because of holds of requests in flight. */
export function fitsOnceFree(lacking: LackingBudget, amount: bigint): boolean {
  const left = leftOf(lacking);
  return left > 0n && amount <= left;
}

async function budgetText(use: BudgetUse, names: Names): Promise<string> {
  const { budget, amount, used } = use;
  const per = budget.period === 'once' ? '' : ` per ${budget.period}`;
  const name = JSON.stringify(budget.name);
  const whose =
    budget.scope === 'reserve'
      ? `the reserve ${name}`
      : `the budget ${name} ${await whoseText(use, names)}`;
  return `${whose} of ${formatUsd(amount)} USD${per} (${formatUsd(used)} USD used)`;
}

async function whoseText({ budget, subject: own }: BudgetUse, names: Names): Promise<string> {
  const subject = budget.subject ?? own;
  switch (budget.scope) {
    case 'account':
    case 'reserve':
      return 'of this account';
    case 'group':
      return `of the group ${quoted((await names.getGroup(subject))?.name, subject)}`;
    case 'member':
      return `of the member ${quoted((await names.getMember(subject))?.name, subject)}`;
    case 'key':
      return 'of this key';
    case 'tag':
      return `of the tag ${JSON.stringify(subject)}`;
    case 'run':
      return 'of this run';
  }
}

/** @param name - Empty if it was erased. */
function quoted(name: string | undefined, id: string): string {
  return JSON.stringify(name === undefined || name === '' ? id : name);
}

function renewalText({ budget: { until }, renewsAt }: BudgetUse): string {
  if (renewsAt === null) return '';
  const isLast = renewsAt.getTime() === until?.getTime();
  return `; it ${isLast ? 'ends' : 'renews'} at ${renewsAt.toISOString()}`;
}

function contactText({ contact }: BudgetRecord): string {
  return contact === null || contact === '' ? '' : `; ask ${contact} for more`;
}
