/** What budgets allow, without holds and with `OVERDRAFT=none`. On both ledgers. */

import { request } from 'node:http';
import type { ClientRequest } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { formatUsd, parseUsd } from '@gateway/billing';
import type { BalanceStore, BudgetRecord, MemberRecord, NewBudget } from '@gateway/balance-store';
import { usePostgresServer } from '../../../../packages/balance-store/test/postgres-server.js';
import type { PostgresServer } from '../../../../packages/balance-store/test/postgres-server.js';
import { createHoldLine } from '../../src/exchange/spending/hold-line.js';
import { created } from '../support/created.js';
import {
  ENDPOINTS,
  PATHS,
  POSTS,
  bodyFor,
  postMessages,
  startTestGateway,
  userMessage,
} from '../support/gateway.js';
import type { TestGateway } from '../support/gateway.js';
import { ledgerEnv } from '../support/ledger-env.js';
import { until } from '../support/until.js';

const BY = { name: 'tests' };

let postgres: PostgresServer;
beforeAll(async () => {
  postgres = await usePostgresServer();
});
afterAll(() => postgres.stop());

/** The operations of one gateway's tests. */
function accountsOf(gateway: TestGateway) {
  const { store } = gateway.running;
  const keyOf = async (input?: Parameters<TestGateway['createKey']>[0]) => {
    const key = await gateway.createKey(input);
    return { ...key, accountId: (await store.getKey(key.id))!.accountId };
  };
  const memberOf = async (member: Parameters<BalanceStore['createMember']>[0]) =>
    created<MemberRecord>(await store.createMember(member, { by: BY }));
  const budgetOf = async (budget: Omit<NewBudget, 'period' | 'amount'> & Partial<NewBudget>) =>
    created<BudgetRecord>(
      await store.createBudget({ period: 'month', amount: 0n, ...budget }, { by: BY }),
    );
  const usedOf = async ({ id }: BudgetRecord) =>
    (await store.listBudgetUses(id, 10)).reduce((sum, { used }) => sum + used, 0n);
  return { store, keyOf, memberOf, budgetOf, usedOf };
}

