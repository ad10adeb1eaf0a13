/** Groups, members and budgets as text for a terminal. */

import {
  budgetCells,
  budgetLines,
  groupCells,
  groupLines,
  memberCells,
  memberLines,
  raiseCells,
  raiseLines,
  useCells,
} from '../endpoints/schemas/spenders.js';
import type { OperationOutput } from '../operator/operations/operations.js';
import type { Screen } from './screen.js';
import { page, pairs, table } from './table.js';

export function printGroup(group: OperationOutput<'showGroup'>): string {
  return pairs(groupLines(group));
}

export function printGroups(groups: OperationOutput<'listGroups'>, screen: Screen): string {
  return page(groups, 'No groups.', groupCells, screen);
}

export function printMember(member: OperationOutput<'showMember'>): string {
  return pairs(memberLines(member));
}

export function printMembers(members: OperationOutput<'listMembers'>, screen: Screen): string {
  return page(members, 'No members.', memberCells, screen);
}

export function printEndedMember(member: OperationOutput<'endMember'>): string {
  return `${printMember(member)}\nKeys that this revoked: ${String(member.revoked_keys)}`;
}

export function printBudget(budget: OperationOutput<'updateBudget'>): string {
  return pairs(budgetLines(budget));
}

export function printBudgets(budgets: OperationOutput<'listBudgets'>, screen: Screen): string {
  return page(budgets, 'No budgets.', budgetCells, screen);
}

export function printBudgetUses(budget: OperationOutput<'showBudget'>, screen: Screen): string {
  const { raises, uses } = budget;
  return [
    printBudget(budget),
    ...(raises.length === 0
      ? []
      : [`Raises:\n${table(raises, raiseCells.columns, { screen, leave: raiseCells.leave })}`]),
    uses.length === 0
      ? 'Nothing is used in this period.'
      : table(uses, useCells.columns, { screen, leave: useCells.leave }),
  ].join('\n');
}

export function printRaise(raise: OperationOutput<'raiseBudget'>): string {
  return pairs(raiseLines(raise));
}
