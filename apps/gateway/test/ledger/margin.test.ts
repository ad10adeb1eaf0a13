/**
 * What requests cost the operator, and the margin, with prices above the provider's list: recorded
 * with each charge however it is written, in every sum that operators see, and nowhere else.
 */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { USAGE_DIMENSIONS } from '@gateway/balance-store';
import { defaultPriceTableJson, formatUsd, parseUsd } from '@gateway/billing';
import { usePostgresServer } from '../../../../packages/balance-store/test/postgres-server.js';
import type { PostgresServer } from '../../../../packages/balance-store/test/postgres-server.js';
import { dashboardEndpoints } from '../../src/customer/customer-endpoints.js';
import { openApiDocument } from '../../src/openapi/document.js';
import { ENDPOINTS } from '../../src/openapi/endpoints.js';
import { gatewayCommand } from '../support/gateway-process.js';
import {
  TOOL_LOOP,
  postChat,
  postMessages,
  startTestGateway,
  userMessage,
} from '../support/gateway.js';
import type { TestGateway } from '../support/gateway.js';
import { ALL_MODELS, RUNS, requestOf, scripted, vectors } from '../support/list-vectors.js';
import { waitUntilSteady } from '../support/steady-time.js';

type ReceivedUsage = { readonly output_tokens: number; readonly iterations?: unknown };
type Sums = readonly Readonly<Record<string, unknown>>[];

const HOUR_MS = 3_600_000;
waitUntilSteady('day');
const MONTH = new Date().toISOString().slice(0, 7);
/** The hour may end during the tests. */
const hour = Math.floor(Date.now() / HOUR_MS) * HOUR_MS;
const RANGE = {
  from: new Date(hour - HOUR_MS).toISOString(),
  until: new Date(hour + 2 * HOUR_MS).toISOString(),
};
const KEYS = ['first', 'second', 'third'] as const;
const OPUS = 'claude-opus-5-5';
const HAIKU = defaultPriceTableJson.models.find(({ id }) => id === 'claude-haiku-4-5')!;

/**
 * By the list's rates of Haiku 5.5: 200,003 x 0.50 + 20 x 2.50; 120,001 x 0.10 + 20 x 0.50; and
 * 60,000 x 0.10 + 10 x 0.50 + 100,001 x 0.50 + 10 x 2.50, in 10^-6 USD.
 */
const COST_OF_RUNS = ['0.1000515', '0.0120101', '0.0560305'];

const sumOf = (rows: readonly object[], name: string) =>
  formatUsd(rows.reduce((sum, row) => sum + parseUsd((row as Record<string, string>)[name]!), 0n));

