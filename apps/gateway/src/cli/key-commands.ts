/** `gateway keys …` */

import { randomUUID } from 'node:crypto';
import type { Command } from 'commander';
import type { ListOrder } from '@gateway/balance-store';
import { OperationError } from '../endpoints/operation-error.js';
import {
  integer,
  metadataText,
  names,
  orNone,
  orderOption,
  pair,
  run,
  runList,
  time,
  withFormats,
  withJson,
} from './output.js';
import type { FormatOptions, OutputOptions } from './output.js';
import {
  printCreatedKey,
  printKey,
  printKeys,
  printLink,
  printRotatedKey,
  printTopUp,
} from './print.js';

type Pairs = Readonly<Record<string, string>>;

interface KeyOptions extends OutputOptions {
  readonly concurrency?: number;
  readonly burst?: number;
  readonly requestsPerMinute?: number;
  readonly capDay?: string;
  readonly capWeek?: string;
  readonly capMonth?: string;
  readonly capTotal?: string;
  readonly models?: string;
  readonly scope?: 'use' | 'manage';
  readonly metadata?: Pairs;
}

interface CreateOptions extends KeyOptions {
  readonly name: string;
  readonly externalId?: string;
  readonly expiresAt?: string;
  readonly account?: string;
  readonly accountExternalId?: string;
  readonly lowBalance?: string;
  readonly balance?: string;
  readonly promotional?: boolean;
  readonly creditExpiresAt?: string;
  readonly id?: string;
}

interface UpdateOptions extends KeyOptions {
  readonly name?: string;
  readonly externalId?: string;
  readonly expiresAt?: string;
}

interface ListOptions extends FormatOptions {
  readonly limit: number;
  readonly order: ListOrder;
  readonly after?: string;
  readonly account?: string;
  readonly name?: string;
  readonly externalId?: string;
  readonly metadata?: Pairs;
  readonly pepper?: 'previous';
}

interface TopUpOptions extends OutputOptions {
  readonly id?: string;
  readonly promotional?: boolean;
  readonly expiresAt?: string;
  readonly note?: string;
  readonly reference?: string;
}

/** The rules of a key that can be set at its creation and changed later. */
function withRules(command: Command): Command {
  return command
    .option('--concurrency <n>', 'requests in flight at once', integer)
    .option('--burst <n>', 'requests at once after a pause', integer)
    .option('--requests-per-minute <n>', 'sustained rate', integer)
    .option('--cap-day <usd>', 'the most it may spend per UTC day, or "none" for no cap')
    .option('--cap-week <usd>', 'the most it may spend per week, from Monday')
    .option('--cap-month <usd>', 'the most it may spend per month')
    .option('--cap-total <usd>', 'the most it may spend in total')
    .option('--models <ids>', 'the models it may use, separated by commas; all for every model')
    .option('--scope <scope>', 'use, or manage: also manages the keys of its account')
    .option(
      '--metadata <name=value>',
      'a pair to search by; repeat it for more. An update replaces all pairs that the key has',
      pair,
    );
}

function rulesOf(options: KeyOptions) {
  return {
    concurrency: options.concurrency,
    burst: options.burst,
    requests_per_minute: options.requestsPerMinute,
    cap_day_usd: orNone(options.capDay),
    cap_week_usd: orNone(options.capWeek),
    cap_month_usd: orNone(options.capMonth),
    cap_total_usd: orNone(options.capTotal),
    models: names(options.models),
    scope: options.scope,
    metadata: options.metadata,
  };
}

export function addKeys(keys: Command): void {
  addCreation(keys);
  withFormats(keys.command('list').description('list keys'))
    .option('--limit <n>', 'at most this many', integer, 100)
    .addOption(orderOption())
    .option('--after <cursor>', 'continue after the previous page')
    .option('--account <account_id>', 'only keys of this account')
    .option('--name <text>', 'only keys whose name or hint contains this text')
    .option('--external-id <id>', 'only keys with this external id')
    .option('--metadata <name=value>', 'only keys with this metadata pair', pair)
    .option('--pepper <which>', 'previous: only keys that need KEY_PEPPER_PREVIOUS')
    .action((options: ListOptions) =>
      runList(
        options,
        {
          name: 'listKeys',
          input: {
            limit: options.limit,
            order: options.order,
            after: options.after,
            account_id: options.account,
            name: options.name,
            external_id: options.externalId,
            metadata: metadataText(options.metadata),
            pepper: options.pepper,
          },
        },
        printKeys,
      ),
    );
  withJson(keys.command('show').argument('<key_id>').description('show one key')).action(
    (keyId: string, options: OutputOptions) =>
      run(options, (call) => call('showKey', { key_id: keyId }), printKey),
  );
  withJson(
    keys
      .command('find')
      .description('find the key of a credential, read from the environment variable GATEWAY_KEY'),
  ).action((options: OutputOptions) =>
    // The credential is not an argument, because other users of the machine could read it.
    run(options, (call) => call('findKey', { api_key: credentialToFind() }), printKey),
  );
  addUpdate(keys);
  withJson(
    keys
      .command('rotate')
      .argument('<key_id>')
      .description('give a key a new credential; its account, limits and history stay'),
  )
    .option('--grace <seconds>', 'how long the old credential still works', integer, 0)
    .action((keyId: string, options: OutputOptions & { readonly grace: number }) =>
      run(
        options,
        (call) => call('rotateKey', { key_id: keyId, grace_seconds: options.grace }),
        printRotatedKey,
      ),
    );
  withJson(
    keys
      .command('link')
      .argument('<key_id>')
      .description('make a read-only link to the dashboard of a key; it cannot spend'),
  )
    .option('--days <n>', 'how many days the link is valid', integer, 30)
    .action((keyId: string, options: OutputOptions & { readonly days: number }) =>
      run(
        options,
        (call) => call('createLink', { key_id: keyId, expires_in_seconds: options.days * 86_400 }),
        printLink,
      ),
    );
  addTopUp(keys);
  const changes = [
    ['suspend', 'suspendKey', 'stop a key until it is resumed'],
    ['resume', 'resumeKey', 'lift a suspension'],
    ['revoke', 'revokeKey', 'stop a key permanently; its account keeps its balance'],
  ] as const;
  for (const [name, operation, description] of changes) {
    withJson(keys.command(name).argument('<key_id>').description(description)).action(
      (keyId: string, options: OutputOptions) =>
        run(options, (call) => call(operation, { key_id: keyId }), printKey),
    );
  }
}

