/**
 * The catalogue of errors: each entry is provoked, and the answer has its status, type, code,
 * sentence and headers. An entry that no test here provokes has its reason in `NOT_PROVOKED`.
 */

import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { BackgroundWorkError, StoreUnavailableError } from '@gateway/balance-store';
import type { ChargeEntry } from '@gateway/balance-store';
import { parseUsd } from '@gateway/billing';
import { startStripeSimulator } from '@gateway/payments/testing';
import type { StripeSimulator } from '@gateway/payments/testing';
import { createRunBudgets } from '../../src/exchange/spending/run-budgets.js';
import { CATALOGUE, SECTIONS } from '../../src/base/errors/catalogue.js';
import type { ErrorName } from '../../src/base/errors/catalogue.js';
import type { ErrorEntry } from '../../src/base/errors/entry.js';
import type { Refusal } from '../../src/base/errors/refusal.js';
import { ConfigError } from '../../src/config/config.js';
import { ConcurrentChangeError } from '../../src/config/reloader.js';
import { OperationError } from '../../src/endpoints/operation-error.js';
import { denied } from '../../src/exchange/admission.js';
import { createHoldLine } from '../../src/exchange/spending/hold-line.js';
import { createRemoteCaller } from '../../src/operator/operations/callers.js';
import { usedId } from '../../src/operator/operations/keys.js';
import type { OperationContext } from '../../src/operator/operations/operation.js';
import { runOperation } from '../../src/operator/operations/operations.js';
import { anthropicUpstream } from '../../src/upstream/anthropic.js';
import { RequestBody } from '../../src/upstream/request-body.js';
import {
  ClientGoneError,
  UpstreamBusyError,
  refusalOfConnectionError,
} from '../../src/upstream/client.js';
import { gatewayCommand } from '../support/gateway-process.js';
import { MODEL, POSTS, startTestGateway, userMessage } from '../support/gateway.js';
import type { TestGateway } from '../support/gateway.js';
import { connectTo } from '../support/raw-client.js';
import { until } from '../support/until.js';

const ADMIN_TOKEN = 'admin-token-of-the-tests';
const READER = 'token-of-the-reader-0123456789';
const PAYMENTS = {
  STRIPE_SECRET_KEY: 'sk_test_of_the_errors',
  STRIPE_WEBHOOK_SECRET: 'whsec_of_the_errors',
  PUBLIC_URL: 'https://gateway.example',
};
const HELLO = userMessage('Hello');

let gateway: TestGateway;
/** Charges are held before requests are sent, and payments are taken. */
let strict: TestGateway;
let stripe: StripeSimulator;
let id: string;
let apiKey: string;
beforeAll(async () => {
  stripe = await startStripeSimulator({
    secretKey: PAYMENTS.STRIPE_SECRET_KEY,
    webhookSecret: PAYMENTS.STRIPE_WEBHOOK_SECRET,
  });
  const admin = { ADMIN_TOKEN, ADMIN_TOKENS: `grafana:read:${READER}` };
  gateway = await startTestGateway({ env: { ...admin, MAX_BODY_BYTES: '100000' } });
  strict = await startTestGateway({
    env: {
      ADMIN_TOKEN,
      OVERDRAFT: 'none',
      ALLOW_FEATURES: 'compaction',
      ...PAYMENTS,
      STRIPE_API_URL: stripe.url,
    },
  });
  ({ id, apiKey } = await gateway.createKey());
});
afterAll(async () => {
  await gateway.stop();
  await strict.stop();
  await stripe.close();
});
beforeEach(() => {
  gateway.simulator.reset();
});

/** `exitCode`: a command printed it. */
type Answer = Response | Refusal | { readonly message: string; readonly exitCode: number };
type Provocation = () => Promise<Answer | readonly Answer[]> | Answer;
type Headers = Readonly<Record<string, string>>;
type Post = (typeof POSTS)[keyof typeof POSTS];

/** The same request in all three formats. */
async function eachFormat(ask: (post: Post) => Promise<Response>): Promise<readonly Answer[]> {
  const answers: Answer[] = [];
  for (const post of Object.values(POSTS)) answers.push(await ask(post));
  return answers;
}
const posted = (body: unknown, headers?: Headers, key = apiKey) =>
  eachFormat((post) => post(gateway, key, body, headers));
const withKey = async (input: Parameters<TestGateway['createKey']>[0]) =>
  posted(HELLO, {}, (await gateway.createKey(input)).apiKey);
/** The answer for an error of the upstream. */
const scripted = (script: Parameters<TestGateway['simulator']['script']>[0]) =>
  eachFormat((post) => {
    gateway.simulator.script(script);
    return post(gateway, apiKey, HELLO);
  });
function ask(
  url: string,
  { method = 'GET', headers = {}, body }: { method?: string; headers?: Headers; body?: unknown },
): Promise<Response> {
  const json = body === undefined ? {} : { body: JSON.stringify(body) };
  const type = body === undefined ? {} : { 'content-type': 'application/json' };
  return fetch(url, { method, headers: { ...type, ...headers }, ...json });
}
/** A link that shows a key, which then ends. */
async function keyLink(key_id: string, end: 'revokeKey' | 'rotateKey') {
  const link = await gateway.call('createKeyLink', { key_id });
  await gateway.call(end, { key_id });
  return link;
}
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
const dashboard = (
  path: string,
  { of = gateway, key = apiKey, ...options }: Parameters<typeof ask>[1] & OfGateway = {},
) =>
  ask(`${of.url}/v1/dashboard/${path}`, {
    ...options,
    headers: { ...bearer(key), ...options.headers },
  });
interface OfGateway {
  readonly of?: TestGateway;
  readonly key?: string;
}
const admin = (path: string, options: Parameters<typeof ask>[1] = {}) =>
  ask(`${gateway.adminUrl}${path}`, {
    ...options,
    headers: { ...bearer(ADMIN_TOKEN), ...options.headers },
  });

/** What an operation was refused with. */
async function refusedOf(call: Promise<unknown>): Promise<Refusal> {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (error instanceof OperationError) return error.refusal;
  throw new Error('the operation was not refused', { cause: error });
}

