/**
 * The commands of docs/cli.md and docs/payments.md are typed as they stand there, in their order,
 * beside a running gateway. `handbook.test.ts` does the same with the handbook.
 */

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startStripeSimulator } from '@gateway/payments/testing';
import type { StripeSimulator } from '@gateway/payments/testing';
import { startUpstreamSimulator } from '@gateway/upstream-simulator';
import type { UpstreamSimulator } from '@gateway/upstream-simulator';
import { usePostgresServer } from '../../../../packages/balance-store/test/postgres-server.js';
import type { PostgresServer } from '../../../../packages/balance-store/test/postgres-server.js';
import { ageLedger } from '../../../../packages/balance-store/test/rewrite-ledger.js';
import { createRemoteCaller } from '../../src/operator/operations/callers.js';
import type { CallOperation } from '../../src/operator/operations/operations.js';
import { MAIN, gatewayCommand, spawnGateway } from '../support/gateway-process.js';
import type { GatewayProcess } from '../support/gateway-process.js';
import { postMessages, userMessage } from '../support/gateway.js';
import { until } from '../support/until.js';

const ROOT = resolve(__dirname, '../../../..');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const ADMIN_TOKEN = 'token-of-the-operator-for-this-test';
const SECRET_KEY = 'sk_test_canary_of_the_secret_key';
const WEBHOOK_SECRET = 'whsec_canary_of_the_webhook';
/** A minute in which nothing happens lasts a fifth of a second. */
const QUICK = `--import=${join(__dirname, '../support/quick-minutes.mjs')}`;
const EXPORT = /^ledger export\b/;
/** Commands that open the ledger's file or read the variables themselves. */
const LOCAL = /^(?:ledger (?:backup|archive|export)|check-config)\b/;

const folder = mkdtempSync(join(tmpdir(), 'gateway-typed-'));
let upstream: UpstreamSimulator;
let stripe: StripeSimulator;
let postgres: PostgresServer;
let gateway: GatewayProcess;
let call: CallOperation;
let variables: Readonly<Record<string, string>>;

beforeAll(async () => {
  const adminKey = 'sk-ant-admin-of-the-tests';
  upstream = await startUpstreamSimulator({ apiKey: 'key', adminKey });
  stripe = await startStripeSimulator({ secretKey: SECRET_KEY, webhookSecret: WEBHOOK_SECRET });
  postgres = await usePostgresServer();
  variables = {
    DATA_DIR: join(folder, 'data'),
    ADMIN_TOKEN,
    UPSTREAM_URL: upstream.url,
    UPSTREAM_API_KEY: 'key',
    ANTHROPIC_ADMIN_KEY: adminKey,
    ANTHROPIC_ADMIN_URL: upstream.url,
    ...paymentVariables(),
    STRIPE_API_URL: stripe.url,
  };
  gateway = await spawnGateway(variables, [process.execPath, QUICK, MAIN]);
  call = createRemoteCaller({ url: gateway.adminUrl, token: ADMIN_TOKEN });
});
afterAll(async () => {
  await stopped();
  await postgres.stop();
  await stripe.close();
  await upstream.close();
  rmSync(folder, { recursive: true, force: true });
});

describe('a customer', () => {
  const words: Record<string, string> = {};
  let accounts: readonly string[];
  beforeAll(async () => {
    const key = await call('createKey', { name: 'customer', balance_usd: '100' });
    const other = await call('createKey', { name: 'other' });
    accounts = [key.account_id, other.account_id];
    words['key_…'] = key.id;
    words['pay_…'] = await pay(key.api_key ?? '');
    words['pi_…'] = await payInEuros(key.api_key ?? '');
    const usage = await ask(key.api_key ?? '');
    await ageLedger({ dataDir: join(folder, 'data') }, 100);
    const owner = { account_id: key.account_id, name: 'typed' };
    const budget = { scope: 'member', amount_usd: '1', period: 'month' } as const;
    words['grp_…'] = (await call('createGroup', owner)).id;
    words['mem_…'] = (await call('createMember', owner)).id;
    const reserve = { scope: 'reserve', amount_usd: '1', period: 'month' } as const;
    words['--then bud_…'] = `--then ${(await call('createBudget', { ...owner, ...reserve })).id}`;
    words['bud_…'] = (await call('createBudget', { ...owner, ...budget })).id;
    words['2026-10-01'] = dayBefore(50);
    words['2026-12-31'] = dayBefore(-30);
    // The provider has the request today, the ledger 100 days ago.
    words['reconcile --from 2026-11-01 --until 2026-12-01'] =
      `reconcile --from ${dayBefore(20)} --until ${dayBefore(10)}`;
    words['http://10.0.0.1:8081 …'] = gateway.adminUrl;
    words['postgres://…'] = await postgres.createDatabase();
    await until(async () => (await call('auditLedger', {})).head !== null);
    words['42:9f86d0…'] = (await call('auditLedger', {})).head ?? '';
    for (const name of ['usages.jsonl', 'gateway.log', 'ledger-1.db', 'old.jsonl']) {
      words[name] = join(folder, name);
    }
    words['--into chargeback'] = `--into ${join(folder, 'chargeback')}`;
    for (const name of ['people.csv', 'links.csv', 'university.json']) {
      words[name] = join(folder, name);
    }
    writeFileSync(words['people.csv']!, 'name,external_id,group,key\nAda,ada,Databases,yes\n');
    writeFileSync(words['university.json']!, exampleOf('docs/cli.md', 'json'));
    writeFileSync(words['usages.jsonl']!, `${JSON.stringify(usage)}\n`);
    writeFileSync(words['gateway.log']!, gateway.output());
  });

  const commands = [...commandsOf('docs/payments.md'), ...commandsOf('docs/cli.md')];
  // The gateway is stopped for an export.
  const inOrder = commands.sort((a, b) => Number(EXPORT.test(a)) - Number(EXPORT.test(b)));
  it.each(inOrder)('%s', async (line) => {
    const [first, second = ''] = accounts;
    const typed = Object.entries(words)
      .reduce((text, [word, value]) => text.replaceAll(word, value), line)
      .replace('acct_…', first!)
      .replace('acct_…', second);
    expect(typed).not.toContain('…');
    if (EXPORT.test(typed)) await stopped();
    const env = LOCAL.test(typed) ? variables : { ADMIN_URL: gateway.adminUrl, ADMIN_TOKEN };
    const { code, err } = await gatewayCommand(typed.split(/ +/), env);
    expect({ typed, code, err }).toEqual({ typed, code: 0, err: '' });
  });
});