function credentialToFind(): string {
  const { GATEWAY_KEY: credential = '' } = process.env;
  if (credential === '') {
    const message = 'GATEWAY_KEY: set this environment variable to the credential to find';
    throw new OperationError(400, 'invalid_request_error', message);
  }
  return credential;
}

function addCreation(keys: Command): void {
  withJson(
    withRules(
      keys
        .command('create')
        .description('create a key; its credential is shown this once')
        .requiredOption('--name <name>', 'a name for people to read'),
    ),
  )
    .option('--account <account_id>', 'an existing account; default: a new one')
    .option('--external-id <id>', 'your own id for the key')
    .option('--account-external-id <id>', 'your own id for the new account')
    .option('--low-balance <usd>', 'write an event when the balance falls to this')
    .option('--balance <usd>', 'first credit, such as 5 or 0.25')
    .option('--promotional', 'the first credit is a gift, not paid for')
    .option('--credit-expires-at <time>', 'when the unused part of the first credit expires', time)
    .option('--expires-at <time>', 'such as 2026-12-31T23:59:59Z', time)
    .option('--id <id>', 'id of this creation: repeating it never creates a second key')
    .action((options: CreateOptions) =>
      run(
        options,
        (call) =>
          call('createKey', {
            ...rulesOf(options),
            name: options.name,
            account_id: options.account,
            external_id: options.externalId,
            account_external_id: options.accountExternalId,
            low_balance_usd: options.lowBalance,
            balance_usd: options.balance,
            credit_source: options.promotional === true ? 'promotional' : undefined,
            credit_expires_at: options.creditExpiresAt,
            expires_at: options.expiresAt,
            idempotency_key: options.id,
          }),
        printCreatedKey,
      ),
    );
}

function addUpdate(keys: Command): void {
  withJson(
    withRules(
      keys
        .command('update')
        .argument('<key_id>')
        .description('change the name, limits, caps, models, expiry or metadata of a key'),
    ),
  )
    .option('--name <name>', 'a name for people to read')
    .option('--external-id <id>', 'your own id for the key, or "none" to remove it')
    .option('--expires-at <time>', 'such as 2026-12-31T23:59:59Z; none for no expiry', time)
    .action((keyId: string, options: UpdateOptions) =>
      run(
        options,
        (call) =>
          call('updateKey', {
            ...rulesOf(options),
            key_id: keyId,
            name: options.name,
            external_id: orNone(options.externalId),
            expires_at: orNone(options.expiresAt),
          }),
        printKey,
      ),
    );
}

/** The options of `keys top-up` and `accounts top-up`. */
export function withTopUp(command: Command): Command {
  return withJson(command)
    .option('--id <id>', 'id of this top-up: repeating it never credits twice')
    .option('--promotional', 'the credit is a gift, not paid for')
    .option('--expires-at <time>', 'when the unused part of the credit expires', time)
    .option('--note <text>', 'a note for your own records')
    .option('--reference <id>', 'id of a payment or an order');
}

export function topUpOf(amount: string, options: TopUpOptions) {
  return {
    top_up_id: options.id ?? randomUUID(),
    amount_usd: amount,
    source: options.promotional === true ? ('promotional' as const) : undefined,
    expires_at: options.expiresAt,
    note: options.note,
    reference: options.reference,
  };
}

function addTopUp(keys: Command): void {
  withTopUp(
    keys
      .command('top-up')
      .argument('<key_id>')
      .argument('<usd>', 'amount, such as 10 or 0.5')
      .description("add credit to a key's account, at once"),
  ).action((keyId: string, amount: string, options: TopUpOptions) =>
    run(
      options,
      (call) => call('topUp', { key_id: keyId, ...topUpOf(amount, options) }),
      printTopUp,
    ),
  );
}
