/** `farthing groups …`, `farthing members …` and `farthing budgets …` */

import type { Command } from 'commander';
import { addOperation } from './operation-command.js';
import {
  printBudget,
  printBudgetUses,
  printBudgets,
  printEndedMember,
  printGroup,
  printGroups,
  printMember,
  printMembers,
  printRaise,
} from './print-spenders.js';
import { addImport } from './roll-out/import-command.js';

export function addGroups(groups: Command): void {
  addOperation(groups, 'create', 'createGroup', printGroup);
  addOperation(groups, 'list', 'listGroups', printGroups);
  addOperation(groups, 'show <group_id>', 'showGroup', printGroup);
  addOperation(groups, 'update <group_id>', 'updateGroup', printGroup);
}

export function addMembers(members: Command): void {
  addOperation(members, 'create', 'createMember', printMember);
  addOperation(members, 'list', 'listMembers', printMembers);
  addOperation(members, 'show <member_id>', 'showMember', printMember);
  addOperation(members, 'update <member_id>', 'updateMember', printMember);
  addOperation(members, 'end <member_id>', 'endMember', printEndedMember);
  addImport(members);
}

export function addBudgets(budgets: Command): void {
  addOperation(budgets, 'create', 'createBudget', printBudget);
  addOperation(budgets, 'list', 'listBudgets', printBudgets);
  addOperation(budgets, 'show <budget_id>', 'showBudget', printBudgetUses);
  addOperation(budgets, 'update <budget_id>', 'updateBudget', printBudget);
  addOperation(budgets, 'raise <budget_id> <amount_usd>', 'raiseBudget', printRaise);
  addOperation(budgets, 'end <budget_id>', 'endBudget', printBudget);
}