/** The answer to bytes that are not an ordinary request. */
async function raw(text: string): Promise<Response> {
  const client = connectTo(gateway);
  client.send(text);
  const received = await client.receive(/\r\n\r\n\{.*\}/s);
  client.socket.destroy();
  const [head = '', body = ''] = received.split('\r\n\r\n');
  const [status = '', ...lines] = head.split('\r\n');
  const headers = lines.map((line): [string, string] => {
    const [name = '', value = ''] = line.split(': ');
    return [name, value];
  });
  return new Response(body.slice(0, body.lastIndexOf('}') + 1), {
    status: Number(status.split(' ')[1]),
    headers,
  });
}

const managed = (input: Parameters<TestGateway['createKey']>[0] = {}, of = gateway) =>
  of.createKey({ scope: 'manage', ...input });
/** A key with the scope `manage`, and another of its account. */
async function twoKeys(input: Parameters<TestGateway['createKey']>[0] = {}) {
  const first = await managed();
  const { account_id } = await gateway.call('showKey', { key_id: first.id });
  const other = await gateway.createKey({ balance_usd: undefined, account_id, ...input });
  return { first, other };
}
/** A key with the scope `manage` of a member. */
async function leader() {
  const key = await managed();
  const { account_id } = await gateway.call('showKey', { key_id: key.id });
  const { id: member_id } = await gateway.call('createMember', { account_id, name: 'Lead' });
  await gateway.call('updateKey', { key_id: key.id, member_id });
  return { ...key, account_id, member_id };
}
async function sessionOf(key: string): Promise<string> {
  const response = await dashboard('session', {
    method: 'POST',
    key,
    headers: { 'sec-fetch-site': 'same-origin', 'x-gateway-session': 'any' },
  });
  return response.headers.getSetCookie()[0]?.split(';', 1)[0] ?? '';
}
async function consoleLink(): Promise<string> {
  const { path } = (await (await admin('/admin/console-links', { method: 'POST' })).json()) as {
    readonly path: string;
  };
  return /link=([\w-]+)/.exec(path)?.[1] ?? '';
}
const consolePost = (path: string, body: unknown, headers: Headers = {}) =>
  ask(`${gateway.adminUrl}/console/${path}`, {
    method: 'POST',
    body,
    headers: { 'sec-fetch-site': 'same-origin', ...headers },
  });
async function startedPayment() {
  const { id: key_id } = await strict.createKey();
  const { account_id } = await strict.call('showKey', { key_id });
  const started = await strict.call('startPayment', {
    account_id,
    amount_usd: '20',
    request_id: randomUUID(),
  });
  return { account_id, payment: started };
}
function notify(body: string, signature?: string): Promise<Response> {
  const headers = signature === undefined ? {} : { 'stripe-signature': signature };
  return fetch(`${strict.url}/webhooks/stripe`, { method: 'POST', headers, body });
}
async function printed(args: readonly string[]): Promise<Answer> {
  const { code, err } = await gatewayCommand(args, { ADMIN_URL: gateway.adminUrl, ADMIN_TOKEN });
  return { message: err.replace(/^farthing: |\n$/g, ''), exitCode: code };
}
function payAt(url: string | null): void {
  stripe.pay(new URL(url ?? '').pathname.split('/').at(-1) ?? '');
}
/** The event of a payment. */
async function paidEvent() {
  const { payment } = await startedPayment();
  payAt(payment.url);
  return stripe.events.at(-1)!;
}
const FAULT = new StoreUnavailableError('the database is down');
function broken(): never {
  throw new Error('a bug');
}
/** Exchanges parts of the gateway while `work` is done. */
async function withParts<Result>(parts: object, work: () => Promise<Result>): Promise<Result> {
  const { appParts } = gateway.running;
  const before = { ...appParts };
  Object.assign(appParts, parts);
  try {
    return await work();
  } finally {
    Object.assign(appParts, before);
  }
}
const storeWith = (members: object) => ({
  store: Object.assign(Object.create(gateway.running.appParts.store) as object, members),
});
async function withGetKey<Result>(getKey: () => unknown, work: () => Promise<Result>) {
  const { store } = gateway.running.appParts;
  const before = store.getKey;
  Object.assign(store, { getKey });
  try {
    return await work();
  } finally {
    Object.assign(store, { getKey: before });
  }
}
function memoryThatIs(outcome: 'full' | 'account_full') {
  const reservation = { check: () => outcome, resize: () => outcome, release: () => undefined };
  return { memory: { open: () => reservation } };
}
/** A gateway of its own, whose upstream or settings are not as they should be. */
async function alone<Result>(
  env: Readonly<Record<string, string>>,
  work: (started: TestGateway) => Promise<Result>,
): Promise<Result> {
  const started = await startTestGateway({ env });
  try {
    return await work(started);
  } finally {
    await started.stop();
  }
}
const UNREACHABLE = { UPSTREAM_URL: 'http://127.0.0.1:1' };
/** The answer to a request while another holds what it needs. */
async function besideHold(input: Parameters<TestGateway['createKey']>[0]) {
  return besideHoldOf(await strict.createKey(input));
}
async function besideHoldOf({ apiKey: key }: { readonly apiKey: string }) {
  const body = { ...HELLO, max_tokens: 500 };
  return eachFormat(async (post) => {
    strict.simulator.script({ delayMs: 1_000 });
    Object.assign(strict.running.appParts, { holdLine: createHoldLine({ waitMs: 50 }) });
    const first = post(strict, key, body);
    const holds = async () => (await strict.call('listHolds', { state: 'live' })).data;
    await until(async () => (await holds()).length > 0);
    const second = await post(strict, key, body);
    await (await first).text();
    await until(async () => (await holds()).length === 0);
    return second;
  });
}
const TESTS = { name: 'tests' };
async function keyUnderBudget(of: TestGateway, amountUsd: string) {
  const key = await of.createKey();
  const { store } = of.running;
  const { accountId } = (await store.getKey(key.id))!;
  await store.createBudget(
    { accountId, name: 'Course', scope: 'account', period: 'month', amount: parseUsd(amountUsd) },
    { by: TESTS },
  );
  return key;
}
async function keyThatNames(unknown: 'refuse' | 'create' = 'refuse') {
  const key = await gateway.createKey();
  const { accountId } = (await gateway.running.store.updateKey(key.id, { naming: { unknown } }))!;
  return { ...key, accountId };
}
const said = (content: unknown) => ({ ...HELLO, messages: [{ role: 'user', content }] });
const imageAt = (url: string) => said([{ type: 'image_url', image_url: { url } }]);
const SAME_ORIGIN = { 'sec-fetch-site': 'same-origin' };
/** A request of the customer's page, which has no other credential than its cookie. */
const pageWith = (cookie: string, headers: Headers) =>
  ask(`${gateway.url}/v1/dashboard/account`, { headers: { ...SAME_ORIGIN, cookie, ...headers } });
