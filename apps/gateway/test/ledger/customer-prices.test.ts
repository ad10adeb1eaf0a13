/** Prices that an operator gives one account: a factor on the usual ones, or a table of its own. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { formatUsd, parseUsd } from '@gateway/billing';
import { usePostgresServer } from '../../../../packages/balance-store/test/postgres-server.js';
import type { PostgresServer } from '../../../../packages/balance-store/test/postgres-server.js';
import { HOUR_MS } from '../../src/base/times.js';
import { startMarginWatch } from '../../src/observe/notifications/margin-watch.js';
import { startGatedUpstream } from '../support/gated-upstream.js';
import { MODEL, postMessages, startTestGateway, userMessage } from '../support/gateway.js';
import type { TestGateway } from '../support/gateway.js';
import { ledgerEnv } from '../support/ledger-env.js';
import { soldModel } from '../support/sold-model.js';
import { until } from '../support/until.js';

const OWN_MODEL = 'claude-haiku-4-5';
/** USD for a million tokens each way, which are a cent for the usage below. */
const OWN_RATES = { rate_in: '5.00', rate_out: '5.00' };
const USAGE = { input_tokens: 1_000, output_tokens: 1_000 };
/** 1,000 × 3.00 + 1,000 × 15.00, in 10^-6 USD: what others pay for {@link USAGE}. */
const USUAL = '0.018';

interface Listed {
  readonly model: string;
  readonly rates: { readonly input: string };
}

let postgres: PostgresServer;
let folder: string;
beforeAll(async () => {
  postgres = await usePostgresServer();
  folder = mkdtempSync(join(tmpdir(), 'customer-prices-'));
  const tables = {
    partners: {
      extends: 'prices',
      factor: '0.5',
      models: [{ id: OWN_MODEL, ...OWN_RATES }],
    },
    'one-model': { models: [soldModel(OWN_MODEL, OWN_RATES.rate_in, OWN_RATES.rate_out)] },
  };
  writeFileSync(join(folder, 'customers.json'), JSON.stringify(tables));
});
afterAll(async () => {
  await postgres.stop();
  rmSync(folder, { recursive: true });
});

