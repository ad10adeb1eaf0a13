/** The OpenAPI documents agree with the routes and with their responses. */

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { settlement } from '@gateway/balance-store/testing';
import { startStripeSimulator } from '@gateway/payments/testing';
import type { StripeSimulator } from '@gateway/payments/testing';
import { startUpstreamSimulator } from '@gateway/upstream-simulator';
import type { UpstreamSimulator } from '@gateway/upstream-simulator';
import type { Endpoint } from '../../src/endpoints/endpoint.js';
import { viewFor, membersFrom } from '../../src/endpoints/resource.js';
import type { Member } from '../../src/endpoints/resource.js';
import { error } from '../../src/endpoints/schemas.js';
import { accountMembers } from '../../src/endpoints/schemas/accounts.js';
import {
  bookingMembers,
  chargeMembers,
  creditMembers,
  usageMembers,
} from '../../src/endpoints/schemas/entries.js';
import { keyMembers } from '../../src/endpoints/schemas/keys.js';
import { eventMembers } from '../../src/endpoints/schemas/ledger.js';
import { priceMembers } from '../../src/endpoints/schemas/models.js';
import { moneyMembers } from '../../src/endpoints/schemas/payments.js';
import { requestMembers } from '../../src/endpoints/schemas/requests.js';
import {
  budgetMembers,
  groupMembers,
  memberMembers,
  raiseMembers,
} from '../../src/endpoints/schemas/spenders.js';
import { openApiDocument } from '../../src/openapi/document.js';
import { ENDPOINTS } from '../../src/openapi/endpoints.js';
import { operations } from '../../src/operator/operations/operations.js';
import type { OperationInput, OperationName } from '../../src/operator/operations/operations.js';
import { createApp } from '../../src/process/app.js';
import {
  MODEL,
  postChat,
  postMessages,
  postResponses,
  startTestGateway,
  userMessage,
} from '../support/gateway.js';
import type { TestGateway } from '../support/gateway.js';

const ADMIN_TOKEN = 'admin-token-of-the-tests';
/** Every side that these tests move money between. */
const BOOKS_ACCOUNTS = {
  accounts: Object.fromEntries(
    'balance:paid balance:given revenue redeemed given refunds corrections transfers tax fees cash:manual cash:stripe bad_debt breakage'
      .split(' ')
      .map((side, index) => [side, String(1_000 + index)]),
  ),
};

let gateway: TestGateway;
let stripe: StripeSimulator;
/** This simulator has served no request, so its reports differ from the ledger. */
let provider: UpstreamSimulator;
beforeAll(async () => {
  const [secretKey, webhookSecret] = ['sk_test_of_the_document', 'whsec_of_the_document'];
  stripe = await startStripeSimulator({ secretKey, webhookSecret });
  provider = await startUpstreamSimulator();
  gateway = await startTestGateway({
    env: {
      ADMIN_TOKEN,
      STRIPE_SECRET_KEY: secretKey,
      STRIPE_WEBHOOK_SECRET: webhookSecret,
      STRIPE_API_URL: stripe.url,
      PUBLIC_URL: 'https://gateway.example',
      ANTHROPIC_ADMIN_KEY: 'sk-ant-admin-of-the-document',
      ANTHROPIC_ADMIN_URL: provider.url,
      BOOKS_ACCOUNTS: JSON.stringify(BOOKS_ACCOUNTS),
    },
  });
});
afterAll(async () => {
  await gateway.stop();
  await stripe.close();
  await provider.close();
});

/** Pays on the page of a payment, and notifies the gateway. */
async function pay(
  url: string | null | undefined,
  as?: { readonly amountCents: number; readonly currency: string },
): Promise<Response> {
  stripe.pay(new URL(url ?? '').pathname.split('/').at(-1) ?? '', as === undefined ? {} : { as });
  const paid = stripe.events.findLast(({ type }) => type === 'checkout.session.completed');
  if (paid === undefined) throw new Error('nothing was paid');
  const { body, headers } = stripe.sign(paid);
  return fetch(`${gateway.url}/webhooks/stripe`, { method: 'POST', body, headers });
}

const namesOf = (endpoints: readonly Endpoint[]): readonly string[] =>
  endpoints.map(({ method, path }) => `${method} ${path}`).sort();