async function linkOf(key_id: string): Promise<string> {
  const { link } = await gateway.call('createLink', { key_id, expires_in_seconds: 600 });
  return link;
}
const topUps = async (path: string, body?: unknown) =>
  dashboard(path, {
    of: strict,
    key: (await strict.createKey()).apiKey,
    ...(body === undefined
      ? {}
      : { method: 'POST', body, headers: { 'idempotency-key': randomUUID() } }),
  });
const adminBody = (body: string, headers: Headers = {}) =>
  fetch(`${gateway.adminUrl}/admin/keys`, {
    method: 'POST',
    body,
    headers: { ...bearer(ADMIN_TOKEN), 'content-type': 'application/json', ...headers },
  });
/** Repeats a request until it is limited. */
async function untilLimited(request: () => Promise<Response>): Promise<Response> {
  for (;;) {
    const answer = await request();
    if (answer.status === 429) return answer;
    await answer.text();
  }
}
function deniedBy(limit: 'concurrency'): Refusal {
  const policy = { concurrency: 1, burst: 1, requestsPerMinute: 1 } as const;
  const asked = { subject: 'key', limits: policy, account: { subject: 'account', policy } };
  return denied({ outcome: 'denied', of: 'subject', limit, retryAfterMs: 1 }, asked).refusal;
}
const DAYS = { from: '2026-01-01', until: '2026-01-02' };
/** What an operation gets, as far as it reads it. */
const contextWith = (members: object) => members as OperationContext;

/** Entries that nothing here provokes: why, and the test that does, with words of the sentence. */
const NOT_PROVOKED = {
  late_request: { why: 'an upload must be silent for a minute' },
  body_takes_too_much_memory: {
    why: 'needs a body of many megabytes',
    test: 'exchange/preparer.test.ts',
    words: 'takes too much memory',
  },
  upstream_response_too_large: {
    why: 'needs a response of many megabytes',
    test: 'exchange/large-responses.test.ts',
    words: 'too large to pass on; it was charged',
  },
  refund_failed: {
    why: 'needs a refund that a bank sends back',
    test: 'payments/payments-money-back.test.ts',
    words: 'the refund with this id failed',
  },
  audit_failed: { why: 'needs a command whose audit fails in the gateway that it asks' },
  reload_needs_gateway: { why: 'no command calls it: `farthing reload` always asks a gateway' },
} as const satisfies Partial<Record<ErrorName, Unprovoked>>;

interface Unprovoked {
  readonly why: string;
  readonly test?: string;
  readonly words?: string;
}

/** An account with 5 USD and a key, and calls of it. */
async function ownAccount() {
  const key = await strict.createKey({ balance_usd: '5' });
  const { account_id } = await strict.call('showKey', { key_id: key.id });
  const close = (more: object = { rest: 'breakage' }) =>
    strict.call('closeAccount', { account_id, closing_id: account_id, reason: 'errors', ...more });
  const topUp = (more: object = {}) =>
    strict.call('topUpAccount', { account_id, top_up_id: account_id, amount_usd: '1', ...more });
  const adjust = (amount_usd: string) =>
    strict.call('adjustBalance', {
      account_id,
      adjustment_id: account_id,
      amount_usd,
      reason: 'correction',
    });
  const reverse = (reverses: string) =>
    strict.call('reverseEntry', { account_id, reversal_id: `${account_id}.r`, reverses });
  return { ...key, account_id, close, topUp, adjust, reverse };
}

function onClosing() {
  return {
    account_closed: async () => {
      const of = await ownAccount();
      await of.close();
      return refusedOf(of.topUp());
    },
    owner_ended: async () => {
      const { account_id } = await ownAccount();
      const { id: member_id } = await strict.call('createMember', { account_id, name: 'Ada' });
      await strict.call('endMember', { member_id });
      return refusedOf(strict.call('createKey', { name: 'late', account_id, member_id }));
    },
    budget_ended: async () => {
      const { account_id } = await ownAccount();
      const terms = { name: 'all', scope: 'account', amount_usd: '1', period: 'month' } as const;
      const { id: budget_id } = await strict.call('createBudget', { account_id, ...terms });
      await strict.call('endBudget', { budget_id });
      const raise = { budget_id, amount_usd: '1', until: '2099-01-01T00:00:00Z' };
      return refusedOf(strict.call('raiseBudget', raise));
    },
    account_not_closed: async () => {
      const { account_id } = await ownAccount();
      return refusedOf(strict.call('eraseAccount', { account_id }));
    },
    account_in_flight: async () => {
      const of = await ownAccount();
      strict.simulator.script({ delayMs: 1_000 });
      const running = POSTS.messages(strict, of.apiKey, { ...HELLO, max_tokens: 500 });
      const holds = async () => (await strict.call('listHolds', { state: 'live' })).data.length;
      await until(async () => (await holds()) > 0);
      const refused = await refusedOf(of.close());
      await (await running).text();
      await until(async () => (await holds()) === 0);
      return refused;
    },
    account_in_debt: async () => {
      const of = await ownAccount();
      await of.adjust('-6');
      return refusedOf(of.close());
    },
    account_rest_undecided: async () => refusedOf((await ownAccount()).close({})),
    no_usable_key: async () => {
      const of = await ownAccount();
      await strict.call('revokeKey', { key_id: of.id });
      return refusedOf(of.topUp());
    },
    entry_not_reversible: async () => refusedOf((await ownAccount()).reverse('adjustment:none')),
    entry_of_payment: async () => refusedOf((await ownAccount()).reverse('topup:stripe:pi_1')),
  };
}

/** Of a home that serves one model, and does not count its tokens. */
function featureRefusal(): Refusal {
  const upstream = anthropicUpstream({ url: 'http://x', apiKey: 'k', lacks: ['fast_mode'] });
  const body = new RequestBody(Buffer.from('{"speed":"fast"}'), () => undefined);
  const asked = { operation: 'messages', model: MODEL, accountId: 'acct_1', body } as const;
  const refusal = upstream.refusalFor?.(asked);
  if (refusal === undefined) throw new Error('the home serves it');
  return refusal;
}

