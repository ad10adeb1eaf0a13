/**
 * Chains of budgets: when one is empty, the next one pays. The SQL functions `split_charges` and
 * `lacking_budget` have the same rules for PostgreSQL; `budget-model.test.ts` compares them.
 */

import type { BudgetUse, ChargePart, ChainRoom } from '../../budget.js';

/** What is not used yet. A charge or a smaller amount may have passed it; then nothing is left. */
export function leftIn({ amount, used }: Pick<BudgetUse, 'amount' | 'used'>): bigint {
  return used < amount ? amount - used : 0n;
}

/** A budget and the reserves that pay after it, as far as they are among these uses. */
export function chainOf<Use extends BudgetUse>(first: Use, uses: readonly Use[]): readonly Use[] {
  const chain = [first];
  for (let use: Use | undefined = first; use !== undefined;) {
    const { thenId }: BudgetUse['budget'] = use.budget;
    use = thenId === null ? undefined : uses.find(({ budget }) => budget.id === thenId);
    if (use !== undefined) chain.push(use);
  }
  return chain;
}

/** A request is never refused where one of them only notifies. */
export function refuses(chain: readonly BudgetUse[]): boolean {
  return chain.every(({ budget }) => budget.action === 'refuse');
}

/**
 * Splits a charge: each budget of a chain takes what is left in it, the last one all of the rest.
 *
 * @param lefts - Of the budgets of the chain. Not below zero.
 */
export function splitAlong(amount: bigint, lefts: readonly bigint[]): readonly bigint[] {
  let rest = amount;
  return lefts.map((left, index) => {
    const part = index === lefts.length - 1 || rest < left ? rest : left;
    rest -= part;
    return part;
  });
}

/** What a charge adds to a budget that counts it: less what reserves paid. */
export function ownPart(amount: bigint, budgetId: string, parts: readonly ChargePart[]): bigint {
  return parts.reduce(
    (rest, part) => (part.budgetId === budgetId ? rest - part.amount : rest),
    amount,
  );
}

/**
 * What a charge adds to a reserve. If several budgets pass it on to the same one, this one pays it
 * only once.
 */
export function paidPart(reserveId: string, parts: readonly ChargePart[]): bigint {
  return parts.reduce(
    (most, { paidBy, amount }) => (paidBy === reserveId && amount > most ? amount : most),
    0n,
  );
}

/**
 * What a chain lacks for a hold.
 *
 * @param needed - What live holds may use of the last budget, with this hold and without it. A hold
 * that leaves this as it is fits, whatever others hold.
 * @returns `undefined` if it has room
 */
export function lackingInChain(
  chain: readonly BudgetUse[],
  amount: bigint,
  needed: { readonly before: bigint; readonly after: bigint },
): ChainRoom | undefined {
  const last = chain.at(-1);
  if (last === undefined || !refuses(chain)) return undefined;
  const left = chain.reduce((sum, use) => sum + leftIn(use), 0n);
  const most = leftIn(last) > needed.before ? leftIn(last) : needed.before;
  const excess = needed.after - most;
  if (left > 0n && excess <= 0n) return undefined;
  return { left, room: excess > 0n ? amount - excess : 0n };
}