describe.each(['embedded', 'PostgreSQL'] as const)('on the %s ledger', (ledger) => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway({
      env: {
        CUSTOMER_PRICES: join(folder, 'customers.json'),
        COSTS: 'specification',
        ...(await ledgerEnv(ledger, postgres)),
      },
    });
  });
  afterAll(() => gateway.stop());

  async function customer(prices?: string) {
    const { id: accountId } = await gateway.call('createAccount', {
      name: 'customer',
      balance_usd: '10',
      ...(prices === undefined ? {} : { prices }),
    });
    return {
      accountId,
      ...(await gateway.createKey({ balance_usd: undefined, account_id: accountId })),
    };
  }
  const read = async (apiKey: string, path: string) => {
    const headers = { authorization: `Bearer ${apiKey}` };
    const response = await fetch(`${gateway.url}${path}`, { headers });
    return { status: response.status, ...(await response.json()) };
  };
  async function chargeFor(apiKey: string, model = MODEL) {
    gateway.simulator.script({ usage: USAGE });
    const response = await postMessages(gateway, apiKey, userMessage('Hello', { model }));
    return [response.status, response.headers.get('x-gateway-charge-usd')];
  }

  it('a factor multiplies what a customer pays and sees, and nobody else', async () => {
    const [own, other] = [await customer('0.9'), await customer()];
    expect(await chargeFor(own.apiKey)).toEqual([200, '0.0162']);
    expect(await chargeFor(other.apiKey)).toEqual([200, USUAL]);
    const { data } = await gateway.call('listLedger', { key_id: own.id, kind: 'charge' });
    expect(data).toMatchObject([
      { amount_usd: '-0.0162', rates: { input: '2.7', output: '13.5' } },
    ]);
    expect(await read(own.apiKey, `/v1/models/${MODEL}`)).toMatchObject({ rate_in: '2.7' });
    const prices = async ({ apiKey }: typeof own) => {
      const { are_agreed, data: listed } = await read(apiKey, '/v1/dashboard/prices');
      const { rates } = (listed as Listed[]).find(({ model }) => model === MODEL)!;
      return [are_agreed, rates.input];
    };
    expect(await prices(own)).toEqual([true, '2.7']);
    expect(await prices(other)).toEqual([false, '3']);
    const table = await gateway.call('listModels', { prices: '0.9' });
    expect(table.data.find(({ id }) => id === MODEL)?.rates.input).toBe('2.7');
  });

  it('a table has its own models and rates, and is the list of what may be called', async () => {
    const [partner, one] = [await customer('partners'), await customer('one-model')];
    expect(await chargeFor(partner.apiKey)).toEqual([200, '0.009']);
    expect(await chargeFor(partner.apiKey, OWN_MODEL)).toEqual([200, '0.01']);
    expect(await chargeFor(one.apiKey, OWN_MODEL)).toEqual([200, '0.01']);
    expect((await chargeFor(one.apiKey))[0]).toBe(404);
    const { data } = await read(one.apiKey, '/v1/models');
    expect(data).toMatchObject([{ id: OWN_MODEL }]);
    expect((await read(one.apiKey, `/v1/models/${MODEL}`)).status).toBe(404);
  });

  it('a change applies to the next request, and a replayed creation is the first one', async () => {
    const { accountId, apiKey } = await customer('0.9');
    for (const [prices, charge] of [
      ['2', '0.036'],
      ['partners', '0.009'],
      [null, USUAL],
    ] as const) {
      const changed = await gateway.call('updateAccount', { account_id: accountId, prices });
      expect(changed.prices).toBe(prices);
      expect(await chargeFor(apiKey)).toEqual([200, charge]);
    }
    const create = (prices: string) =>
      gateway.call('createAccount', { name: 'again', prices, idempotency_key: `${ledger}-again` });
    expect(await create('0.5')).toMatchObject({ prices: '0.5', replayed: false });
    expect(await create('0.5')).toMatchObject({ prices: '0.5', replayed: true });
    await expect(create('0.6')).rejects.toThrow('idempotency_key');
  });

  it.each([
    ['a table that is missing', 'gone', /^prices: there is no price table "gone": .*partners/],
    ['a factor with which a price is not exact', '0.000001', /^prices: the factor 0.000001 cannot/],
    ['a factor that is none', '1e3', /^prices: must be a factor such as 0.9/],
  ])('refuses %s', async (_what, prices, problem) => {
    const { accountId, apiKey } = await customer();
    const change = gateway.call('updateAccount', { account_id: accountId, prices });
    await expect(change).rejects.toThrow(problem);
    await expect(gateway.call('createAccount', { name: 'x', prices })).rejects.toThrow(problem);
    expect(await chargeFor(apiKey)).toEqual([200, USUAL]);
  });

  // F247: the table of an account is no longer configured: its requests are refused, none is sent
  // upstream, and the usual price is not charged.
  it('refuses requests of an account whose table is missing', async () => {
    const { accountId, id, apiKey } = await customer('0.9');
    await gateway.running.appParts.store.updateAccount(
      accountId,
      { prices: 'gone' },
      { name: 't' },
    );
    gateway.simulator.reset();
    expect((await chargeFor(apiKey))[0]).toBe(503);
    for (const path of ['/v1/models', `/v1/models/${MODEL}`, '/v1/dashboard/prices']) {
      const refused = await read(apiKey, path);
      expect([refused.status, JSON.stringify(refused).includes('gone')]).toEqual([503, false]);
    }
    expect(gateway.simulator.journal.requests()).toEqual([]);
    expect((await gateway.call('showKey', { key_id: id })).spent_usd).toBe('0');
  });

  // F248: an account's prices change while its request runs: the charge is what it was when the
  // request was admitted.
  it('charges what applied when the request was admitted', async () => {
    const { accountId, id, apiKey } = await customer('0.5');
    const upstream = await startGatedUpstream();
    const { running } = gateway;
    const before = running.appParts.upstream;
    const gated = await startTestGateway({ env: { UPSTREAM_URL: upstream.url } });
    Object.assign(running.appParts, { upstream: gated.running.appParts.upstream });
    try {
      upstream.shut();
      const answer = postMessages(gateway, apiKey, userMessage('Hello'));
      await until(() => upstream.waiting() === 1);
      await gateway.call('updateAccount', { account_id: accountId, prices: '3' });
      upstream.open();
      expect((await answer).status).toBe(200);
      const { data } = await gateway.call('listLedger', { key_id: id, kind: 'charge' });
      expect(data).toMatchObject([{ rates: { input: '1.5', output: '7.5' } }]);
    } finally {
      Object.assign(running.appParts, { upstream: before });
      await gated.stop();
      await upstream.close();
    }
  });

  it('knows what was sold below its cost, and its ledger is sound', async () => {
    const { accountId, id, apiKey } = await customer('0.5');
    const dear = await customer('1.5');
    for (const each of [apiKey, dear.apiKey]) await chargeFor(each);
    const { store } = gateway.running.appParts;
    const [charge] = (await gateway.call('listLedger', { key_id: id, kind: 'charge' })).data;
    // In the first hour of a day the watch looks at the day before.
    const hourAfter = Date.parse(charge!.created_at) + HOUR_MS;
    const watch = startMarginWatch({
      store,
      log: { warn: () => undefined } as never,
      now: () => hourAfter,
    });
    await watch.look();
    await watch.stop();
    const { data } = await gateway.call('listEvents', { limit: 100 });
    const sold = data.filter(({ type }) => type === 'model.sold_below_cost');
    const of = (id: string) => sold.filter(({ data: event }) => event['account_id'] === id);
    expect(of(accountId)).toMatchObject([{ data: { charged_usd: '0.009', cost_usd: '0.018' } }]);
    expect(of(dear.accountId)).toEqual([]);
    expect(await gateway.call('auditLedger', {})).toMatchObject({
      is_sound: true,
      differences: [],
    });
  });

  it('books a lost charge again at the prices of its account', async () => {
    const { id } = await customer('0.9');
    const lost = (charge_usd: string) =>
      gateway.call('rechargeUsages', {
        charges: [
          {
            request_id: `req_lost_${ledger}`,
            key_id: id,
            model: MODEL,
            ...USAGE,
            cache_read_input_tokens: 0,
            cache_creation_input_tokens: 0,
            charge_usd,
          },
        ],
      });
    expect(await lost(USUAL)).toMatchObject({ booked: 0 });
    expect(await lost('0.0162')).toMatchObject({ booked: 1 });
  });
});