function homeRefusal(operation: 'messages' | 'count_tokens'): Refusal {
  const home = { models: { [MODEL]: 'its-model' }, lacks: ['count_tokens'] as const };
  const upstream = anthropicUpstream({ url: 'http://127.0.0.1:1', apiKey: 'k', ...home });
  const model = operation === 'messages' ? 'claude-opus-5' : MODEL;
  const refusal = upstream.refusalFor?.({ operation, model, accountId: 'acct_1' });
  if (refusal === undefined) throw new Error('the home serves it');
  return refusal;
}

const PROVOKED: Record<Exclude<ErrorName, keyof typeof NOT_PROVOKED>, Provocation> = {
  // The request
  invalid_request: () => posted('{'),
  missing_required_parameter: () =>
    POSTS['chat.completions'](gateway, apiKey, { model: MODEL, messages: [{ content: 'x' }] }),
  invalid_type: () => POSTS['chat.completions'](gateway, apiKey, { ...HELLO, temperature: 'x' }),
  invalid_value: () => POSTS['chat.completions'](gateway, apiKey, imageAt('nowhere')),
  unsupported_value: () => {
    const content = [{ type: 'input_audio', input_audio: { data: 'AA', format: 'wav' } }];
    return POSTS['chat.completions'](gateway, apiKey, said(content));
  },
  previous_response_not_found: () =>
    POSTS.responses(gateway, apiKey, { ...HELLO, previous_response_id: 'resp_none' }),
  thread_unsupported_request: () =>
    POSTS.messages(gateway, apiKey, { ...HELLO, thread: { id: 'thread_1' } }),
  cost_without_limit: async () => {
    const { apiKey: key } = await strict.createKey();
    const context_management = { edits: [{ type: 'compact_2' }] };
    return POSTS.messages(strict, key, { ...HELLO, context_management });
  },
  too_many_values: async () => {
    const { apiKey: key } = await strict.createKey();
    const members = Array.from({ length: 1_000_000 }, (_, i) => `"k${String(i)}":0`).join(',');
    const body = `${JSON.stringify(HELLO).slice(0, -1)},"metadata":{${members}}}`;
    return POSTS['chat.completions'](strict, key, body);
  },
  too_many_items: async () => {
    const { apiKey: key } = await strict.createKey();
    const input = Array(60_000).fill({ role: 'user', content: 'x' });
    const answer = await POSTS.responses(strict, key, { model: MODEL, input });
    const { id: previous_response_id } = (await answer.json()) as { readonly id: string };
    return POSTS.responses(strict, key, { model: MODEL, input, previous_response_id });
  },
  too_many_references: () =>
    POSTS.responses(gateway, apiKey, {
      model: MODEL,
      input: Array.from({ length: 501 }, (_, i) => ({
        type: 'item_reference',
        id: `msg_${String(i)}${'a'.repeat(10)}_1`,
      })),
    }),
  invalid_http: () => raw('GET / NONSENSE\r\n\r\n'),
  host_missing: () => raw('GET /v1/models HTTP/1.1\r\n\r\n'),
  path_not_decodable: async () => [
    await ask(`${gateway.url}/v1/models/%ff`, { headers: bearer(apiKey) }),
    await admin('/admin/keys/%ff'),
  ],
  small_body_unreadable: async () =>
    dashboard('keys', { method: 'POST', key: (await managed()).apiKey, body: ['no object'] }),
  two_credentials: () => posted(HELLO, { 'x-api-key': 'another' }),
  same_credential_twice: () => posted(HELLO, { 'x-api-key': apiKey }),
  body_too_large: () => posted(userMessage('x'.repeat(100_000))),
  conversation_too_large: async () => {
    const input = 'x'.repeat(60_000);
    const answer = await POSTS.responses(gateway, apiKey, { model: MODEL, input, store: true });
    const { id: previous_response_id } = (await answer.json()) as { readonly id: string };
    return POSTS.responses(gateway, apiKey, { model: MODEL, input, previous_response_id });
  },
  inflates_too_much: async () => {
    const { apiKey: key } = await strict.createKey();
    const body = gzipSync(' '.repeat(20_000_000));
    return POSTS.messages(strict, key, body, { 'content-encoding': 'gzip' });
  },
  chunk_extensions_too_large: () =>
    raw(
      'POST /v1/messages HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n' +
        `1;${'a'.repeat(20_000)}\r\n`,
    ),
  headers_too_large: () => raw(`GET /v1/models HTTP/1.1\r\nx: ${'a'.repeat(20_000)}\r\n\r\n`),
  unsupported_media_type: () => posted(HELLO, { 'content-type': 'text/plain' }),
  unsupported_encoding: () => posted(HELLO, { 'content-encoding': 'rot13' }),
  unsupported_expectation: () =>
    raw('POST /v1/messages HTTP/1.1\r\nhost: x\r\nexpect: more\r\ncontent-length: 0\r\n\r\n'),
  unknown_url: async () => [
    await ask(`${gateway.url}/v1/nothing`, {}),
    await ask(`${gateway.url}/v1/messages/batches`, { method: 'POST' }),
  ],
  method_not_allowed: async () => [
    await ask(`${gateway.url}/v1/messages`, {}),
    await ask(`${gateway.url}/v1/responses`, {}),
    await admin('/admin/keys/find'),
  ],
  not_a_proxy: () => raw('CONNECT api.anthropic.com:443 HTTP/1.1\r\nhost: x\r\n\r\n'),
  websocket_not_supported: () =>
    raw(
      'GET /v1/responses HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n',
    ),
  model_not_found: () => posted({ ...HELLO, model: 'claude-none' }),
  response_not_found: () =>
    ask(`${gateway.url}/v1/responses/resp_none`, { headers: bearer(apiKey) }),

  // The key
  unknown_key: () => posted(HELLO, {}, 'gw_nobody'),
  bearer_only: () => ask(`${gateway.url}/v1/dashboard/usage`, { headers: { 'x-api-key': apiKey } }),
  link_only_reads: async () => posted(HELLO, {}, await linkOf(id)),
  link_ended: async () => {
    const key = await gateway.createKey();
    const link = await linkOf(key.id);
    await gateway.call('revokeKey', { key_id: key.id });
    return dashboard('usage', { key: link });
  },
  key_link_ended: async () => {
    const { link } = await keyLink((await gateway.createKey()).id, 'revokeKey');
    return dashboard('key-link', { method: 'POST', key: link });
  },
  key_link_opened: async () => {
    const { link } = await keyLink((await gateway.createKey()).id, 'rotateKey');
    return dashboard('key-link', { method: 'POST', key: link });
  },
  session_ended: async () => {
    const key = await gateway.createKey();
    const cookie = await sessionOf(key.apiKey);
    await gateway.call('revokeKey', { key_id: key.id });
    return pageWith(cookie, { 'x-gateway-session': 'any' });
  },
  session_needs_key: async () =>
    ask(`${gateway.url}/v1/dashboard/session`, {
      method: 'POST',
      headers: { ...SAME_ORIGIN, 'x-gateway-session': 'any', cookie: await sessionOf(apiKey) },
    }),
  balance_exhausted: () => withKey({ balance_usd: undefined }),
  balance_uncovered: () => {
    const standing = { standing: 'exhausted', balance: 0n, uncovered: 1n };
    const readStanding = () => Promise.resolve(standing);
    return withParts(storeWith({ readStanding }), () => posted(HELLO));
  },
  key_suspended: async () => {
    const key = await gateway.createKey();
    await gateway.call('suspendKey', { key_id: key.id });
    return posted(HELLO, {}, key.apiKey);
  },
  key_expired: () => withKey({ expires_at: '2020-01-01T00:00:00Z' }),
  replaced_credential: async () => {
    const key = await managed();
    await gateway.call('rotateKey', { key_id: key.id, grace_seconds: 600 });
    return dashboard('keys', { method: 'POST', key: key.apiKey, body: { name: 'a' } });
  },
  needs_manage: () => dashboard('keys'),
  key_stopped: async () => {
    const key = await managed();
    await gateway.call('suspendKey', { key_id: key.id });
    return dashboard('keys', { key: key.apiKey });
  },
  exceeds_own_rights: async () => {
    const { first, other } = await twoKeys();
    await gateway.call('updateKey', { key_id: first.id, models: [MODEL] });
    return dashboard(`keys/${other.id}/rotate`, { method: 'POST', key: first.apiKey });
  },
  suspended_by_operator: async () => {
    const { first, other } = await twoKeys();
    await gateway.call('suspendKey', { key_id: other.id });
    return dashboard(`keys/${other.id}/resume`, { method: 'POST', key: first.apiKey });
  },
  set_by_operator: async () => {
    const { first, other } = await twoKeys();
    await gateway.call('updateKey', { key_id: other.id, cap_day_usd: '1' });
    const body = { cap_day_usd: '2' };
    return dashboard(`keys/${other.id}`, { method: 'PATCH', key: first.apiKey, body });
  },
  budget_of_operator: async () => {
    const { apiKey: key, account_id } = await leader();
    const terms = { name: 'all', scope: 'account', amount_usd: '1', period: 'month' } as const;
    const { id: budget } = await gateway.call('createBudget', { account_id, ...terms });
    return dashboard(`budgets/${budget}/end`, { method: 'POST', key });
  },
  leaves_budget: async () => {
    const { apiKey: key, account_id, member_id } = await leader();
    const terms = { name: 'each', scope: 'member', amount_usd: '1', period: 'month' } as const;
    const { id: group_id } = await gateway.call('createGroup', { account_id, name: 'Course' });
    await gateway.call('updateMember', { member_id, group_id });
    await gateway.call('createBudget', { account_id, ...terms, within_group: group_id });
    const body = { group_id: null };
    return dashboard(`members/${member_id}`, { method: 'PATCH', key, body });
  },
  own_member: async () => {
    const { apiKey: key, member_id } = await leader();
    return dashboard(`members/${member_id}/end`, { method: 'POST', key });
  },
  own_key: async () => {
    const key = await managed();
    return dashboard(`keys/${key.id}/suspend`, { method: 'POST', key: key.apiKey });
  },
  other_origin: async () =>
    pageWith(await sessionOf(apiKey), {
      'sec-fetch-site': 'cross-site',
      'x-gateway-session': 'any',
    }),
  session_header_missing: async () => pageWith(await sessionOf(apiKey), {}),
  other_session: async () =>
    pageWith(await sessionOf(apiKey), { 'x-gateway-session': 'key_of_another_tab' }),
  network_not_allowed: () => withKey({ allowed_networks: ['192.0.2.0/24'] }),
  model_not_allowed: () => withKey({ models: ['claude-haiku-4-5'] }),
  concurrency_limit: () => deniedBy('concurrency'),
  rate_limit: async () => {
    const key = await gateway.createKey({ burst: 1, requests_per_minute: 1 });
    await (await POSTS.messages(gateway, key.apiKey, HELLO)).text();
    return posted(HELLO, {}, key.apiKey);
  },
  endpoint_limit: () => untilLimited(() => dashboard('balance', { of: strict })),
  export_runs: async () => {
    const { store } = gateway.running.appParts;
    let isRead = (): void => undefined;
    let mayGoOn = (): void => undefined;
    const reading = new Promise<void>((resolve) => (isRead = resolve));
    const going = new Promise<void>((resolve) => (mayGoOn = resolve));
    const listEntries: typeof store.listEntries = async (filter) => {
      isRead();
      await going;
      return store.listEntries(filter);
    };
    return withParts(storeWith({ listEntries }), async () => {
      const first = dashboard('usage?format=csv');
      await reading;
      const second = await dashboard('usage?format=csv');
      mayGoOn();
      expect((await first).status).toBe(200);
      return second;
    });
  },
  unknown_key_limit: () =>
    // Well formed, but of another gateway.
    untilLimited(() => POSTS.messages(strict, apiKey, HELLO)),
  account_bytes_limit: () => withParts(memoryThatIs('account_full'), () => posted(HELLO)),
  cap_used_up: () => withKey({ cap_total_usd: '0' }),
  over_cap: async () => {
    const { apiKey: key } = await strict.createKey({ cap_total_usd: '0.0001' });
    return eachFormat((post) => post(strict, key, HELLO));
  },
  over_cap_with_holds: () => besideHold({ cap_total_usd: '0.02' }),
  over_balance_with_holds: () => besideHold({ balance_usd: '0.02' }),
  budget_used_up: async () => {
    const { apiKey: key } = await keyUnderBudget(gateway, '0');
    return posted(HELLO, {}, key);
  },
  over_budget: async () => {
    const { apiKey: key } = await keyUnderBudget(strict, '0.0001');
    return eachFormat((post) => post(strict, key, HELLO));
  },
  over_budget_with_holds: async () => besideHoldOf(await keyUnderBudget(strict, '0.02')),
  unknown_member: async () => {
    const { apiKey: key } = await keyThatNames();
    return posted(HELLO, { 'x-gateway-member': 'nobody' }, key);
  },
  ambiguous_member: async () => {
    const { apiKey: key, accountId } = await keyThatNames();
    const email = 'both@example.com';
    for (const name of ['one', 'other']) {
      await gateway.running.store.createMember({ accountId, name, email }, { by: TESTS });
    }
    return posted(HELLO, { 'x-gateway-member': email }, key);
  },
  member_ended: async () => {
    const { apiKey: key, accountId } = await keyThatNames();
    const { store } = gateway.running;
    const member = { accountId, name: 'Ada', externalId: 'ada' };
    const created = await store.createMember(member, { by: TESTS });
    if (created.outcome !== 'created') throw new Error(created.outcome);
    await store.endMember(created.record.id, TESTS);
    return posted(HELLO, { 'x-gateway-member': 'ada' }, key);
  },
  too_many_members: async () => {
    const { apiKey: key } = await keyThatNames('create');
    const members = { find: () => Promise.resolve(undefined), create: async () => 'too_many' };
    return withParts({ members }, () => posted(HELLO, { 'x-gateway-member': 'one more' }, key));
  },
  too_many_run_budgets: () => {
    const runBudgets = createRunBudgets({
      setRunBudget: () => Promise.resolve({ outcome: 'too_many' }),
    });
    const headers = { 'x-gateway-run': 'run-0001', 'x-gateway-run-budget': '1' };
    return withParts({ runBudgets }, () => posted(HELLO, headers));
  },
  over_balance: async () => {
    const { apiKey: key } = await strict.createKey({ balance_usd: '0.0001' });
    return eachFormat((post) => post(strict, key, HELLO));
  },

  // The gateway and its upstream
  gateway_failed: () => withParts({ bookOf: broken }, () => posted(HELLO)),
  ledger_unavailable: () =>
    withParts(storeWith({ charging: () => ({ fault: FAULT }) }), () => posted(HELLO)),
  charge_unconfirmed: () =>
    withParts(storeWith({ settleTogether: () => Promise.reject(FAULT) }), () => posted(HELLO)),
  prices_unavailable: () => withParts({ bookOf: () => ({ problem: 'lost' }) }, () => posted(HELLO)),
  kept_responses_unavailable: async () => {
    const { responses } = gateway.running.appParts;
    const memory = { recallResponses: () => Promise.reject(FAULT) };
    return withParts({ responses: { ...responses, memory } }, () =>
      POSTS.responses(gateway, apiKey, {
        ...HELLO,
        previous_response_id: `resp_${'a'.repeat(32)}`,
      }),
    );
  },
  memory_full: () => withParts(memoryThatIs('full'), () => posted(HELLO)),
  client_left: () => refusalOfConnectionError(new ClientGoneError()),
  upstream_refused_credential: () => scripted({ error: { type: 'authentication_error' } }),
  upstream_model_not_granted: () =>
    scripted({ error: { type: 'permission_error', message: 'no access grant for this model' } }),
  upstream_lacks_model: () => homeRefusal('messages'),
  upstream_lacks_token_counting: () => homeRefusal('count_tokens'),
  upstream_lacks_feature: featureRefusal,
  upstream_out_of_service: () => scripted({ status: 503, error: { type: 'billing_error' } }),
  upstream_out_of_service_for_long: () => scripted({ error: { type: 'billing_error' } }),
  upstream_overloaded: () => refusalOfConnectionError(new UpstreamBusyError(1_000, 'busy')),
  upstream_rate_limited: () => scripted({ error: { type: 'rate_limit_error' } }),
  upstream_body_too_large: () => scripted({ error: { type: 'request_too_large' } }),
  upstream_unreadable: () => scripted({ status: 500, body: '<html>' }),
  upstream_not_chargeable: () => scripted({ withoutUsage: true }),
  upstream_unreachable: () =>
    alone(UNREACHABLE, async (started) => {
      const key = await started.createKey();
      return POSTS.messages(started, key.apiKey, HELLO);
    }),
  upstream_timeout: () =>
    refusalOfConnectionError(Object.assign(new Error(), { code: 'UND_ERR_HEADERS_TIMEOUT' })),

  // Accounts and payments
  unknown_key_of_account: async () =>
    dashboard(`keys/key_${randomUUID()}`, { key: (await managed()).apiKey }),
  unknown_charge_of_holder: () => dashboard('usage/none'),
  unknown_payment: () => topUps('top-ups/none'),
  no_receipt: async () => {
    const { apiKey: key } = await strict.createKey();
    const headers = { 'idempotency-key': 'unpaid' };
    const body = { amount_usd: '20' };
    const started = await dashboard('top-ups', { of: strict, key, method: 'POST', headers, body });
    const { id: payment } = (await started.json()) as { readonly id: string };
    return dashboard(`top-ups/${payment}/receipt`, { of: strict, key });
  },
  several_charges: async () => {
    const usage = { input_tokens: 1, output_tokens: 1 };
    const message = { id: 'msg_twice', type: 'message', role: 'assistant', model: MODEL, usage };
    const body = JSON.stringify({ ...message, content: [], stop_reason: 'end_turn' });
    for (const _ of ['first', 'second']) {
      gateway.simulator.script({ body });
      await (await POSTS.messages(gateway, apiKey, HELLO)).text();
    }
    return dashboard('usage/msg_twice');
  },
  promo_code_refused: () =>
    dashboard('promo-codes', { method: 'POST', body: { code: 'NO-SUCH-CODE' } }),
  idempotency_key_used: async () => {
    const { apiKey: key } = await strict.createKey();
    const start = (amount_usd: string) =>
      dashboard('top-ups', {
        of: strict,
        key,
        method: 'POST',
        headers: { 'idempotency-key': 'one' },
        body: { amount_usd },
      });
    await (await start('20')).text();
    return start('21');
  },
  payment_provider_unavailable: async () => {
    stripe.setDown(true);
    const answer = await topUps('top-ups', { amount_usd: '20' });
    stripe.setDown(false);
    return answer;
  },
  payment_provider_refused: () =>
    alone(
      { ...PAYMENTS, STRIPE_API_URL: stripe.url, STRIPE_SECRET_KEY: 'sk_test_wrong' },
      async (of) =>
        dashboard('top-ups', {
          of,
          key: (await of.createKey()).apiKey,
          method: 'POST',
          headers: { 'idempotency-key': 'refused' },
          body: { amount_usd: '20' },
        }),
    ),
  notification_unsigned: () => notify('{}'),
  notification_of_other_mode: async () => {
    const { body, headers } = stripe.sign({ ...(await paidEvent()), livemode: true });
    return notify(body, headers['stripe-signature']);
  },
  notification_unreadable: async () => {
    const event = await paidEvent();
    const { body, headers } = stripe.sign({ ...event, data: { object: {} } });
    return notify(body, headers['stripe-signature']);
  },
  notification_not_booked: async () => {
    // One address may send sixteen at once.
    const slow = Array.from({ length: 16 }, () => connectTo(strict));
    for (const client of slow) {
      client.send('POST /webhooks/stripe HTTP/1.1\r\nhost: x\r\nstripe-signature: x\r\n');
      client.send('content-length: 9\r\n\r\n');
    }
    let answer = await notify('{}', 'x');
    while (answer.status !== 503) answer = await notify('{}', 'x');
    for (const { socket } of slow) socket.destroy();
    return answer;
  },
  notification_too_large: () => notify('x'.repeat(300_000), 't=1,v1=0'),

  // Operators and the command line
  wrong_token: async () => admin('/admin/keys', { headers: bearer('wrong') }),
  wrong_log_in: () => consolePost('session', { token: 'wrong' }),
  wrong_token_limit: () =>
    untilLimited(() => ask(`${strict.adminUrl}/admin/keys`, { headers: bearer('wrong') })),
  console_session_ended: () =>
    ask(`${gateway.adminUrl}/admin/keys`, { headers: { ...SAME_ORIGIN, cookie: 'console=gone' } }),
  console_link_needs_token: async () => {
    const opened = await consolePost('session', { token: ADMIN_TOKEN });
    const cookie = opened.headers.getSetCookie()[0]?.split(';', 1)[0] ?? '';
    return ask(`${gateway.adminUrl}/admin/console-links`, {
      method: 'POST',
      headers: { ...SAME_ORIGIN, cookie },
    });
  },
  console_link_used: async () => {
    const code = await consoleLink();
    await consolePost('link', { code });
    return consolePost('link', { code });
  },
  console_link_unknown: () => consolePost('link', { code: 'x' }),
  console_link_elsewhere: async () =>
    consolePost('link', { code: await consoleLink() }, { origin: 'https://console.example' }),
  console_needs_https: () =>
    consolePost('session', { token: ADMIN_TOKEN }, { origin: 'http://10.0.0.7:8081' }),
  other_page: () =>
    consolePost('session', { token: ADMIN_TOKEN }, { 'sec-fetch-site': 'cross-site' }),
  token_lacks_right: () =>
    admin('/admin/keys', { method: 'POST', headers: bearer(READER), body: { name: 'a' } }),
  unknown_admin_url: () => admin('/admin/nothing'),
  admin_failed: () => withGetKey(broken, () => admin(`/admin/keys/${id}`)),
  background_work_failed: () => {
    const fail = () => Promise.reject(new BackgroundWorkError('the work needed more memory'));
    return withGetKey(fail, () => admin(`/admin/keys/${id}`));
  },
  admin_body_unreadable: () => adminBody('{'),
  admin_body_too_large: () => adminBody(JSON.stringify('x'.repeat(300_000))),
  admin_body_encoded: () => adminBody('{}', { 'content-encoding': 'rot13' }),
  not_found: () => refusedOf(gateway.call('showKey', { key_id: `key_${randomUUID()}` })),
  payments_not_configured: () => refusedOf(gateway.call('listPayments', {})),
  month_not_over: () => refusedOf(gateway.call('closeBooks', { month: '2999-01' })),
  month_not_next: async () => {
    await gateway.call('closeBooks', { month: '2020-01' });
    return refusedOf(gateway.call('closeBooks', { month: '2020-03' }));
  },
  bookkeeping_not_configured: () => refusedOf(gateway.call('showJournal', { month: '2020-01' })),
  unknown_upstream_account: () =>
    refusedOf(gateway.call('reconcileProvider', { upstream: 'none', ...DAYS })),
  reports_not_configured: () => refusedOf(gateway.call('reconcileProvider', DAYS)),
  key_revoked: async () => {
    const key = await gateway.createKey();
    await gateway.call('revokeKey', { key_id: key.id });
    return refusedOf(gateway.call('resumeKey', { key_id: key.id }));
  },
  too_many_keys: async () => {
    const { first } = await twoKeys();
    const { account_id } = await gateway.call('showKey', { key_id: first.id });
    for (let keys = 2; keys < 100; keys += 1) {
      await gateway.createKey({ balance_usd: undefined, account_id });
    }
    return dashboard('keys', { method: 'POST', key: first.apiKey, body: { name: 'one more' } });
  },
  id_used: async () => {
    const topUp = (amount_usd: string) =>
      gateway.call('topUp', { key_id: id, top_up_id: 'errors', amount_usd });
    await topUp('1');
    return refusedOf(topUp('2'));
  },
  id_of_recorded_charge: async () => {
    const entry = { kind: 'charge' } as ChargeEntry;
    const store = { findEntries: () => Promise.resolve([entry]) };
    return (await usedId('top_up_id', 'topup:errors', store)).refusal;
  },
  external_id_taken: async () => {
    await gateway.createKey({ external_id: 'errors' });
    return refusedOf(gateway.createKey({ external_id: 'errors' }));
  },
  payment_request_used: async () => {
    const { account_id } = await startedPayment();
    const start = (amount_usd: string) =>
      strict.call('startPayment', { account_id, amount_usd, request_id: 'errors' });
    await start('20');
    return refusedOf(start('21'));
  },
  payment_not_paid: async () => {
    const { payment } = await startedPayment();
    const refund = { payment_id: payment.id, refund_id: 'one', amount_usd: '1' };
    return refusedOf(strict.call('refundPayment', refund));
  },
  refund_id_used: async () => {
    const { payment } = await startedPayment();
    payAt(payment.url);
    for (const event of stripe.events) {
      const { body, headers } = stripe.sign(event);
      await notify(body, headers['stripe-signature']);
    }
    const refund = (amount_usd: string) =>
      strict.call('refundPayment', { payment_id: payment.id, refund_id: 'one', amount_usd });
    await refund('1');
    return refusedOf(refund('2'));
  },
  payment_provider_failed: async () => {
    stripe.setDown(true);
    const refused = await refusedOf(startedPayment());
    stripe.setDown(false);
    return refused;
  },
  promo_code_exists: async () => {
    const create = () =>
      strict.call('createPromoCode', {
        code: 'CODE-OF-THE-ERRORS',
        amount_usd: '1',
        max_redemptions: 1,
      });
    await create();
    return refusedOf(create());
  },
  transfer_exceeds_balance: async () => {
    const [from, to] = [await gateway.createKey(), await gateway.createKey()];
    const accountOf = async (key_id: string) =>
      (await gateway.call('showKey', { key_id })).account_id;
    return refusedOf(
      gateway.call('transfer', {
        account_id: await accountOf(from.id),
        to_account_id: await accountOf(to.id),
        transfer_id: 'errors',
        amount_usd: '1000',
      }),
    );
  },
  ...onClosing(),
  other_audit_runs: () => {
    const audits = { start: () => Promise.resolve(undefined) };
    return refusedOf(runOperation('startAudit', {}, contextWith({ live: { audits } })));
  },
  account_full: () => {
    const store = { createMember: () => Promise.resolve({ outcome: 'too_many' }) };
    const input = { account_id: 'acct_full', name: 'one more' };
    return refusedOf(runOperation('createMember', input, contextWith({ store, by: TESTS })));
  },
  unfit_reserve: () => {
    const updateBudget = () => Promise.resolve('unfit_next');
    const input = { budget_id: 'bud_1', then: 'bud_1' };
    return refusedOf(runOperation('updateBudget', input, contextWith({ store: { updateBudget } })));
  },
  settings_changed_meanwhile: () => {
    const change = () => Promise.reject(new ConcurrentChangeError());
    const context = contextWith({ settingsDesk: { change } });
    return refusedOf(runOperation('changeSetting', { name: 'MODELS', value: null }, context));
  },
  reload_refused: () => {
    const reload = () => Promise.reject(new ConfigError(['PRICES: cannot be read']));
    return refusedOf(runOperation('reloadSettings', {}, contextWith({ settingsDesk: { reload } })));
  },
  upstream_key_needed: () => refusedOf(runOperation('compareModels', {}, contextWith({}))),
  audit_jobs_need_gateway: () => refusedOf(runOperation('startAudit', {}, contextWith({}))),
  upstream_models_unreadable: () =>
    alone(UNREACHABLE, ({ call }) => refusedOf(call('compareModels', {}))),
  provider_report_unreadable: () =>
    alone({ ...UNREACHABLE, ANTHROPIC_ADMIN_KEY: 'sk-ant-admin-wrong' }, ({ call }) =>
      refusedOf(call('reconcileProvider', DAYS)),
    ),
  no_console: () =>
    alone({ PAGES_DIR: 'none' }, (started) =>
      fetch(`${started.adminUrl}/admin/console-links`, {
        method: 'POST',
        headers: bearer(started.running.dataDir?.secret('admin-token') ?? ''),
      }),
    ),
  charges_need_confirmation: () => {
    const file = join(mkdtempSync(join(tmpdir(), 'errors-')), 'usages.jsonl');
    const usage = { input_tokens: 1, output_tokens: 1 };
    writeFileSync(file, JSON.stringify({ request_id: 'msg_1', key_id: id, model: MODEL, usage }));
    return printed(['ledger', 'recharge', '--witness', file]);
  },
  admin_port_unreachable: () =>
    refusedOf(createRemoteCaller({ url: 'http://127.0.0.1:1', token: 'x' })('listKeys', {})),
};

