/** What chains of budgets allow, and budgets that requests set for their runs. On both ledgers. */

import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { formatUsd, parseUsd } from '@gateway/billing';
import type { BudgetRecord, MemberRecord, NewBudget } from '@gateway/balance-store';
import { usePostgresServer } from '../../../../packages/balance-store/test/postgres-server.js';
import type { PostgresServer } from '../../../../packages/balance-store/test/postgres-server.js';
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

const BY = { name: 'tests' };
/** 1,280 tokens are cached at 3.75 USD per million, and 600 cost 15 USD per million. */
const usage = { input_tokens: 0, cache_creation_input_tokens: 1_280, output_tokens: 600 };
const COST = parseUsd('0.0138');
/** Of which each byte of the prompt may be a token, so that 0.01684875 USD are held. */
const body = userMessage('Hello', { max_tokens: 600 });

let postgres: PostgresServer;
beforeAll(async () => {
  postgres = await usePostgresServer();
});
afterAll(() => postgres.stop());

describe.each(['embedded', 'PostgreSQL'] as const)('on the %s ledger', (ledger) => {
  let gateway: TestGateway;
  /** Another one with the same ledger, if that is PostgreSQL. It holds nothing before it sends. */
  let beside: TestGateway;
  beforeAll(async () => {
    const env = await ledgerEnv(ledger, postgres);
    gateway = await startTestGateway({ env: { OVERDRAFT: 'none', ...env } });
    beside = await startTestGateway({ env });
  });
  afterAll(async () => {
    await gateway.stop();
    await beside.stop();
  });
  beforeEach(() => {
    gateway.simulator.reset();
    beside.simulator.reset();
  });

  function accountsOf(of: TestGateway) {
    const { store } = of.running;
    return {
      store,
      keyOf: async () => {
        const key = await of.createKey({ balance_usd: '10' });
        return { ...key, accountId: (await store.getKey(key.id))!.accountId };
      },
      budgetOf: async (budget: Omit<NewBudget, 'period'> & Partial<NewBudget>) =>
        created<BudgetRecord>(await store.createBudget({ period: 'month', ...budget }, { by: BY })),
    };
  }

  async function send(
    to: TestGateway,
    apiKey: string,
    headers: Readonly<Record<string, string>> = {},
    endpoint: keyof typeof PATHS = 'messages',
  ) {
    const response = await POSTS[endpoint](to, apiKey, bodyFor(PATHS[endpoint], body), headers);
    const text = await response.text();
    return {
      status: response.status,
      retry: response.headers.get('x-should-retry'),
      inForce: response.headers.get('x-gateway-run-budget'),
      error: response.ok ? undefined : JSON.parse(text).error,
      message: response.ok ? '' : String(JSON.parse(text).error.message),
    };
  }

  describe('a chain of budgets', () => {
    async function chain(to: TestGateway, own: string, more: string) {
      const { keyOf, budgetOf, store } = accountsOf(to);
      const key = await keyOf();
      const { accountId } = key;
      const reserve = await budgetOf({
        accountId,
        name: 'Chair',
        scope: 'reserve',
        amount: parseUsd(more),
        contact: 'chair@example.com',
      });
      const course = await budgetOf({
        accountId,
        name: 'Course',
        scope: 'account',
        amount: parseUsd(own),
        thenId: reserve.id,
      });
      return { ...key, store, reserve, course };
    }

    it('of 0.06 and 0.04 USD serves seven of forty requests at once, and names the parts of each', async () => {
      const { id, apiKey, accountId, store, reserve, course } = await chain(
        gateway,
        '0.06',
        '0.04',
      );
      for (let n = 0; n < 40; n += 1) gateway.simulator.script({ usage, delayMs: 100 });
      const answers = await Promise.all(Array.from({ length: 40 }, () => send(gateway, apiKey)));
      const refused = answers.filter(({ status }) => status !== 200);
      expect(answers).toHaveLength(refused.length + 7);
      expect(refused.map(({ status, retry }) => [status, retry])).toEqual(
        refused.map(() => [402, 'false']),
      );
      expect(gateway.simulator.journal.requests()).toHaveLength(7);
      const uses = await store.readBudgets(id);
      const used = (of: BudgetRecord) => uses.find(({ budget }) => budget.id === of.id)!.used;
      expect([used(course), used(reserve)]).toEqual([parseUsd('0.06'), parseUsd('0.0366')]);
      expect((await store.getKey(id))!.spent).toBe(7n * COST);
      // Four of 0.0138 are the course's; of the fifth, 0.0048 are.
      const { data } = await gateway.call('listLedger', { account_id: accountId, kind: 'charge' });
      const paid = data.map((entry) => ('paid_by' in entry ? entry.paid_by : undefined));
      const part = (of: BudgetRecord, amount_usd: string) => ({
        budget_id: of.id,
        counted_by: course.id,
        amount_usd,
      });
      const whole = [part(reserve, '0.0138')];
      const split = [part(course, '0.0048'), part(reserve, '0.009')];
      const none = [undefined, undefined, undefined, undefined];
      expect(paid).toEqual([whole, whole, split, ...none]);
      const again = await send(gateway, apiKey);
      expect(again.message).toMatch(
        /^this request may cost up to 0.01684875 USD, more than the reserve "Chair" of 0.04 USD per month \(0.0366 USD used\) leaves: lower max_tokens .* or shorten the prompt; it renews at \S+; ask chair@example.com for more$/,
      );
      expect((await gateway.call('auditLedger', {})).differences).toEqual([]);
    });

    it('goes on without holds until its last one is empty, and shows what each has left', async () => {
      const { apiKey, reserve, course } = await chain(beside, '0.01', '0.01');
      const read = async () => {
        const response = await fetch(`${beside.url}/v1/dashboard/balance`, {
          headers: { authorization: `Bearer ${apiKey}` },
        });
        return (await response.json()).budgets;
      };
      for (let n = 0; n < 2; n += 1) beside.simulator.script({ usage });
      expect((await send(beside, apiKey)).status).toBe(200);
      expect(await read()).toMatchObject([
        // What can still refuse comes first.
        { name: 'Chair', scope: 'reserve', used_usd: '0.0038', then_name: null },
        { name: 'Course', used_usd: '0.01', left_usd: '0', then_name: 'Chair' },
      ]);
      expect((await send(beside, apiKey)).status).toBe(200);
      const refused = await send(beside, apiKey);
      expect([refused.status, refused.retry]).toEqual([402, 'false']);
      expect(refused.message).toContain(
        'the reserve "Chair" of 0.01 USD per month (0.0176 USD used) is used up; it renews at ',
      );
      expect(beside.simulator.journal.requests()).toHaveLength(2);
      // From the reserve on, nothing else pays.
      await accountsOf(beside).store.updateBudget(course.id, { amount: parseUsd('1') }, BY);
      expect((await send(beside, apiKey)).status).toBe(200);
      expect((await beside.call('showBudget', { budget_id: reserve.id })).uses[0]).toMatchObject({
        used_usd: '0.0176',
      });
    });

    it('a request waits for what others hold of it, and is served then', async () => {
      const { apiKey } = await chain(gateway, '0.02', '0.012');
      gateway.simulator.script({ usage, delayMs: 700 });
      gateway.simulator.script({ usage });
      const answers = await Promise.all([send(gateway, apiKey), send(gateway, apiKey)]);
      expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    });
  });

  describe('the budget of a run', () => {
    const run = (name: string, amount: string) => ({
      'x-gateway-run': name,
      'x-gateway-run-budget': amount,
    });

    it.each(ENDPOINTS)(
      'is set by the first request, and refuses what is more (%s)',
      async (endpoint) => {
        for (const to of [gateway, beside]) {
          const { keyOf, store } = accountsOf(to);
          const { id, apiKey, accountId } = await keyOf();
          const headers = run('run-0001', '0.02');
          for (let n = 0; n < 3; n += 1) to.simulator.script({ usage });
          const first = await send(to, apiKey, headers, endpoint);
          expect([first.status, first.inForce]).toEqual([200, '0.02']);
          const [budget] = await store.listBudgets({ accountId, limit: 5 });
          expect(budget).toMatchObject({
            name: 'x-gateway-run-budget',
            scope: 'run',
            subject: 'run-0001',
            onlyFor: id,
            period: 'once',
            action: 'refuse',
          });
          // Without holds, the request that passes it is served.
          if (to === beside) expect((await send(to, apiKey, headers, endpoint)).status).toBe(200);
          const refused = await send(to, apiKey, headers, endpoint);
          expect(refused.status).toBe(402);
          expect(refused.message).toContain(
            'the budget "x-gateway-run-budget" of this run of 0.02 USD ',
          );
          expect((await send(to, apiKey, run('run-0002', '0.02'), endpoint)).status).toBe(200);
        }
      },
    );

    it('is lowered by later requests, never raised, and one however many come first', async () => {
      const { keyOf, store } = accountsOf(gateway);
      const { apiKey, accountId } = await keyOf();
      const gateways = ledger === 'PostgreSQL' ? [gateway, beside] : [gateway];
      const amounts = Array.from({ length: 12 }, (_, n) => formatUsd(parseUsd(String(1 + n))));
      const answers = await Promise.all(
        amounts.map((amount, n) =>
          send(gateways[n % gateways.length]!, apiKey, run('run-0001', amount)),
        ),
      );
      expect(answers.map(({ status }) => status)).toEqual(amounts.map(() => 200));
      const budgets = await store.listBudgets({ accountId, limit: 50 });
      expect(budgets.map(({ amount }) => amount)).toEqual([parseUsd('1')]);
      const later = async (amount: string) =>
        (await send(gateway, apiKey, run('run-0001', amount))).inForce;
      expect([await later('5'), await later('0.9'), await later('5')]).toEqual(['1', '0.9', '0.9']);
    });

    it('bounds nobody else who names the same run, and counts what its run has spent', async () => {
      const { keyOf, store } = accountsOf(gateway);
      const { id, apiKey, accountId } = await keyOf();
      const other = await gateway.call('createKey', { name: 'other', account_id: accountId });
      const name = { 'x-gateway-run': 'run-0001' };
      gateway.simulator.script({ usage });
      expect((await send(gateway, other.api_key!, name)).status).toBe(200);
      expect((await send(gateway, apiKey, run('run-0001', '0.0001'))).status).toBe(402);
      expect((await send(gateway, other.api_key!, name)).status).toBe(200);
      // What it spent before it had a budget is more than this one.
      const late = await send(gateway, other.api_key!, run('run-0001', '0.0138'));
      expect([late.status, late.retry]).toEqual([402, 'false']);
      expect(late.message).toMatch(/used\) is used up; it ends at /);

      await store.updateKey(id, { naming: { unknown: 'refuse' } });
      const member = created<MemberRecord>(
        await store.createMember({ accountId, name: 'Ada', externalId: 'ada' }, { by: BY }),
      );
      const ofAda = { ...run('run-0003', '0.5'), 'x-gateway-member': 'ada' };
      expect((await send(gateway, apiKey, ofAda)).status).toBe(200);
      const budgets = await store.listBudgets({ accountId, limit: 9 });
      expect(budgets.map(({ subject, onlyFor }) => [subject, onlyFor])).toEqual([
        ['run-0001', id],
        ['run-0001', other.id],
        ['run-0003', member.id],
      ]);
    });

    it.each(ENDPOINTS)('must be an amount, and of a run (%s)', async (endpoint) => {
      const { apiKey, accountId } = await accountsOf(gateway).keyOf();
      for (const amount of ['0', '-1', '1e3', '0.5 USD', '0.5, 0.6', '0.000000000000001', 'x']) {
        const { status, message, error } = await send(
          gateway,
          apiKey,
          run('run-0001', amount),
          endpoint,
        );
        expect([amount, status]).toEqual([amount, 400]);
        expect(message).toBe(
          'x-gateway-run-budget: must be one amount of USD above 0, such as 0.50',
        );
        if (endpoint !== 'messages') expect(error.param).toBe('x-gateway-run-budget');
      }
      const nameless = await send(gateway, apiKey, { 'x-gateway-run-budget': '0.5' }, endpoint);
      expect([nameless.status, nameless.message]).toEqual([
        400,
        expect.stringMatching(/^x-gateway-run-budget: needs a run: name it with x-gateway-run, /),
      ]);
      const unset = await send(gateway, apiKey, { 'x-gateway-run-budget': '' }, endpoint);
      expect(unset.status).toBe(200);
      const { store } = gateway.running;
      expect(await store.listBudgets({ accountId, limit: 5 })).toEqual([]);
    });
  });

  it('a session that a client names by its own header has a budget, too', async () => {
    const { keyOf, store } = accountsOf(gateway);
    const { apiKey, accountId } = await keyOf();
    const headers = { 'x-claude-code-session-id': 'session-1', 'x-gateway-run-budget': ' 2 ' };
    const response = await postMessages(gateway, apiKey, body, headers);
    expect(response.headers.get('x-gateway-run-budget')).toBe('2');
    await response.text();
    expect(await store.listBudgets({ accountId, limit: 5 })).toMatchObject([
      { subject: 'session-1', amount: parseUsd('2') },
    ]);
  });
});