let postgres: PostgresServer;
let folder: string;
beforeAll(async () => {
  postgres = await usePostgresServer();
  folder = mkdtempSync(join(tmpdir(), 'gateway-margin-'));
});
afterAll(async () => {
  await postgres.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** The list with a factor, and one model that is sold for less than it costs. */
function writePrices(): string {
  const file = join(folder, 'prices.json');
  const models = [{ id: 'claude-opus-5', rate_in: '1.00', rate_out: '1.00' }];
  writeFileSync(file, JSON.stringify({ extends: 'list', factor: '1.25', models }));
  return file;
}

describe.each(['the embedded ledger', 'PostgreSQL'])('the margin on %s', (ledger) => {
  let gateway: TestGateway;
  /** Of each key: what its requests cost by the list, computed by hand. */
  const costs = new Map<string, bigint>();
  const keys: { readonly id: string; readonly apiKey: string }[] = [];
  /** As a client records them. */
  const received: { request_id: string; usage: ReceivedUsage; charge_usd: string }[] = [];

  beforeAll(async () => {
    gateway = await startTestGateway({
      env: {
        PRICES: writePrices(),
        ...ALL_MODELS,
        ADMIN_TOKEN: 'token-of-the-tests-of-the-margin',
        KEY_PEPPER: 'pepper of the tests of the margin',
        ...(ledger === 'PostgreSQL' ? { DATABASE_URL: await postgres.createDatabase() } : {}),
      },
      simulator: { lenient: ['known-members'] },
    });
    const { account_id } = await gateway.call('createKey', { name: KEYS[0], balance_usd: '500' });
    for (const name of KEYS) {
      // The last key has an account of its own.
      const of = name === 'third' ? { balance_usd: '500' } : { account_id };
      keys.push(await createKey({ name, ...of }));
    }
    for (const [index, vector] of [...vectors, ...RUNS].entries()) {
      const { id, apiKey } = keys[index % keys.length]!;
      gateway.simulator.script(scripted(vector));
      const response = await postMessages(gateway, apiKey, requestOf(vector));
      expect([vector.name, response.status]).toEqual([vector.name, 200]);
      const { usage } = (await response.json()) as { usage: ReceivedUsage };
      received.push({
        request_id: response.headers.get('x-gateway-request-id')!,
        usage,
        charge_usd: response.headers.get('x-gateway-charge-usd')!,
      });
      const total = 'total' in vector ? String(vector.total) : COST_OF_RUNS[index - vectors.length];
      costs.set(id, (costs.get(id) ?? 0n) + parseUsd(total!));
    }
  });
  afterAll(() => gateway.stop());

  async function createKey(input: Parameters<TestGateway['createKey']>[0]) {
    const { id, api_key } = await gateway.call('createKey', { name: 'key', ...input });
    return { id, apiKey: api_key ?? '' };
  }
  const ofAll = () => [...costs.values()].reduce((sum, cost) => sum + cost, 0n);
  const charges = async () =>
    (await gateway.call('listLedger', { kind: 'charge', limit: 1_000 })).data;
  const usageBy = async (by: string): Promise<Sums> =>
    (await gateway.call('listUsage', { ...RANGE, by })).data;

  it('is what was charged minus what was paid, in each charge and in each sum', async () => {
    const entries = await charges();
    const charged = -parseUsd(sumOf(entries, 'amount_usd'));
    const totals = [formatUsd(ofAll()), formatUsd(charged - ofAll())];
    for (const by of [...USAGE_DIMENSIONS, 'day,model,key']) {
      const sums = await usageBy(by);
      expect([by, sumOf(sums, 'cost_usd'), sumOf(sums, 'margin_usd')]).toEqual([by, ...totals]);
    }
    expect([sumOf(entries, 'cost_usd'), sumOf(entries, 'margin_usd')]).toEqual(totals);
    for (const { key_id, cost_usd } of await usageBy('key')) {
      expect(cost_usd).toBe(formatUsd(costs.get(String(key_id))!));
    }
    const sold = (await usageBy('model')).find(({ model }) => model === 'claude-opus-5');
    expect(sold?.['margin_usd']).toMatch(/^-/);
    expect((await gateway.call('auditLedger', {})).is_sound).toBe(true);
  });

  it('is in the books of the month, for each account and in all, and in the figures of today', async () => {
    const { total, data } = await gateway.call('showBooks', { month: MONTH });
    const byAccount = await usageBy('account');
    for (const { account_id, charged_usd, cost_usd, margin_usd } of data) {
      const sum = byAccount.find((each) => each['account_id'] === account_id);
      const charged = formatUsd(-parseUsd(charged_usd));
      expect({ charged_usd: charged, cost_usd, margin_usd }).toEqual({
        charged_usd: sum?.['charged_usd'],
        cost_usd: sum?.['cost_usd'],
        margin_usd: sum?.['margin_usd'],
      });
    }
    const margin = -parseUsd(total.charged_usd) - ofAll();
    expect(total).toMatchObject({ cost_usd: formatUsd(ofAll()), margin_usd: formatUsd(margin) });
    expect(total).not.toHaveProperty('requests_without_cost');
    const { spend } = await gateway.call('showToday', {});
    for (const range of [spend.last_7_days, spend.last_30_days]) {
      expect(range).toMatchObject({ cost_usd: total.cost_usd, margin_usd: total.margin_usd });
      expect(sumOf(range.by_model, 'margin_usd')).toBe(total.margin_usd);
    }
  });

  it('is printed by the command line, and a column of the CSV files', async () => {
    const env = { ADMIN_URL: gateway.adminUrl, ADMIN_TOKEN: 'token-of-the-tests-of-the-margin' };
    const run = async (...args: string[]) => (await gatewayCommand(args, env)).out;
    const { total } = await gateway.call('showBooks', { month: MONTH });
    const [{ id } = { id: '' }] = await charges();
    const shown = [
      ['usage', '--from', RANGE.from, '--until', RANGE.until, '--by', 'day'],
      ['books', MONTH],
      ['today'],
    ];
    for (const args of shown) {
      const text = await run(...args);
      expect(text).toMatch(/cost \(USD\).*margin \(USD\)/);
      expect(text).toContain(total.cost_usd);
      expect(text).toContain(total.margin_usd);
    }
    for (const args of [
      ['ledger', 'list'],
      ['ledger', 'show', id],
    ]) {
      expect(await run(...args)).toMatch(/cost \(USD\)[\s\S]*margin \(USD\)/);
    }
    for (const path of [`usage?by=key&from=${RANGE.from}&until=${RANGE.until}&`, 'ledger?']) {
      const response = await fetch(`${gateway.adminUrl}/admin/${path}format=csv`, {
        headers: { authorization: `Bearer ${env.ADMIN_TOKEN}` },
      });
      const [head = '', ...rows] = (await response.text()).trim().split('\r\n');
      const [cost, margin] = ['cost_usd', 'margin_usd'].map((name) =>
        head.split(',').indexOf(name),
      );
      expect([cost, margin]).not.toContain(-1);
      const costed = rows.map((row) => row.split(',')).filter((cells) => cells[cost!] !== '');
      const [paid, left] = [cost, margin].map((column) =>
        costed.reduce((sum, cells) => sum + parseUsd(cells[column!]!), 0n),
      );
      if (path.startsWith('usage')) {
        expect([formatUsd(paid!), formatUsd(left!)]).toEqual([total.cost_usd, total.margin_usd]);
      } else {
        expect(costed.length).toBeGreaterThan(1);
      }
    }
  });

  // F246: a client recorded the usage of responses with several charges, for bands, fallbacks or
  // compactions: the audit adds up the charges, finds no difference, and finds each that there is.
  it('is no reason for `ledger audit --witness` to report a difference', async () => {
    const env = { ADMIN_URL: gateway.adminUrl, ADMIN_TOKEN: 'token-of-the-tests-of-the-margin' };
    const file = join(folder, 'witness.jsonl');
    const audit = async (lines: readonly object[]) => {
      writeFileSync(file, lines.map((line) => JSON.stringify(line)).join('\n'));
      const { code, out } = await gatewayCommand(
        ['ledger', 'audit', '--witness', file, '--json'],
        env,
      );
      return {
        code,
        ...(JSON.parse(out) as { witness: { differences: { request_id: string }[] } }),
      };
    };
    expect(await audit(received)).toMatchObject({
      code: 0,
      is_sound: true,
      witness: { compared: vectors.length + RUNS.length, differences: [] },
    });
    const dearer = received.map((line) => ({ ...line, charge_usd: `${line.charge_usd}1` }));
    const longer = received.map(({ request_id, usage: { iterations: _, ...usage } }) => ({
      request_id,
      usage: { ...usage, output_tokens: usage.output_tokens + 1 },
    }));
    for (const wrong of [dearer, longer]) {
      const { code, witness } = await audit(wrong);
      const found = witness.differences.map(({ request_id }) => request_id);
      expect([code, found]).toEqual([1, received.map(({ request_id }) => request_id)]);
    }
  });

  // F241: a customer calls every endpoint and reads every file: neither a cost nor a margin of the
  // operator is in it, so no page can show one.
  it('is seen by no customer, whatever they call', async () => {
    const { id, apiKey } = await createKey({ balance_usd: '50', scope: 'manage' });
    // Counts that give amounts like no rate, and no multiple of one.
    for (const [input_tokens, output_tokens] of [
      [123_457, 7_919],
      [90_001, 104_729],
    ]) {
      const usage = { input_tokens, output_tokens, server_tool_use: { web_search_requests: 3 } };
      gateway.simulator.script({ usage });
      const body = userMessage('Hello', { ...TOOL_LOOP, model: OPUS });
      await (await postMessages(gateway, apiKey, body)).text();
    }
    const entries = (await gateway.call('listLedger', { key_id: id, kind: 'charge' })).data;
    const sums = (await gateway.call('listUsage', { ...RANGE, by: 'key', key_id: id })).data;
    const secret = new Set(
      [...entries, ...sums]
        .map((row: Readonly<Record<string, unknown>>) => [row['cost_usd'], row['margin_usd']])
        .flat(),
    );
    expect([secret.size, secret.has(undefined)]).toEqual([6, false]);
    const expectNone = (where: string, text: string) => {
      const amounts = new Set(text.match(/-?\d+\.\d+/g));
      const words = text.replace(/<style>.*?<\/style>/s, '');
      expect([where, /cost_usd|margin/i.exec(words)?.[0]]).toEqual([where, undefined]);
      expect([where, [...amounts].filter((amount) => secret.has(amount))]).toEqual([where, []]);
    };
    const answered = async (path: string, key = apiKey) => {
      const response = await fetch(`${gateway.url}${path}`, {
        headers: { authorization: `Bearer ${key}` },
      });
      const text = await response.text();
      expect([path, response.status, text.length > 0]).toEqual([path, 200, true]);
      expectNone(path, [...response.headers].join('\n') + text);
      return text;
    };
    const [charge] = JSON.parse(await answered('/v1/dashboard/usage?of=account')).data as [
      { request_id: string },
    ];
    const read = dashboardEndpoints.filter(({ method }) => method === 'get');
    const { account_id } = await gateway.call('showKey', { key_id: id });
    const of = { account_id, name: 'one' } as const;
    const terms = { scope: 'account', amount_usd: '90', period: 'month' } as const;
    const ids: Readonly<Record<string, string>> = {
      request_id: charge.request_id,
      key_id: id,
      member_id: (await gateway.call('createMember', of)).id,
      group_id: (await gateway.call('createGroup', of)).id,
      budget_id: (await gateway.call('createBudget', { ...of, ...terms })).id,
    };
    expect(read.length).toBeGreaterThan(8);
    for (const { path, alsoAs = [] } of read as readonly {
      readonly path: string;
      readonly alsoAs?: readonly string[];
    }[]) {
      const query = path.endsWith('statement')
        ? `month=${MONTH}&`
        : path.endsWith('breakdown')
          ? `from=${RANGE.from}&until=${RANGE.until}&`
          : '';
      const whose = /usage|breakdown/.test(path) ? 'of=account&' : '';
      const address = path.replace(/:(\w+)/, (_, name: string) => ids[name] ?? '');
      for (const format of ['', ...alsoAs.map((type) => `format=${type.replace('text/', '')}`)]) {
        await answered(`${address}?${query}${whose}${format}`);
      }
    }
    for (const post of [postMessages, postChat]) {
      for (const stream of [false, true]) {
        const body = userMessage('Hello', { model: OPUS, stream });
        const response = await post(gateway, apiKey, body);
        expectNone('a response', [...response.headers].join('\n') + (await response.text()));
      }
    }
    const document = JSON.stringify(openApiDocument('client', ENDPOINTS.client));
    expect(document).not.toMatch(/cost_usd|margin|CostedUsage|"ChargeEntry"/);
  });
});

describe('without the costs of all requests', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    const file = join(folder, 'costs.json');
    const models = [{ id: 'claude-haiku-4-5', rate_in: '0.50', rate_out: '2.50' }];
    writeFileSync(
      file,
      JSON.stringify({ models: models.map((model) => ({ ...HAIKU, ...model })) }),
    );
    gateway = await startTestGateway({ env: { COSTS: file } });
  });
  afterAll(() => gateway.stop());

  // F245: the table of costs lacks a model, or was set in the middle of a month: no margin is shown
  // of a sum with such requests, in usage, books and today; it says how many they are.
  it('a sum has no margin, and says how many requests lack a cost', async () => {
    const { apiKey } = await gateway.createKey();
    const usage = { input_tokens: 1_000, output_tokens: 100 };
    for (const model of ['claude-haiku-4-5', OPUS, OPUS]) {
      gateway.simulator.script({ usage });
      await (await postMessages(gateway, apiKey, userMessage('Hello', { model }))).text();
    }
    const { data } = await gateway.call('listUsage', { ...RANGE, by: 'day' });
    // 1,000 x 0.50 + 100 x 2.50, in 10^-6 USD
    const partly = { cost_usd: '0.00075', requests_without_cost: 2 };
    const { spend } = await gateway.call('showToday', {});
    const books = await gateway.call('showBooks', { month: MONTH });
    for (const sum of [...data, spend.last_7_days, books.total, ...books.data]) {
      expect(sum).toMatchObject(partly);
      expect(sum).not.toHaveProperty('margin_usd');
    }
    const byModel = (await gateway.call('listUsage', { ...RANGE, by: 'model' })).data;
    expect(byModel.map(({ model, margin_usd }) => [model, margin_usd])).toEqual([
      // 1,000 x 1.00 + 100 x 5.00, less 750, in 10^-6 USD
      ['claude-haiku-4-5', '0.00075'],
      [OPUS, undefined],
    ]);
    const csv = await gatewayCommand(
      ['usage', '--from', RANGE.from, '--until', RANGE.until, '--by', 'day'],
      { ADMIN_URL: gateway.adminUrl, ADMIN_TOKEN: gateway.running.dataDir!.secret('admin-token') },
    );
    expect(csv.out).toContain('unknown: 2 have no cost');
  });
});

it('COSTS=none records no cost', async () => {
  const gateway = await startTestGateway({ env: { COSTS: 'none' } });
  try {
    const { apiKey } = await gateway.createKey();
    await (await postMessages(gateway, apiKey, userMessage('Hello'))).text();
    const { data } = await gateway.call('listUsage', { ...RANGE, by: 'day' });
    expect(data).toMatchObject([{ requests: 1 }]);
    expect(Object.keys(data[0]!).filter((name) => /cost|margin/.test(name))).toEqual([]);
  } finally {
    await gateway.stop();
  }
});