// Two parts of the catalogue had an entry of one name, and one replaced the other without a word.
it('each name of the catalogue is in one of its sections only', () => {
  const names = Object.values(SECTIONS).flatMap((section) => Object.keys(section));
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
});

describe('an error of the catalogue has the status, type, code, sentence and headers of its entry', () => {
  it.each(Object.entries(PROVOKED))('%s', async (name, provoke) => {
    const given = await provoke();
    const answers = given instanceof Array ? given : [given];
    expect(answers).not.toEqual([]);
    for (const answer of answers) {
      const entry: ErrorEntry = CATALOGUE[name as ErrorName];
      if (answer instanceof Response) await expectAnswer(answer, entry);
      else if ('exitCode' in answer) {
        const exitCode = entry.status >= 500 ? 3 : 1;
        expect(answer).toEqual({ message: matching(entry), exitCode });
      } else expect(answer).toMatchObject(refusalLike(entry));
    }
  });

  it.each(Object.entries<Unprovoked>(NOT_PROVOKED))(
    '%s, by another test',
    (name, { test, words }) => {
      if (test === undefined || words === undefined) return;
      expect(CATALOGUE[name as ErrorName].sentence).toContain(words);
      expect(readFileSync(join(__dirname, '..', test), 'utf8')).toContain(words);
    },
  );
});