it('holds what a request may cost at the prices of its account', async () => {
  const gateway = await startTestGateway({ env: { OVERDRAFT: 'none' } });
  const request = userMessage('Hello', { max_tokens: 10_000 });
  const shortfall = async (prices: string) => {
    const balance_usd = '0.01';
    const account = await gateway.call('createAccount', { name: 'c', balance_usd, prices });
    const { apiKey } = await gateway.createKey({ balance_usd: undefined, account_id: account.id });
    const response = await postMessages(gateway, apiKey, request);
    const amount = /may cost up to ([\d.]+) USD/.exec(await response.text())?.[1] ?? '';
    return [response.status, amount] as const;
  };
  const [status, usual] = await shortfall('1');
  expect(status).toBe(402);
  expect(await shortfall('3')).toEqual([402, formatUsd(3n * parseUsd(usual))]);
  expect((await shortfall('0.01'))[0]).toBe(200);
  await gateway.stop();
});

// F282: one of two replicas changes an account's prices while both serve requests of it: these are
// charged as they were admitted. Requests that begin a second later have the new prices on both.
it('two replicas charge what applied at admission, and both have a change within a second', async () => {
  const upstream = await startGatedUpstream();
  const env = {
    UPSTREAM_URL: upstream.url,
    DATABASE_URL: await postgres.createDatabase(),
    ADMIN_TOKEN: 'admin-token-of-the-tests',
    KEY_PEPPER: 'pepper-of-the-tests',
  };
  const replicas = [await startTestGateway({ env }), await startTestGateway({ env })];
  const [first, second] = replicas as [TestGateway, TestGateway];
  try {
    const account = { name: 'c', balance_usd: '100', prices: '0.5' };
    const { id: account_id } = await first.call('createAccount', account);
    const { apiKey } = await first.createKey({ balance_usd: undefined, account_id });
    const ask = async (replica: TestGateway) => {
      const answer = await postMessages(replica, apiKey, userMessage('Hello'));
      expect(answer.status).toBe(200);
      await answer.text();
    };
    const ratesOf = async () =>
      (await second.call('listLedger', { account_id, kind: 'charge' })).data.map((entry) =>
        entry.kind === 'charge' ? entry.rates.input : '',
      );
    const both = () => Promise.all(replicas.map(ask));
    await both();
    upstream.shut();
    const inFlight = both();
    await until(() => upstream.waiting() === 2);
    await first.call('updateAccount', { account_id, prices: '3' });
    const changedAt = performance.now();
    upstream.open();
    await inFlight;
    expect(await ratesOf()).toEqual(Array(4).fill('1.5'));
    // The replica that made the change has it at once, the other one after its memory of keys.
    await ask(first);
    expect((await ratesOf())[0]).toBe('9');
    let hasChanged = false;
    for (let sentAt = 0; sentAt - changedAt <= 1_000;) {
      sentAt = performance.now();
      await ask(second);
      const [rate] = await ratesOf();
      if (hasChanged || sentAt - changedAt > 1_000) expect(rate).toBe('9');
      else expect(['1.5', '9']).toContain(rate);
      hasChanged = rate === '9';
    }
    expect((await first.call('auditLedger', {})).is_sound).toBe(true);
  } finally {
    await Promise.all(replicas.map((replica) => replica.stop()));
    await upstream.close();
  }
});