/** The part of a layer of Express's router that is used here. */
interface Layer {
  readonly route?: {
    readonly path: string;
    readonly stack: readonly { readonly method: string | undefined }[];
  };
}

describe('the OpenAPI document for clients', () => {
  it('has each route once, and nothing else', () => {
    const { stack } = createApp(gateway.running.appParts).router as unknown as {
      readonly stack: readonly Layer[];
    };
    const routes = stack.flatMap(({ route }) =>
      (route?.stack ?? [])
        // The other methods are refused with 405.
        .filter(({ method }) => method !== undefined)
        .map(({ method }) => `${method ?? ''} ${route?.path ?? ''}`),
    );
    expect(namesOf(ENDPOINTS.client)).toEqual([...new Set(routes)].sort());
  });
});

describe('the OpenAPI document for operators', () => {
  it('has each operation once', () => {
    const described = namesOf(ENDPOINTS.admin).filter((name) => name.includes(' /admin/'));
    const known = Object.values(operations).map(({ method, path }) => `${method} ${path}`);
    const others = ['post /admin/console-links'];
    expect(described).toEqual([...known, ...others].sort());
  });
});

describe('the OpenAPI documents', () => {
  it('are served to everyone, each on its port', async () => {
    for (const [base, port] of [
      [gateway.url, 'client'],
      [gateway.adminUrl, 'admin'],
    ] as const) {
      const response = await fetch(`${base}/openapi.json`);
      expect(response.status).toBe(200);
      expect(await response.json()).toEqual(
        JSON.parse(JSON.stringify(openApiDocument(port, ENDPOINTS[port]))),
      );
    }
  });

  it('have examples that their schemas accept', () => {
    let examples = 0;
    function visit(value: unknown): void {
      if (typeof value !== 'object' || value === null) return;
      if ('examples' in value && Array.isArray(value.examples)) {
        const schema = z.fromJSONSchema({ ...value, examples: value.examples });
        for (const example of value.examples) {
          check(JSON.stringify(example), schema, example);
          examples += 1;
        }
      }
      for (const member of Object.values(value)) visit(member);
    }
    for (const port of ['client', 'admin'] as const) visit(openApiDocument(port, ENDPOINTS[port]));
    expect(examples).toBeGreaterThan(1);
  });

  it('name each endpoint once, and refer to nothing that is missing', () => {
    for (const [port, endpoints] of [
      ['client', ENDPOINTS.client],
      ['admin', ENDPOINTS.admin],
    ] as const) {
      const ids = endpoints.map(({ id }) => id);
      expect(new Set(ids).size).toBe(ids.length);
      const document = openApiDocument(port, ENDPOINTS[port]);
      const text = JSON.stringify(document);
      const references = [...text.matchAll(/"\$ref":"#\/components\/(\w+)\/(\w+)"/g)];
      expect(references.length).toBeGreaterThan(20);
      for (const [, group = '', name = ''] of references) {
        const named = document.components as Readonly<Record<string, object>>;
        expect(Object.keys(named[group] ?? {})).toContain(name);
      }
      expect(text).not.toContain('$defs');
    }
  });

  it('state the limits that the routes check', () => {
    const { paths } = openApiDocument('admin', ENDPOINTS.admin);
    const list = paths['/admin/keys']?.['get'] as {
      readonly parameters: readonly { readonly name: string; readonly schema: object }[];
    };
    expect(list.parameters.find(({ name }) => name === 'limit')?.schema).toEqual({
      type: 'integer',
      minimum: 1,
      maximum: 1_000,
      default: 100,
    });
    const topUp = paths['/admin/keys/{key_id}/top-ups']?.['post'] as {
      readonly requestBody: {
        readonly content: {
          readonly 'application/json': { readonly schema: { readonly required: string[] } };
        };
      };
    };
    expect(topUp.requestBody.content['application/json'].schema.required).toEqual([
      'top_up_id',
      'amount_usd',
    ]);
  });
});

/** Strict: fails if a member is missing, or if a member is not described. */
function check(name: string, schema: z.ZodType, answer: unknown): void {
  const parsed = schema.safeParse(answer);
  expect([name, parsed.error?.issues ?? []]).toEqual([name, []]);
}

