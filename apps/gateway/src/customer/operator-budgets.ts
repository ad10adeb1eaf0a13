/** Budgets that operators created bind holders: none of them leaves one, or changes it. */

import { subjectOfBudget } from '@gateway/balance-store';
import type { BudgetRecord, Spender } from '@gateway/balance-store';
import { newRefusal } from '../base/errors/refusal.js';
import { OperationError } from '../endpoints/operation-error.js';
import { budgetsOf } from '../endpoints/spenders/own-budgets.js';
import type { CustomerParts } from './customer-parts.js';

/**
 * @param param - The field that names the budget.
 * @throws {OperationError} An operator created the budget.
 */
export function assertOfHolder(
  { createdBy }: Pick<BudgetRecord, 'createdBy'>,
  param: string,
): void {
  if (createdBy !== 'holder') throw new OperationError(newRefusal('budget_of_operator', { param }));
}

interface Move {
  /** The key that spends; `undefined` for any key of a member. */
  readonly keyId?: string;
  readonly before: Spender;
  readonly after: Spender;
}

/**
 * Refuses a change after which a budget of an operator no longer counts what a member or a key
 * spends. One that each member has goes on to count, for whoever spends then.
 *
 * @param field - The field that makes the change.
 * @throws {OperationError}
 */
export async function assertStillCounted(
  accountId: string,
  { keyId = '', before, after }: Move,
  field: string,
  { store, now }: Pick<CustomerParts, 'store' | 'now'>,
): Promise<void> {
  const budgets = await budgetsOf(accountId, { store, now });
  const isLeft = budgets
    .filter(({ createdBy }) => createdBy === 'operator')
    .filter((budget) => subjectOfBudget(budget, keyId, before) !== undefined)
    .some((budget) => subjectOfBudget(budget, keyId, after) === undefined);
  if (isLeft) throw new OperationError(newRefusal('leaves_budget', { param: field }));
}