describe.each(['embedded', 'PostgreSQL'] as const)('on the %s ledger, without holds', (ledger) => {
  let gateway: TestGateway;
  let accounts: ReturnType<typeof accountsOf>;
  beforeAll(async () => {
    gateway = await startTestGateway({
      env: { TAG_METADATA_MEMBER: 'user_id', ...(await ledgerEnv(ledger, postgres)) },
    });
    accounts = accountsOf(gateway);
  });
  afterAll(() => gateway.stop());
  beforeEach(() => {
    gateway.simulator.reset();
  });

  type Sent = Readonly<Record<string, unknown>> & { readonly headers?: Record<string, string> };
  async function send(
    apiKey: string,
    { headers = {}, ...more }: Sent = {},
    endpoint: keyof typeof PATHS = 'messages',
  ) {
    const body = bodyFor(PATHS[endpoint], userMessage('Hello', more));
    const response = await POSTS[endpoint](gateway, apiKey, body, headers);
    const text = await response.text();
    return {
      status: response.status,
      retry: response.headers.get('x-should-retry'),
      message: response.ok ? '' : String(JSON.parse(text).error.message),
    };
  }

  it.each(ENDPOINTS)(
    'a budget that is used up refuses, and says whose it is, how much, until when and whom to ask (%s)',
    async (endpoint) => {
      const { store, keyOf, memberOf, budgetOf, usedOf } = accounts;
      const { id, apiKey, accountId } = await keyOf();
      const parent = { accountId, name: 'Chair of Databases' };
      const group = created(await store.createGroup(parent, { by: BY }));
      const ada = await memberOf({ accountId, name: 'Ada', groupId: group.id });
      await store.updateKey(id, { memberId: ada.id });
      const budget = await budgetOf({
        accountId,
        name: 'Term',
        scope: 'group',
        subject: group.id,
        amount: 1n,
        contact: 'chair@example.com',
      });
      // Nothing is used yet. Without holds, a budget may be passed by what is in flight.
      expect((await send(apiKey, {}, endpoint)).status).toBe(200);
      const used = await usedOf(budget);
      expect(used).toBeGreaterThan(1n);
      const sent = gateway.simulator.journal.requests().length;
      const refused = await send(apiKey, {}, endpoint);
      const [use] = await store.readBudgets(id, { memberId: ada.id, groups: group.path });
      expect(refused).toEqual({
        status: 402,
        retry: 'false',
        message:
          `the budget "Term" of the group "Chair of Databases" of ${formatUsd(1n)} USD per month ` +
          `(${formatUsd(used)} USD used) is used up; it renews at ${use!.renewsAt!.toISOString()}; ` +
          'ask chair@example.com for more',
      });
      expect(gateway.simulator.journal.requests()).toHaveLength(sent);
      const metrics = await (await fetch(`${gateway.adminUrl}/metrics`)).text();
      expect(metrics).toMatch(/^gateway_rate_limited_total\{limit="budget"\} [1-9]/m);

      // Others of the account go on, and so does this one once the budget is raised.
      const other = await gateway.call('createKey', { name: 'other', account_id: accountId });
      expect((await send(other.api_key!, {}, endpoint)).status).toBe(200);
      await store.updateBudget(budget.id, { amount: used + 1n }, BY);
      expect((await send(apiKey, {}, endpoint)).status).toBe(200);
    },
  );

  it('each scope refuses those that it counts, and nobody else', async () => {
    const { store, keyOf, memberOf, budgetOf } = accounts;
    const { id, apiKey, accountId } = await keyOf();
    const ada = await memberOf({ accountId, name: 'Ada' });
    await store.updateKey(id, { memberId: ada.id });
    const run = { 'x-claude-code-session-id': 'run-0001' };
    const tag = { 'x-gateway-tag': 'blue' };
    const cases: readonly (readonly [
      Pick<NewBudget, 'scope' | 'subject'>,
      whose: string,
      counted: Sent,
      other: Sent | undefined,
    ])[] = [
      [{ scope: 'account' }, 'of this account', {}, undefined],
      [{ scope: 'member', subject: ada.id }, 'of the member "Ada"', {}, undefined],
      // Each member has one of its own.
      [{ scope: 'member' }, 'of the member "Ada"', {}, undefined],
      [{ scope: 'key', subject: id }, 'of this key', {}, undefined],
      [{ scope: 'tag', subject: 'blue' }, 'of the tag "blue"', { headers: tag }, {}],
      [{ scope: 'tag' }, 'of the tag "red"', { metadata: { user_id: 'red' } }, {}],
      [{ scope: 'run', subject: 'run-0001' }, 'of this run', { headers: run }, {}],
    ];
    for (const [scope, whose, counted, other] of cases) {
      const budget = await budgetOf({ accountId, name: 'B', ...scope });
      const refused = await send(apiKey, counted);
      expect([whose, refused.status]).toEqual([whose, 402]);
      expect(refused.message).toContain(`the budget "B" ${whose} of 0 USD per month (0`);
      if (other !== undefined) expect((await send(apiKey, other)).status).toBe(200);
      await store.endBudget(budget.id, BY);
      expect((await send(apiKey, counted)).status).toBe(200);
    }
  });

  it('one that only notifies refuses nothing; the end of one that does not renew is named', async () => {
    const { store, keyOf, budgetOf } = accounts;
    const { apiKey, accountId } = await keyOf();
    const notify = { accountId, name: 'N', scope: 'account', action: 'notify' } as const;
    const notifying = await budgetOf(notify);
    expect((await send(apiKey)).status).toBe(200);
    await store.endBudget(notifying.id, BY);
    const until_ = new Date(Date.now() + 86_400_000);
    await budgetOf({ accountId, name: 'Term', scope: 'account', period: 'once', until: until_ });
    expect((await send(apiKey)).message).toBe(
      `the budget "Term" of this account of 0 USD (0 USD used) is used up; it ends at ${until_.toISOString()}`,
    );
  });

  it('a named member is refused by its own budget, before anything is sent', async () => {
    const { store, keyOf, memberOf, budgetOf } = accounts;
    const { id, apiKey, accountId } = await keyOf();
    await store.updateKey(id, { naming: { unknown: 'refuse' } });
    const empty = await memberOf({ accountId, name: 'Empty', externalId: 'empty' });
    await memberOf({ accountId, name: 'Full', externalId: 'full' });
    await budgetOf({ accountId, name: 'B', scope: 'member', subject: empty.id });
    const as = (name: string) => send(apiKey, { headers: { 'x-gateway-member': name } });
    expect((await as('full')).status).toBe(200);
    expect(await as('empty')).toMatchObject({ status: 402, retry: 'false' });
    expect((await send(apiKey, { user: 'empty' }, 'chat.completions')).status).toBe(402);
    expect((await send(apiKey)).status).toBe(200);
    expect(gateway.simulator.journal.requests()).toHaveLength(2);
  });

  it('is asked before the body is read, and again if the body takes long', async () => {
    const { store, keyOf, budgetOf } = accounts;
    const { apiKey, accountId } = await keyOf();
    const budget = await budgetOf({ accountId, name: 'B', scope: 'account' });
    const body = JSON.stringify(userMessage('Hello'));
    /** @returns the status, once `upload` has sent as much of the body as it wants to */
    const sending = (upload: (req: ClientRequest) => Promise<void>) =>
      new Promise<number | undefined>((resolve, reject) => {
        const req = request(`${gateway.url}/v1/messages`, {
          method: 'POST',
          headers: {
            'x-api-key': apiKey,
            'anthropic-version': '2023-06-01',
            'content-type': 'application/json',
            'content-length': Buffer.byteLength(body),
          },
        });
        req.once('error', reject).once('response', (res) => {
          resolve(res.statusCode);
          res.resume();
          req.destroy();
        });
        req.write(body.slice(0, 10));
        upload(req).catch(reject);
      });
    // The rest of its body never comes.
    expect(await sending(() => Promise.resolve())).toBe(402);
    await store.updateBudget(budget.id, { amount: parseUsd('1') }, BY);
    const late = sending(async (req) => {
      await until(() => gateway.running.appParts.activity.running > 0);
      await new Promise((resolve) => setTimeout(resolve, 1_100));
      await store.updateBudget(budget.id, { amount: 0n }, BY);
      req.end(body.slice(10));
    });
    expect(await late).toBe(402);
    expect(gateway.simulator.journal.requests()).toEqual([]);
  });

  it('counting tokens is refused as well, as at a cap', async () => {
    const { keyOf, budgetOf } = accounts;
    const { apiKey, accountId } = await keyOf();
    const count = async () =>
      (
        await fetch(`${gateway.url}/v1/messages/count_tokens`, {
          method: 'POST',
          headers: {
            'x-api-key': apiKey,
            'anthropic-version': '2023-06-01',
            'content-type': 'application/json',
          },
          body: JSON.stringify({ ...userMessage('Hi'), max_tokens: undefined }),
        })
      ).status;
    expect(await count()).toBe(200);
    await budgetOf({ accountId, name: 'B', scope: 'account' });
    expect(await count()).toBe(402);
  });
});