/** The members of each resource that only operators may see, by the value of `object`. */
const OF_OPERATORS = new Map<string, string[]>();
for (const members of [
  accountMembers,
  bookingMembers,
  budgetMembers,
  chargeMembers,
  creditMembers,
  eventMembers,
  groupMembers,
  keyMembers,
  memberMembers,
  moneyMembers,
  priceMembers,
  raiseMembers,
  requestMembers,
  usageMembers,
]) {
  const object = members.object.schema.value;
  const hidden = Object.entries(members).filter(([, { seenBy }]) => seenBy === 'operators');
  const known = OF_OPERATORS.get(object) ?? [];
  OF_OPERATORS.set(object, [...known, ...hidden.map(([name]) => name)]);
}

/** The members in an answer that its reader may not see. */
function unseenIn(answer: unknown): readonly string[] {
  if (typeof answer !== 'object' || answer === null) return [];
  const { object } = answer as { readonly object?: string };
  const unseen = OF_OPERATORS.get(object ?? '') ?? [];
  return [
    ...unseen.filter((name) => name in answer).map((name) => `${object ?? ''}.${name}`),
    ...Object.values(answer).flatMap(unseenIn),
  ];
}

it('a resource sends its readers only what its table says that they may see', () => {
  // Compiles only while a member that does not say who may see it is none.
  const mustBeStated: Omit<Member, 'seenBy'> extends Member ? never : true = true;
  expect(mustBeStated).toBe(true);
  const seenBy = membersFrom<number>();
  const members = {
    double: seenBy.everyone(z.number(), (value) => 2 * value),
    secret: seenBy.operators(z.number(), (value) => value),
    own: seenBy.holders(z.number().exactOptional(), (value) => (value > 1 ? value : undefined)),
  };
  const operators = viewFor('operators', members, { id: 'A' });
  const holders = viewFor('holders', members, { id: 'B' });
  expect(operators.view(1)).toEqual({ double: 2, secret: 1 });
  expect(Object.keys(holders.view(1))).toEqual(['double']);
  expect(holders.view(2)).toEqual({ double: 4, own: 2 });
  expect(Object.keys(operators.schema.shape)).toEqual(['double', 'secret']);
  expect(Object.keys(holders.schema.shape)).toEqual(['double', 'own']);
});

describe('a method that an endpoint does not have', () => {
  it('is refused with 405, naming the methods that the endpoint has', async () => {
    for (const [base, path, method, allow] of [
      [gateway.url, '/v1/dashboard/keys', 'DELETE', 'GET, HEAD, POST'],
      [gateway.url, '/v1/dashboard/keys/key_1', 'PUT', 'GET, HEAD, PATCH'],
      [gateway.url, '/v1/dashboard/keys/key_1/rotate', 'GET', 'POST'],
      [gateway.adminUrl, '/admin/keys', 'DELETE', 'POST, GET, HEAD'],
      [gateway.adminUrl, '/admin/keys/find', 'GET', 'POST'],
      [gateway.adminUrl, '/admin/keys/key_1', 'DELETE', 'GET, HEAD, PATCH'],
      [gateway.adminUrl, '/console/session', 'PUT', 'GET, HEAD, POST, DELETE'],
      [gateway.adminUrl, '/readyz', 'POST', 'GET, HEAD'],
    ] as const) {
      const response = await fetch(base + path, {
        method,
        headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
      });
      const answered = [path, response.status, response.headers.get('allow')];
      expect(answered).toEqual([path, 405, allow]);
    }
  });
});

