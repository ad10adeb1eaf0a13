/** `gateway accounts …` */

import { randomUUID } from 'node:crypto';
import type { Command } from 'commander';
import type { ListOrder } from '@gateway/balance-store';
import { statementCsv } from '../endpoints/statement/statement-lines.js';
import { statementPage } from '../endpoints/statement/statement-page.js';
import { topUpOf, withTopUp } from './key-commands.js';
import { withOperations } from './operations-access.js';
import {
  integer,
  metadataText,
  orNone,
  orderOption,
  pair,
  run,
  runList,
  show,
  time,
  withFormats,
  withJson,
} from './output.js';
import type { FormatOptions, OutputOptions } from './output.js';
import {
  printAccount,
  printAccounts,
  printAdjustment,
  printCreatedAccount,
  printErasure,
  printStatement,
  printTopUp,
  printTransfer,
} from './print.js';

type Pairs = Readonly<Record<string, string>>;

interface CreateOptions extends OutputOptions {
  readonly name: string;
  readonly externalId?: string;
  readonly metadata?: Pairs;
  readonly lowBalance?: string;
  readonly balance?: string;
  readonly promotional?: boolean;
  readonly creditExpiresAt?: string;
  readonly id?: string;
}

interface UpdateOptions extends OutputOptions {
  readonly name?: string;
  readonly externalId?: string;
  readonly metadata?: Pairs;
  readonly lowBalance?: string;
}

interface ListOptions extends FormatOptions {
  readonly limit: number;
  readonly order: ListOrder;
  readonly after?: string;
  readonly name?: string;
  readonly externalId?: string;
  readonly metadata?: Pairs;
}

interface AdjustOptions extends OutputOptions {
  readonly reason: 'refund' | 'chargeback' | 'correction' | 'goodwill' | 'write_off';
  readonly id?: string;
  readonly note?: string;
  readonly reference?: string;
}

interface StatementOptions extends FormatOptions {
  readonly html?: boolean;
}

export function addAccounts(accounts: Command): void {
  addCreation(accounts);
  withFormats(accounts.command('list').description('list accounts'))
    .option('--limit <n>', 'at most this many', integer, 100)
    .addOption(orderOption())
    .option('--after <cursor>', 'continue after the previous page')
    .option('--name <text>', 'only accounts whose name contains this text')
    .option('--external-id <id>', 'only the account with this id of your own')
    .option('--metadata <name=value>', 'only accounts with this metadata pair', pair)
    .action((options: ListOptions) =>
      runList(
        options,
        {
          name: 'listAccounts',
          input: {
            limit: options.limit,
            order: options.order,
            after: options.after,
            name: options.name,
            external_id: options.externalId,
            metadata: metadataText(options.metadata),
          },
        },
        printAccounts,
      ),
    );
  withJson(
    accounts.command('show').argument('<account_id>').description('show one account'),
  ).action((accountId: string, options: OutputOptions) =>
    run(options, (call) => call('showAccount', { account_id: accountId }), printAccount),
  );
  withJson(
    accounts
      .command('update')
      .argument('<account_id>')
      .description('change the name, external id, metadata or low-balance threshold of an account'),
  )
    .option('--name <name>', 'a name for people to read')
    .option('--external-id <id>', 'your own id for the account, or "none" to remove it')
    .option(
      '--metadata <name=value>',
      'a metadata pair; the pairs given replace all earlier ones',
      pair,
    )
    .option('--low-balance <usd>', 'write an event when the balance falls to this, or "none"')
    .action((accountId: string, options: UpdateOptions) =>
      run(
        options,
        (call) =>
          call('updateAccount', {
            account_id: accountId,
            name: options.name,
            external_id: orNone(options.externalId),
            metadata: options.metadata,
            low_balance_usd: orNone(options.lowBalance),
          }),
        printAccount,
      ),
    );
  addMoney(accounts);
  for (const [name, operation, description] of [
    [
      'suspend',
      'suspendAccount',
      'stop all keys of an account, also new ones, until it is resumed',
    ],
    ['resume', 'resumeAccount', 'resume a suspended account; each key is again what it was'],
  ] as const) {
    withJson(accounts.command(name).argument('<account_id>').description(description)).action(
      (accountId: string, options: OutputOptions) =>
        run(options, (call) => call(operation, { account_id: accountId }), printAccount),
    );
  }
  withJson(
    accounts
      .command('erase')
      .argument('<account_id>')
      .description(
        'erase names, external ids, metadata and notes of an account; audits still pass',
      ),
  ).action((accountId: string, options: OutputOptions) =>
    run(options, (call) => call('eraseAccount', { account_id: accountId }), printErasure),
  );
}