describe.each(['embedded', 'PostgreSQL'] as const)('on the %s ledger, with holds', (ledger) => {
  let gateway: TestGateway;
  let accounts: ReturnType<typeof accountsOf>;
  beforeAll(async () => {
    gateway = await startTestGateway({
      env: { OVERDRAFT: 'none', ...(await ledgerEnv(ledger, postgres)) },
    });
    accounts = accountsOf(gateway);
  });
  afterAll(() => gateway.stop());
  beforeEach(() => {
    gateway.simulator.reset();
    Object.assign(gateway.running.appParts, { holdLine: createHoldLine() });
  });

  /** 1,280 tokens are cached at 3.75 USD per million, and 600 cost 15 USD per million. */
  const usage = { input_tokens: 0, cache_creation_input_tokens: 1_280, output_tokens: 600 };
  const COST = parseUsd('0.0138');
  /** Of which each byte of the prompt may be a token, so that 0.01684875 USD are held. */
  const body = userMessage('Hello', { max_tokens: 600 });
  const liveHolds = async () => (await gateway.call('listHolds', { state: 'live' })).data;

  async function accountWith(level: 'budget' | 'cap' | 'balance', amountUsd: string) {
    const { keyOf, budgetOf } = accounts;
    const key = await keyOf({
      balance_usd: level === 'balance' ? amountUsd : '10',
      ...(level === 'cap' ? { cap_total_usd: amountUsd } : {}),
    });
    if (level !== 'budget') return key;
    const of = { accountId: key.accountId, name: 'B', scope: 'account' } as const;
    await budgetOf({ ...of, amount: parseUsd(amountUsd) });
    return key;
  }

  // F521: more requests at once than a budget, a cap or a balance has room for: those that fit are
  // served, one after another if they must; the others are refused, and nothing is passed.
  it.each(['budget', 'cap', 'balance'] as const)(
    'of forty requests at once, each of 0.0138 USD, a %s of 0.10 USD serves seven, never an eighth',
    async (level) => {
      const { store } = accounts;
      const { id, apiKey, accountId } = await accountWith(level, '0.10');
      for (let n = 0; n < 40; n += 1) gateway.simulator.script({ usage, delayMs: 100 });
      const answers = await Promise.all(
        Array.from({ length: 40 }, async () => {
          const response = await postMessages(gateway, apiKey, body);
          await response.text();
          return [response.status, response.headers.get('x-should-retry')];
        }),
      );
      expect(answers.filter(([status]) => status === 200)).toHaveLength(7);
      // What is left is too little, whatever ends.
      const refused = answers.filter(([status]) => status !== 200);
      expect(refused).toEqual(refused.map(() => [402, 'false']));
      expect(gateway.simulator.journal.requests()).toHaveLength(7);
      const { spent } = (await store.getKey(id))!;
      expect(spent).toBe(7n * COST);
      if (level === 'budget') {
        expect(await store.readBudgets(id)).toMatchObject([{ used: 7n * COST, held: 0n }]);
      }
      expect(await store.listHolds({ state: 'live', limit: 10 })).toEqual([]);
      expect((await store.getAccount(accountId))!.balance).toBe(
        parseUsd(level === 'balance' ? '0.10' : '10') - 7n * COST,
      );
    },
  );

  it.each(['budget', 'cap', 'balance'] as const)(
    'what only waits for others at a %s is refused after a while, and may be sent again',
    async (level) => {
      Object.assign(gateway.running.appParts, { holdLine: createHoldLine({ waitMs: 300 }) });
      const { apiKey } = await accountWith(level, '0.02');
      gateway.simulator.script({ usage, delayMs: 1_500 });
      const first = postMessages(gateway, apiKey, body);
      await until(async () => (await liveHolds()).length === 1);
      const began = performance.now();
      const answers = await Promise.all(
        ENDPOINTS.map((endpoint) =>
          POSTS[endpoint](gateway, apiKey, bodyFor(PATHS[endpoint], body)),
        ),
      );
      expect(performance.now() - began).toBeGreaterThan(290);
      for (const answer of answers) {
        expect(answer.status).toBe(402);
        expect(answer.headers.get('x-should-retry')).toBe('true');
        expect(answer.headers.get('retry-after')).toBe('2');
        expect((await answer.json()).error.message).toMatch(/held for requests in flight/);
      }
      expect((await first).status).toBe(200);
    },
  );

  it('a request waits until the money that it needs is free, and is served then', async () => {
    const { apiKey } = await accountWith('budget', '0.032');
    gateway.simulator.script({ usage, delayMs: 700 });
    const first = postMessages(gateway, apiKey, body);
    await until(async () => (await liveHolds()).length === 1);
    const second = postMessages(gateway, apiKey, body);
    expect([(await first).status, (await second).status]).toEqual([200, 200]);
    await until(async () => (await liveHolds()).length === 0);
  });

  it('a request whose client leaves while it waits ends at once, and nothing is sent upstream or held', async () => {
    const { store } = accounts;
    const { id, apiKey } = await accountWith('budget', '0.032');
    gateway.simulator.script({ usage, delayMs: 2_500 });
    const first = postMessages(gateway, apiKey, body);
    await until(async () => (await liveHolds()).length === 1);
    const leaving = new AbortController();
    const second = fetch(`${gateway.url}/v1/messages`, {
      method: 'POST',
      headers: {
        'x-api-key': apiKey,
        'anthropic-version': '2023-06-01',
        'content-type': 'application/json',
      },
      body: JSON.stringify(body),
      signal: leaving.signal,
    });
    const { activity } = gateway.running.appParts;
    await until(() => activity.running === 2);
    await new Promise((resolve) => setTimeout(resolve, 100));
    leaving.abort();
    await expect(second).rejects.toThrow();
    await until(() => activity.running === 1);
    // The first one is still under way.
    expect(await liveHolds()).toHaveLength(1);
    expect((await first).status).toBe(200);
    await until(async () => (await liveHolds()).length === 0);
    expect(gateway.simulator.journal.requests()).toHaveLength(1);
    let statuses: readonly number[] = [];
    await until(async () => {
      const { requests } = await store.listRequests({ keyId: id, limit: 10 });
      statuses = requests.map(({ status }) => status).sort();
      return statuses.length === 2;
    });
    // The client may have closed only one direction: it is refused, as it would read.
    expect(statuses).toEqual([200, 402]);
  });

  it('a limit that may be lowered is lowered to what a budget leaves', async () => {
    const { apiKey } = await accountWith('budget', '0.5');
    const large = userMessage('Hello', { max_tokens: 64_000 });
    const served = await postMessages(gateway, apiKey, large, {
      'x-gateway-lower-max-tokens': 'true',
    });
    expect(served.status).toBe(200);
    const sent = Number(served.headers.get('x-gateway-max-tokens'));
    expect(sent).toBeGreaterThan(4_096);
    expect(BigInt(sent) * parseUsd('0.000015')).toBeLessThan(parseUsd('0.25'));
  });

  it('a member that has little left waits for nobody else, and keeps nobody from his own', async () => {
    const { store, keyOf, memberOf, budgetOf } = accounts;
    const { id, apiKey, accountId } = await keyOf();
    await store.updateKey(id, { naming: { unknown: 'refuse' } });
    const members = await Promise.all(
      ['one', 'other'].map((name) => memberOf({ accountId, name, externalId: name })),
    );
    // Scenario 1: 20 USD a month for each one, of which one has used nearly all.
    const budget = await budgetOf({
      accountId,
      name: 'Each',
      scope: 'member',
      amount: parseUsd('0.02'),
    });
    const as = (name: string) => postMessages(gateway, apiKey, body, { 'x-gateway-member': name });
    gateway.simulator.script({ usage, delayMs: 1_000 });
    const first = as('one');
    await until(async () => (await liveHolds()).length === 1);
    const began = performance.now();
    expect((await as('other')).status).toBe(200);
    expect(performance.now() - began).toBeLessThan(900);
    expect((await first).status).toBe(200);
    const refused = await as('one');
    expect([refused.status, refused.headers.get('x-should-retry')]).toEqual([402, 'false']);
    expect((await refused.json()).error.message).toMatch(
      /^this request may cost up to \S+ USD, more than the budget "Each" of the member "one" of 0.02 USD per month \(0.0138 USD used\) leaves: lower max_tokens .* or shorten the prompt; it renews at /,
    );
    const uses = await store.listBudgetUses(budget.id, 10);
    expect(uses.map(({ subject }) => subject).sort()).toEqual(members.map((one) => one.id).sort());
  });
});