/** The block of a document in this language. */
function exampleOf(path: string, language: string): string {
  return new RegExp(`\`\`\`${language}\n([^]*?)\`\`\``).exec(read(path))?.[1] ?? '';
}

/** The commands of the document's blocks, without comments and redirections. */
function commandsOf(file: string): readonly string[] {
  return [...read(file).matchAll(/^(?:farthing|gateway) +([a-z].*)$/gm)].map(([, line]) =>
    line!.split(/ +(?:#|>) /)[0]!.trim(),
  );
}

/** The variables of docs/payments.md, with the secrets of the simulated Stripe. */
function paymentVariables(): Readonly<Record<string, string>> {
  const text = read('docs/payments.md').replace('sk_live_…', SECRET_KEY);
  const lines = text.replace('whsec_…', WEBHOOK_SECRET).matchAll(/^([A-Z_]+)=(\S+) +#/gm);
  return Object.fromEntries([...lines].map(([, name, value]) => [name!, value!]));
}

/** Pays 20 USD as a customer does, by Stripe's page. @returns the payment's id */
async function pay(apiKey: string): Promise<string> {
  const { id, checkoutId } = await startPayment(apiKey, 'top-up-1');
  await delivered(() => stripe.pay(checkoutId));
  await until(async () => (await call('showPayment', { payment_id: id })).state === 'paid');
  return id;
}

/** Pays what the provider does not settle in USD. @returns the provider's id */
async function payInEuros(apiKey: string): Promise<string> {
  const { checkoutId } = await startPayment(apiKey, 'top-up-2');
  stripe.setSettlement({ currency: 'eur', rates: {} });
  const as = { amountCents: 1_850, currency: 'eur' };
  const reference = await delivered(() => stripe.pay(checkoutId, { as }));
  await until(async () => (await call('listUnbookedPayments', {})).data.length === 1);
  return reference;
}

async function startPayment(apiKey: string, idempotencyKey: string) {
  const response = await fetch(`${gateway.url}/v1/dashboard/top-ups`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${apiKey}`,
      'content-type': 'application/json',
      'idempotency-key': idempotencyKey,
    },
    body: JSON.stringify({ amount_usd: '20' }),
  });
  const { id, url } = (await response.json()) as { id: string; url: string };
  return { id, checkoutId: new URL(url).pathname.split('/').at(-1) ?? '' };
}

/** Delivers the notifications of what happens at the provider. */
async function delivered<Result>(happen: () => Result): Promise<Result> {
  const before = stripe.events.length;
  const result = happen();
  for (const event of stripe.events.slice(before)) {
    const { body, headers } = stripe.sign(event);
    await fetch(`${gateway.url}/webhooks/stripe`, { method: 'POST', body, headers });
  }
  return result;
}

/** @returns the usage that the client received, with the id of its request */
async function ask(apiKey: string): Promise<object> {
  const response = await postMessages(gateway, apiKey, userMessage('Hello'));
  const { usage } = (await response.json()) as { usage: object };
  const id = response.headers.get('x-gateway-request-id');
  await until(() => gateway.output().includes('"charge_usd"'));
  return { request_id: id, usage };
}

const dayBefore = (days: number): string =>
  new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10);

async function stopped(): Promise<void> {
  gateway.send('SIGTERM');
  await gateway.exited;
}