function addCreation(accounts: Command): void {
  withJson(
    accounts
      .command('create')
      .description('create an account without a key')
      .requiredOption('--name <name>', 'a name for people to read'),
  )
    .option('--external-id <id>', 'your own id for the account')
    .option('--metadata <name=value>', 'a pair to search by; repeat it for more', pair)
    .option('--low-balance <usd>', 'write an event when the balance falls to this')
    .option('--balance <usd>', 'first credit, such as 5 or 0.25')
    .option('--promotional', 'the first credit is a gift, not paid for')
    .option('--credit-expires-at <time>', 'when the unused part of the first credit expires', time)
    .option('--id <id>', 'id of this creation: repeating it creates nothing')
    .action((options: CreateOptions) =>
      run(
        options,
        (call) =>
          call('createAccount', {
            name: options.name,
            external_id: options.externalId,
            metadata: options.metadata,
            low_balance_usd: options.lowBalance,
            balance_usd: options.balance,
            credit_source: options.promotional === true ? 'promotional' : undefined,
            credit_expires_at: options.creditExpiresAt,
            idempotency_key: options.id,
          }),
        printCreatedAccount,
      ),
    );
}

function addMoney(accounts: Command): void {
  withTopUp(
    accounts
      .command('top-up')
      .argument('<account_id>')
      .argument('<usd>', 'amount, such as 10 or 0.5')
      .description('add credit, at once'),
  ).action(
    (accountId: string, amount: string, options: Parameters<typeof topUpOf>[1] & OutputOptions) =>
      run(
        options,
        (call) => call('topUpAccount', { account_id: accountId, ...topUpOf(amount, options) }),
        printTopUp,
      ),
  );
  withJson(
    accounts
      .command('adjust')
      .argument('<account_id>')
      .argument('<usd>', 'amount of either sign, such as -5')
      .description('correct a balance with a ledger entry')
      .requiredOption('--reason <reason>', 'refund, chargeback, correction, goodwill or write_off'),
  )
    .option('--id <id>', 'id of this adjustment: repeating it changes nothing')
    .option('--note <text>', 'a note for your own records')
    .option('--reference <id>', 'id of a payment, an order or an entry')
    .action((accountId: string, amount: string, options: AdjustOptions) =>
      run(
        options,
        (call) =>
          call('adjustBalance', {
            account_id: accountId,
            adjustment_id: options.id ?? randomUUID(),
            amount_usd: amount,
            reason: options.reason,
            note: options.note,
            reference: options.reference,
          }),
        printAdjustment,
      ),
    );
  withJson(
    accounts
      .command('transfer')
      .argument('<from_account_id>')
      .argument('<to_account_id>')
      .argument('<usd>', 'amount')
      .description('move money between two accounts'),
  )
    .option('--id <id>', 'id of this transfer: repeating it changes nothing')
    .option('--note <text>', 'a note for your own records')
    .action(
      (
        from: string,
        to: string,
        amount: string,
        options: OutputOptions & { readonly id?: string; readonly note?: string },
      ) =>
        run(
          options,
          (call) =>
            call('transfer', {
              account_id: from,
              to_account_id: to,
              transfer_id: options.id ?? randomUUID(),
              amount_usd: amount,
              note: options.note,
            }),
          printTransfer,
        ),
    );
  withFormats(
    accounts
      .command('statement')
      .argument('<account_id>')
      .argument('<month>', 'such as 2026-11')
      .description('all credits and charges of a month, with exact amounts'),
  )
    .option('--html', 'print a page for a browser, to be printed or sent')
    .action(async (accountId: string, month: string, options: StatementOptions) => {
      const statement = await withOperations((call) =>
        call('showStatement', { account_id: accountId, month }),
      );
      const { json, csv, html } = options;
      if (csv === true && json !== true) process.stdout.write(statementCsv(statement));
      else show(options, statement, html === true ? statementPage : printStatement);
    });
}