it('no two errors have one name', () => {
  const names = Object.values(SECTIONS).flatMap((entries) => Object.keys(entries));
  expect(new Set(names).size).toBe(names.length);
});

async function expectAnswer(answer: Response, entry: ErrorEntry): Promise<void> {
  const { status, type, code = null, errorCode, retry } = entry;
  const { error } = (await answer.json()) as {
    readonly error: {
      readonly type: string;
      readonly message: string;
      readonly code?: string | null;
      readonly details?: { readonly error_code: string };
    };
  };
  expect([error.message, answer.status, error.type]).toEqual([matching(entry), status, type]);
  if ('code' in error) expect(error.code).toBe(code);
  expect(error.details?.error_code).toBe(errorCode);
  expect(answer.headers.get('retry-after')).toEqual(
    typeof retry === 'number' ? String(retry) : retry === 'wait' ? expect.any(String) : null,
  );
  const isFinal = status >= 400 && status < 500 && ![408, 409, 429].includes(status);
  expect(answer.headers.get('x-should-retry')).toBe(
    retry === 'no' ? 'false' : typeof retry === 'number' && isFinal ? 'true' : null,
  );
}

/** What an operation, or the start of a response, is refused with. */
function refusalLike(entry: ErrorEntry) {
  const { status, type } = entry;
  return { status, type, message: matching(entry) };
}

function matching({ sentence }: ErrorEntry): unknown {
  const literal = sentence
    .split(/\{\w+\}/)
    .map((text) => text.replace(/[$()*+.?[\\\]^{|}]/g, '\\$&'));
  return expect.stringMatching(new RegExp(`^${literal.join('[^]*')}$`));
}