describe('what the gateway answers', () => {
  it('to operators has the shape that the document states', async () => {
    const seen = new Set<OperationName>();
    async function call<Name extends OperationName>(name: Name, input: OperationInput<Name>) {
      const answer = await gateway.call(name, input);
      check(name, operations[name].output, answer);
      seen.add(name);
      return answer;
    }
    const key = await call('createKey', {
      name: 'one',
      balance_usd: '10',
      models: [MODEL],
      metadata: { plan: 'pro' },
      cap_day_usd: '5',
      expires_at: '2099-01-01T00:00:00Z',
      idempotency_key: 'openapi',
    });
    await call('createKey', {
      name: 'one',
      balance_usd: '10',
      models: [MODEL],
      metadata: { plan: 'pro' },
      cap_day_usd: '5',
      expires_at: '2099-01-01T00:00:00Z',
      idempotency_key: 'openapi',
    });
    const key_id = key.id;
    const { account_id } = key;
    const other = await call('createAccount', { name: 'two', low_balance_usd: '9' });
    const response = await postMessages(gateway, key.api_key ?? '', userMessage('Hello'));
    const request_id = response.headers.get('x-gateway-request-id') ?? '';
    await response.text();
    await call('topUp', { key_id, top_up_id: 'o-1', amount_usd: '1', note: 'by hand' });
    await call('topUpAccount', {
      account_id,
      top_up_id: 'o-2',
      amount_usd: '1',
      source: 'promotional',
      expires_at: '2099-01-01T00:00:00Z',
    });
    await call('adjustBalance', {
      account_id,
      adjustment_id: 'o-3',
      amount_usd: '-1',
      reason: 'refund',
      reference: 'invoice 7',
    });
    await call('transfer', {
      account_id,
      to_account_id: other.id,
      transfer_id: 'o-4',
      amount_usd: '1',
    });
    const month = new Date().toISOString().slice(0, 7);
    const range = { from: '2020-01-01T00:00:00Z', until: '2099-01-01T00:00:00Z' };
    const today = Math.floor(Date.now() / 86_400_000) * 86_400_000;
    const week = {
      from: new Date(today - 6 * 86_400_000).toISOString(),
      until: new Date(today + 86_400_000).toISOString(),
    };
    await call('listKeys', {});
    await call('showKey', { key_id });
    await call('findKey', { api_key: key.api_key ?? '' });
    await call('updateKey', { key_id, scope: 'manage' });
    await call('createLink', { key_id });
    await call('createKeyLink', { key_id });
    await call('rotateKey', { key_id, grace_seconds: 60 });
    await call('suspendKey', { key_id });
    await call('resumeKey', { key_id });
    await call('listAccounts', {});
    await call('showAccount', { account_id });
    await call('updateAccount', { account_id, name: 'three' });
    await call('showStatement', { account_id, month });
    await call('showBooks', { month });
    await call('listLedger', {});
    await call('showEntry', { entry_id: request_id });
    await call('listUsage', { ...range, by: 'hour,model,account,key,endpoint' });
    await call('listUsage', { ...range, by: 'day' });
    await call('listRequests', { limit: 1 });
    await call('sumRequests', { by: 'key,status,error,upstream', every: 'hour' });
    await call('sumRequests', { by: 'client,session' });
    await call('breakDown', { ...week, by: 'upstream', top: 1 });
    await call('auditLedger', {});
    const job = await call('startAudit', {});
    await call('showAudit', { audit_id: job.id });
    await call('listAudits', {});
    await call('showRequest', { request_id });
    await call('showToday', {});
    await call('showSettings', {});
    await call('reloadSettings', {});
    await call('changeSetting', { name: 'KEY_BURST', value: '50' });
    await call('showHome', {});
    await call('compareWitness', {
      usages: [
        {
          request_id,
          input_tokens: 1,
          output_tokens: 1,
          cache_read_input_tokens: 0,
          cache_creation_input_tokens: 0,
        },
      ],
    });
    const hold = { requestId: 'req_held', keyId: key_id, amount: 1n };
    expect((await gateway.running.store.placeHold(hold)).outcome).toBe('held');
    await call('listHolds', { state: 'live' });
    gateway.running.store.releaseHold('req_held');
    await call('listEvents', {});
    await call('listTrail', {});
    const { id: group_id } = await call('createGroup', { account_id, name: 'course' });
    await call('listGroups', { account_id });
    await call('showGroup', { group_id });
    await call('updateGroup', { group_id, metadata: { cost_centre: '17' } });
    const ofGroup = { account_id, group_id };
    const { id: member_id } = await call('createMember', { ...ofGroup, name: 'Ada' });
    await call('listMembers', ofGroup);
    await call('showMember', { member_id });
    await call('updateMember', { member_id, email: 'ada@example.com' });
    const names_members = { unknown: 'create', group_id } as const;
    await call('updateKey', { key_id, member_id, names_members });
    const terms = { scope: 'member', period: 'month', amount_usd: '20' } as const;
    const { id: budget_id } = await call('createBudget', { account_id, name: 'each', ...terms });
    const spender = { memberId: member_id, groups: `/${group_id}/`, tag: 'build', run: '1' };
    await gateway.running.store.settle(
      { ...settlement(key_id, { requestId: 'req_spent' }), spender },
      { deadlineMs: 20_000 },
    );
    expect(await call('showEntry', { entry_id: 'req_spent' })).toMatchObject({ member_id });
    await call('raiseBudget', { budget_id, amount_usd: '5', until: '2099-01-01T00:00:00Z' });
    expect((await call('showBudget', { budget_id })).uses).toHaveLength(1);
    await call('listBudgets', { account_id });
    await call('updateBudget', { budget_id, action: 'notify' });
    await call('endBudget', { budget_id });
    await call('updateKey', { key_id, member_id: null, names_members: null });
    await call('endMember', { member_id });
    await call('listModels', {});
    await call('compareModels', {});
    const started = await call('startPayment', { account_id, amount_usd: '20', request_id: 'o-5' });
    expect((await pay(started.url)).status).toBe(200);
    const payment_id = started.id;
    await call('showPayment', { payment_id });
    await call('refundPayment', { payment_id, refund_id: 'o-6', amount_usd: '5' });
    await call('listPayments', {});
    const foreign = await call('startPayment', { account_id, amount_usd: '5', request_id: 'o-7' });
    await pay(foreign.url, { amountCents: 460, currency: 'eur' });
    const { data: waiting } = await call('listUnbookedPayments', {});
    await call('bookPayment', { reference: waiting[0]?.reference ?? '', usd_rate: '1.08' });
    await call('reconcilePayments', {
      from: new Date(Date.now() - 60_000).toISOString(),
      until: new Date(Date.now() + 60_000).toISOString(),
    });
    await call('showAutoTopUp', { account_id });
    await call('cancelAutoTopUp', { account_id });
    await call('createPromoCode', { code: 'WELCOME-2026', amount_usd: '1', max_redemptions: 9 });
    await call('listPromoCodes', {});
    await call('rechargeUsages', {
      charges: [
        {
          request_id: 'req_lost',
          key_id,
          model: MODEL,
          input_tokens: 1,
          output_tokens: 1,
          cache_read_input_tokens: 0,
          cache_creation_input_tokens: 0,
        },
        {
          request_id,
          key_id,
          model: 'nothing',
          input_tokens: 1,
          output_tokens: 1,
          cache_read_input_tokens: 0,
          cache_creation_input_tokens: 0,
        },
      ],
    });
    await call('reverseEntry', { account_id, reversal_id: 'o-9', reverses: 'adjustment:o-3' });
    await call('revokeKey', { key_id });
    await call('suspendAccount', { account_id });
    await call('resumeAccount', { account_id });
    const closing = {
      account_id,
      reason: 'the end',
      rest: 'breakage',
      write_off_debt: true,
    } as const;
    await call('closeAccount', { ...closing, closing_id: 'o-10' });
    await call('reopenAccount', { account_id, reason: 'by mistake' });
    await call('closeAccount', { ...closing, closing_id: 'o-11' });
    await call('eraseAccount', { account_id });
    await call('listTrail', {});
    await call('listLedger', {});
    const day = (ms: number): string => new Date(ms).toISOString().slice(0, 10);
    const days = { from: day(Date.now()), until: day(Date.now() + 86_400_000) };
    const ofToday = { month: days.from.slice(0, 7) };
    expect((await call('showJournal', ofToday)).lines).not.toEqual([]);
    expect((await call('showFocus', ofToday)).rows).not.toEqual([]);
    expect((await call('showChargeback', { day: '2020-01-01' })).rows).toEqual([]);
    await call('closeBooks', { month: '2020-01' });
    expect(await call('verifyBooks', { month: '2020-01' })).toMatchObject({ is_as_closed: true });
    const { differences } = await call('reconcileProvider', days);
    expect(differences).not.toEqual([]);
    expect([...seen].sort()).toEqual(Object.keys(operations).sort());
  });

  // F455: a member is added to what operators see of a resource: no holder is sent it, unless its
  // table says so.
  it('to clients has the shape that the document states, and nothing that operators only may see', async () => {
    const endpoint = (id: string): z.ZodType => {
      const found = ENDPOINTS.client.find((known) => known.id === id);
      if (found?.result === undefined) throw new Error(`nothing describes ${id}`);
      return found.result;
    };
    const seen = new Set(['getOpenApi']);
    const { id: ownId, apiKey } = await gateway.createKey({
      scope: 'manage',
      external_id: 'unseen-key',
      account_external_id: 'unseen-account',
    });
    const note = { note: 'unseen-note', reference: 'order 7' };
    await gateway.call('topUp', { key_id: ownId, top_up_id: 'o-8', amount_usd: '1', ...note });
    interface Init {
      readonly method?: string;
      readonly body?: unknown;
      readonly headers?: Readonly<Record<string, string>>;
    }
    async function call(id: string, path: string, init: Init = {}) {
      const response = await fetch(gateway.url + path, {
        method: init.method ?? (init.body === undefined ? 'GET' : 'POST'),
        headers: {
          authorization: `Bearer ${apiKey}`,
          'content-type': 'application/json',
          ...init.headers,
        },
        ...(init.body === undefined ? {} : { body: JSON.stringify(init.body) }),
      });
      const answer: unknown = await response.json();
      expect([id, response.status]).toEqual([id, 200]);
      check(id, endpoint(id), answer);
      expect([id, unseenIn(answer)]).toEqual([id, []]);
      expect(JSON.stringify(answer)).not.toContain('unseen');
      seen.add(id);
      return answer as Readonly<Record<string, string>>;
    }
    const sent = [
      ['createMessage', postMessages],
      ['createChatCompletion', postChat],
      ['createResponse', postResponses],
    ] as const;
    let [requestId, responseId] = ['', ''];
    for (const [id, post] of sent) {
      const response = await post(gateway, apiKey, userMessage('Hello'));
      requestId = response.headers.get('x-gateway-request-id') ?? '';
      const answer = (await response.json()) as { readonly id: string };
      check(id, endpoint(id), answer);
      seen.add(id);
      if (id === 'createResponse') responseId = answer.id;
    }
    await call('getResponse', `/v1/responses/${responseId}`);
    await call('deleteResponse', `/v1/responses/${responseId}`, { method: 'DELETE' });
    const counted = await fetch(`${gateway.url}/v1/messages/count_tokens`, {
      method: 'POST',
      headers: {
        'x-api-key': apiKey,
        'anthropic-version': '2023-06-01',
        'content-type': 'application/json',
      },
      body: JSON.stringify({ model: MODEL, messages: [{ role: 'user', content: 'Hello' }] }),
    });
    check('countTokens', endpoint('countTokens'), await counted.json());
    seen.add('countTokens');
    const input = { model: MODEL, input: 'Hello' };
    await call('countInputTokens', '/v1/responses/input_tokens', { body: input });
    await call('describeGateway', '/');
    await call('isAlive', '/healthz');
    await call('isReady', '/readyz');
    await call('listModels', '/v1/models');
    await call('listModels', '/v1/models?client_version=0.171.0');
    await call('getModel', `/v1/models/${MODEL}`);
    await call('getAccount', '/v1/dashboard/account');
    await call('getBalance', '/v1/dashboard/balance');
    await call('listUsage', '/v1/dashboard/usage?kind=all');
    await call('sumUsage', '/v1/dashboard/usage/summary?by=day,model,key');
    await call('listRequests', '/v1/dashboard/requests?limit=1');
    await call('sumRequests', '/v1/dashboard/requests/summary?by=model&every=day');
    await call(
      'getBreakdown',
      `/v1/dashboard/breakdown?by=key&from=2026-01-01T00:00:00Z&until=2026-02-01T00:00:00Z`,
    );
    await call('getUsage', `/v1/dashboard/usage/${requestId}`);
    await call('listPrices', '/v1/dashboard/prices');
    const month = new Date().toISOString().slice(0, 7);
    await call('getStatement', `/v1/dashboard/statement?month=${month}`);
    await call('createLink', '/v1/dashboard/links', { body: {} });
    const shown = await gateway.createKey();
    const { link } = await gateway.call('createKeyLink', { key_id: shown.id });
    const authorization = `Bearer ${link}`;
    await call('openKeyLink', '/v1/dashboard/key-link', {
      method: 'POST',
      headers: { authorization },
    });
    const { id } = await call('createKey', '/v1/dashboard/keys', { body: { name: 'member' } });
    const path = `/v1/dashboard/keys/${id ?? ''}`;
    await call('listKeys', '/v1/dashboard/keys');
    await call('getKey', path);
    await call('updateKey', path, { method: 'PATCH', body: { name: 'other' } });
    for (const act of ['rotate', 'suspend', 'resume', 'revoke']) {
      await call(`${act}Key`, `${path}/${act}`, { body: {} });
    }
    const { id: group_id } = await call('createGroup', '/v1/dashboard/groups', {
      body: { name: 'course' },
    });
    const { id: memberId } = await call('createMember', '/v1/dashboard/members', {
      body: { name: 'Ada', group_id },
    });
    const { id: budgetId } = await call('createBudget', '/v1/dashboard/budgets', {
      body: {
        name: 'each',
        scope: 'member',
        within_group: group_id,
        period: 'day',
        amount_usd: '5',
      },
    });
    for (const [what, ofOne, change] of [
      ['Group', `/v1/dashboard/groups/${group_id ?? ''}`, { name: 'other' }],
      ['Member', `/v1/dashboard/members/${memberId ?? ''}`, { email: 'ada@example.com' }],
      ['Budget', `/v1/dashboard/budgets/${budgetId ?? ''}`, { amount_usd: '6' }],
    ] as const) {
      const list = ofOne.slice(0, ofOne.lastIndexOf('/'));
      await call(`list${what}s`, what === 'Budget' ? list : `${list}?with=budgets`);
      await call(`get${what}`, ofOne);
      await call(`update${what}`, ofOne, { method: 'PATCH', body: change });
    }
    const raise = { amount_usd: '5', until: '2099-01-01T00:00:00Z' };
    const ofBudget = `/v1/dashboard/budgets/${budgetId ?? ''}`;
    await call('raiseBudget', `${ofBudget}/raises`, { body: raise });
    await call('endBudget', `${ofBudget}/end`, { body: {} });
    await call('endMember', `/v1/dashboard/members/${memberId ?? ''}/end`, { body: {} });
    const topUps = '/v1/dashboard/top-ups';
    const started = await call('startTopUp', topUps, {
      body: { amount_usd: '20' },
      headers: { 'idempotency-key': 'o-7' },
    });
    const notified = await pay(started['url']);
    check('takeStripeNotification', endpoint('takeStripeNotification'), await notified.json());
    seen.add('takeStripeNotification');
    await call('listTopUps', topUps);
    await call('getTopUp', `${topUps}/${started['id'] ?? ''}`);
    await call('getReceipt', `${topUps}/${started['id'] ?? ''}/receipt`);
    await call('orderAutoTopUp', '/v1/dashboard/auto-top-up', {
      method: 'PUT',
      body: { threshold_usd: '1', amount_usd: '20', max_per_day: 1, max_per_month_usd: '40' },
    });
    await call('getAutoTopUp', '/v1/dashboard/auto-top-up');
    await call('cancelAutoTopUp', '/v1/dashboard/auto-top-up', { method: 'DELETE' });
    const code = 'OF-THE-DOCUMENT';
    await gateway.call('createPromoCode', { code, amount_usd: '1', max_redemptions: 1 });
    await call('getNotices', '/v1/dashboard/notices');
    await call('setNotices', '/v1/dashboard/notices', { method: 'PUT', body: { shares: [80] } });
    await call('startPageSession', '/v1/dashboard/session', { method: 'POST' });
    await call('showPageSession', '/v1/dashboard/session');
    await call('endPageSession', '/v1/dashboard/session', { method: 'DELETE' });
    await call('redeemPromoCode', '/v1/dashboard/promo-codes', { body: { code } });
    expect([...seen].sort()).toEqual(ENDPOINTS.client.map((known) => known.id).sort());
  });

  it('to a refused request is an error of the shape that the document states', async () => {
    for (const [base, path] of [
      [gateway.url, '/v1/dashboard/balance'],
      [gateway.url, '/v1/messages'],
      [gateway.url, '/v1/nothing'],
      [gateway.adminUrl, '/admin/keys'],
      [gateway.adminUrl, '/console/session'],
    ] as const) {
      const response = await fetch(base + path);
      expect(response.status).toBeGreaterThanOrEqual(400);
      check(path, error, await response.json());
    }
  });

  it('to a log-in has the shape that the document states', async () => {
    const response = await fetch(`${gateway.adminUrl}/console/session`, {
      method: 'POST',
      headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
    });
    const logIn = ENDPOINTS.admin.find(({ id }) => id === 'logIn');
    if (logIn?.result === undefined) throw new Error('nothing describes the log-in');
    check('logIn', logIn.result, await response.json());
  });
});
