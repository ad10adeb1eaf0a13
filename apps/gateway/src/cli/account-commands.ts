/** `farthing accounts …` */

import type { Command } from 'commander';
import { accountId } from '../endpoints/fields.js';
import { statementCsv } from '../endpoints/statement/statement-lines.js';
import { statementPage } from '../endpoints/statement/statement-page.js';
import { addOperation } from './operation-command.js';
import { withOperations } from './operations-access.js';
import { checkedBy, show, withJson, withWide } from './output.js';
import type { FormatOptions } from './output.js';
import {
  printAccount,
  printAccounts,
  printAdjustment,
  printClosing,
  printCreatedAccount,
  printErasure,
  printReversal,
  printStatement,
  printTopUp,
  printTransfer,
} from './print.js';
import { monthText } from './when.js';

interface StatementOptions extends FormatOptions {
  readonly html?: boolean;
}

export function addAccounts(accounts: Command): void {
  addOperation(accounts, 'create', 'createAccount', printCreatedAccount);
  addOperation(accounts, 'list', 'listAccounts', printAccounts);
  addOperation(accounts, 'show <account_id>', 'showAccount', printAccount);
  addOperation(accounts, 'update <account_id>', 'updateAccount', printAccount);
  addOperation(accounts, 'top-up <account_id> <amount_usd>', 'topUpAccount', printTopUp);
  addOperation(accounts, 'adjust <account_id> <amount_usd>', 'adjustBalance', printAdjustment);
  addOperation(accounts, 'reverse <account_id> <reverses>', 'reverseEntry', printReversal);
  const transfer = 'transfer <account_id> <to_account_id> <amount_usd>';
  addOperation(accounts, transfer, 'transfer', printTransfer);
  addStatement(accounts);
  addOperation(accounts, 'suspend <account_id>', 'suspendAccount', printAccount);
  addOperation(accounts, 'resume <account_id>', 'resumeAccount', printAccount);
  addOperation(accounts, 'close <account_id>', 'closeAccount', printClosing);
  addOperation(accounts, 'reopen <account_id>', 'reopenAccount', printAccount);
  addOperation(accounts, 'erase <account_id>', 'eraseAccount', printErasure);
}

function addStatement(accounts: Command): void {
  withWide(withJson(accounts.command('statement')))
    .argument('<account_id>', undefined, checkedBy(accountId))
    .argument('<month>', 'such as 2026-11', monthText)
    .description('all credits and charges of a month, with exact amounts')
    .option('--csv', 'print CSV')
    .option('--html', 'print a page for a browser, to be printed or sent')
    .action(async (account_id: string, month: string, options: StatementOptions) => {
      const statement = await withOperations((call) =>
        call('showStatement', { account_id, month }),
      );
      const { json, csv, html } = options;
      if (csv === true && json !== true) process.stdout.write(statementCsv(statement));
      else show(options, statement, html === true ? statementPage : printStatement);
    });
}
