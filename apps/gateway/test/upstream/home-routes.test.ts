/**
 * Routes, fences, costs and prices with three homes: two in the EU and one in the US. The requests
 * that arrive at each, and the ledger, say who answered and what that costs.
 */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { formatUsd } from '@gateway/billing';
import type { ScriptedReply } from '@gateway/upstream-simulator';
import { readConfig } from '../../src/config/config.js';
import { readFiles } from '../../src/config/settings.js';
import { UNCLEAR, startFaultyHome } from '../support/faulty-home.js';
import type { FaultyHome } from '../support/faulty-home.js';
import { MODEL, POSTS, startTestGateway, userMessage } from '../support/gateway.js';
import type { TestGateway } from '../support/gateway.js';
import { eventually } from '../support/until.js';

const HOUR_MS = 3_600_000;
const NAMES = ['eu1', 'eu2', 'us'] as const;
type Name = (typeof NAMES)[number];
const EU = { order: ['eu1', 'eu2'], fence: true };

const homes = {} as Record<Name, FaultyHome>;
let folder: string;
let file: string;
let prices: string;
let gateway: TestGateway;
let strict: TestGateway;
let starts = 0;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gateway-routes-'));
  file = join(folder, 'upstreams.json');
  prices = join(folder, 'prices.json');
  writeFileSync(prices, JSON.stringify({ extends: 'list', factor: '2' }));
  for (const name of NAMES) homes[name] = await startFaultyHome(name);
  write({});
  // A reload reads the environment of the process again.
  Object.assign(process.env, { UPSTREAMS: file, PRICES: prices });
  const env = { UPSTREAMS: file, PRICES: prices, UPSTREAM_URL: '', UPSTREAM_API_KEY: '' };
  gateway = await startTestGateway({ env });
  strict = await startTestGateway({ env: { ...env, OVERDRAFT: 'none' } });
});
afterEach(() => {
  for (const name of NAMES) {
    Object.assign(homes[name], { fault: undefined, asked: 0 });
    homes[name].simulator.reset();
  }
});
afterAll(async () => {
  delete process.env['UPSTREAMS'];
  delete process.env['PRICES'];
  await gateway.stop();
  await strict.stop();
  for (const name of NAMES) await homes[name].stop();
  rmSync(folder, { recursive: true, force: true });
});

interface Setup {
  /** Members of single entries. */
  readonly entries?: Partial<Record<Name, object>>;
  readonly routes?: readonly object[];
}

function write({ entries = {}, routes }: Setup): void {
  // After a reload, changed accounts are new ones, which have not failed yet.
  starts += 1;
  const accounts = NAMES.map((name) => ({
    name,
    url: homes[name].url,
    api_key: `key-of-${name}`,
    place: name.slice(0, 2),
    requests_per_minute: 1e6 + starts,
    ...entries[name],
  }));
  writeFileSync(file, JSON.stringify({ accounts, ...(routes && { routes }) }));
}

async function use(setup: Setup, on: TestGateway = gateway): Promise<void> {
  write(setup);
  await on.running.reload();
  for (const name of NAMES) homes[name].asked = 0;
}

interface Key {
  readonly id: string;
  readonly apiKey: string;
  readonly accountId: string;
}

async function newKey(input: object = {}, on: TestGateway = gateway): Promise<Key> {
  const key = await on.call('createKey', { name: 'test', balance_usd: '100', ...input });
  return { id: key.id, apiKey: key.api_key ?? '', accountId: key.account_id };
}

async function ask(
  key: Key,
  more: Readonly<Record<string, unknown>> = {},
  { on = gateway, headers = {} }: { on?: TestGateway; headers?: Record<string, string> } = {},
) {
  const answer = await POSTS.messages(on, key.apiKey, userMessage('Hello', more), headers);
  const text = await answer.text().catch(() => '');
  return { status: answer.status, headers: answer.headers, text };
}

interface Charge {
  readonly upstream_account?: unknown;
  readonly cost_usd?: unknown;
  readonly amount_usd: string;
  readonly usage?: { readonly input_tokens: number; readonly output_tokens: number };
}

/** The newest first. */
async function chargesOf(key: Key, on: TestGateway = gateway): Promise<readonly Charge[]> {
  expect(await on.call('auditLedger', {})).toMatchObject({ is_sound: true, gap_usd: '0' });
  const { data } = await on.call('listLedger', { key_id: key.id, kind: 'charge' });
  return data;
}

const asked = () => NAMES.map((name) => homes[name].asked);
const answeredBy = async (key: Key) =>
  (await chargesOf(key)).map((charge) => charge.upstream_account);

/** Tokens of the charge at these rates in USD per million, times a factor in thousandths. */
function at({ usage }: Charge, rateIn: number, rateOut: number, thousandths = 1_000): string {
  const { input_tokens: input, output_tokens: output } = usage!;
  expect(Math.min(input, output)).toBeGreaterThan(0);
  // 10^-6 USD are 10^8 units.
  const micros = BigInt(input) * BigInt(rateIn) + BigInt(output) * BigInt(rateOut);
  return formatUsd((micros * BigInt(thousandths) * 10n ** 8n) / 1_000n);
}

/** The list's rates of the model. */
const [LIST_IN, LIST_OUT] = [3, 15];

describe('a route', () => {
  it('serves an account, the groups of its members and its tags, in this order of precedence', async () => {
    const key = await newKey();
    const { accountId } = key;
    const group = await gateway.call('createGroup', { account_id: accountId, name: 'chair' });
    const below = await gateway.call('createGroup', {
      account_id: accountId,
      name: 'course',
      parent_id: group.id,
    });
    const member = await gateway.call('createMember', {
      account_id: accountId,
      name: 'Ada',
      group_id: below.id,
    });
    const ofMember = await newKey({
      account_id: accountId,
      member_id: member.id,
      balance_usd: undefined,
    });
    await use({
      routes: [
        { order: ['us'] },
        { account: accountId, order: ['eu1'] },
        { group: group.id, order: ['eu2'] },
        { tag: 'night', order: ['us', 'eu1'] },
      ],
    });
    await ask(await newKey());
    expect(asked()).toEqual([0, 0, 1]);
    await ask(key);
    expect(asked()).toEqual([1, 0, 1]);
    await ask(ofMember);
    expect(asked()).toEqual([1, 1, 1]);
    await ask(ofMember, {}, { headers: { 'x-gateway-tag': 'night' } });
    expect(asked()).toEqual([1, 1, 2]);
    expect(await answeredBy(ofMember)).toEqual(['us', 'eu2']);
  });

  it('moves a request to the next home, which the entry, the sums and the record name', async () => {
    const key = await newKey();
    await use({ routes: [{ account: key.accountId, order: ['eu1', 'eu2'] }] });
    homes.eu1.simulator.script({ error: { type: 'overloaded_error' } });
    expect((await ask(key)).status).toBe(200);
    expect(asked()).toEqual([1, 1, 0]);
    expect(await answeredBy(key)).toEqual(['eu2']);
    await eventually(async () => {
      const { data } = await gateway.call('listRequests', { key_id: key.id });
      expect(data).toMatchObject([{ upstream_account: 'eu2' }]);
    });
    const hour = Math.floor(Date.now() / HOUR_MS) * HOUR_MS;
    const sums = await gateway.call('listUsage', {
      from: new Date(hour - HOUR_MS).toISOString(),
      until: new Date(hour + 2 * HOUR_MS).toISOString(),
      by: 'upstream',
      key_id: key.id,
    });
    expect(sums.data).toMatchObject([{ upstream_account: 'eu2' }]);
  });

  it('is replaced by a reload, and a file that cannot be used changes nothing', async () => {
    const key = await newKey();
    await use({ routes: [{ account: key.accountId, ...EU }] });
    await ask(key);
    await use({ routes: [{ account: key.accountId, order: ['us'], fence: true }] });
    await ask(key);
    expect(asked()).toEqual([0, 0, 1]);
    write({ routes: [{ account: key.accountId, order: ['moon'] }] });
    await expect(gateway.running.reload()).rejects.toThrow('"moon" is neither a name');
    await ask(key);
    expect(asked()).toEqual([0, 0, 2]);
    expect(await answeredBy(key)).toEqual(['us', 'us', 'eu1']);
  });

  it('skips a home that lacks what the request uses; what all lack is refused by name', async () => {
    const key = await newKey();
    const lacks = ['structured_outputs'];
    const format = { type: 'json_schema', schema: { type: 'object', additionalProperties: false } };
    const more = { output_config: { format } };
    const routes = [{ account: key.accountId, ...EU }];
    await use({ entries: { eu1: { lacks } }, routes });
    expect((await ask(key, more)).status).toBe(200);
    expect((await ask(key)).status).toBe(200);
    expect(asked()).toEqual([1, 1, 0]);
    await use({ entries: { eu1: { lacks }, eu2: { lacks } }, routes });
    const { status, text } = await ask(key, more);
    expect([status, JSON.parse(text).error]).toEqual([
      400,
      {
        type: 'invalid_request_error',
        message:
          'output_config.format: no upstream of this gateway offers structured_outputs to your account',
      },
    ]);
    expect(asked()).toEqual([0, 0, 0]);
  });
});

const STREAM_FAULTS: Readonly<Record<string, ScriptedReply>> = {
  'begins its stream with an error': { streamError: { afterEvents: 0, type: 'overloaded_error' } },
  'fails within its stream': { streamError: { afterEvents: 1, type: 'overloaded_error' } },
  'is killed within its stream': { cut: { afterEvents: 1 } },
};
const REPLIES: Readonly<Record<string, ScriptedReply>> = {
  'is overloaded': { error: { type: 'overloaded_error' } },
  fails: { error: { type: 'api_error' } },
  'limits the request': { error: { type: 'rate_limit_error' }, headers: { 'retry-after': '60' } },
  'limits it for days': {
    error: { type: 'rate_limit_error' },
    headers: { 'retry-after': '259200' },
  },
  'refuses the credential': { error: { type: 'authentication_error' } },
  'has no credit': { error: { type: 'billing_error' } },
  'refuses the model': { error: { type: 'permission_error' } },
  'does not know the model': { error: { type: 'not_found_error' } },
};

describe('a fence', () => {
  // F528: every home of a fence fails, in each way that moves requests: no other home gets one.
  it.each([
    ...Object.entries(REPLIES).map(([what, reply]) => [what, { reply }, false] as const),
    ...Object.entries(STREAM_FAULTS).map(([what, reply]) => [what, { reply }, true] as const),
    ...Object.entries(UNCLEAR).map(([what, fault]) => [what, { fault }, false] as const),
  ])('is not left when each of its homes %s', async (_what, failure, onlyStreams) => {
    const key = await newKey();
    await use({
      entries: Object.fromEntries(NAMES.map((name) => [name, { unclear_failures: 'move' }])),
      routes: [
        { account: key.accountId, ...EU },
        { tag: 'fast', order: ['us', 'eu1'] },
      ],
    });
    for (const name of ['eu1', 'eu2'] as const) {
      if ('fault' in failure) homes[name].fault = failure.fault;
      else homes[name].simulator.scriptWhen(() => true, failure.reply);
    }
    for (const stream of onlyStreams ? [true] : [false, true]) {
      for (const headers of [{}, { 'x-gateway-tag': 'fast' }] as Record<string, string>[]) {
        // Twice: the second finds the homes benched.
        for (let n = 0; n < 2; n += 1) {
          const { status, text } = await ask(key, { stream }, { headers });
          if (status === 200 && !stream) throw new Error(`served: ${text}`);
          if (status === 200) expect(text).toContain('event: error');
        }
      }
    }
    expect(homes.us.asked).toBe(0);
    expect(homes.us.simulator.journal.billed()).toEqual([]);
    expect(homes.eu1.asked + homes.eu2.asked).toBeGreaterThan(0);
    expect(await chargesOf(key)).toEqual([]);
  });

  it('is not left when its homes cannot be reached', async () => {
    const key = await newKey();
    const gone = { url: 'http://127.0.0.1:1' };
    await use({ entries: { eu1: gone, eu2: gone }, routes: [{ account: key.accountId, ...EU }] });
    expect((await ask(key)).status).toBeGreaterThanOrEqual(500);
    expect(asked()).toEqual([0, 0, 0]);
  });

  it('without a home that serves the model, or with no home left, answers as unknown', async () => {
    const key = await newKey();
    const other = { models: { 'claude-haiku-4-5': 'small' } };
    await use({ entries: { eu1: other, eu2: other }, routes: [{ account: key.accountId, ...EU }] });
    const routes = [
      { account: key.accountId, ...EU },
      { tag: 'us', order: ['us'], fence: true },
    ];
    const message = `model: no upstream of this gateway serves ${MODEL} to your account`;
    const first = await ask(key);
    expect([first.status, JSON.parse(first.text).error.message]).toEqual([404, message]);
    await use({ routes });
    const second = await ask(key, {}, { headers: { 'x-gateway-tag': 'us' } });
    expect([second.status, JSON.parse(second.text).error.message]).toEqual([404, message]);
    expect(asked()).toEqual([0, 0, 0]);
  });

  it('leaves a request alone whose home is killed in mid-stream: no other gets it, nothing is charged', async () => {
    const key = await newKey();
    await use({ routes: [{ account: key.accountId, ...EU }] });
    homes.eu1.fault = ({ res }) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' });
      const usage = { input_tokens: 9, output_tokens: 1 };
      const message = { id: 'msg_1', type: 'message', role: 'assistant', content: [], usage };
      const start = { type: 'message_start', message: { ...message, model: MODEL } };
      res.write(`event: message_start\ndata: ${JSON.stringify(start)}\n\n`, () => {
        res.socket?.destroy();
      });
    };
    const { status, text } = await ask(key, { stream: true });
    expect([status, text]).toEqual([200, expect.stringMatching(/message_start[^]*event: error/)]);
    expect(asked()).toEqual([1, 0, 0]);
    expect(await chargesOf(key)).toEqual([]);
  });
});

describe('the cost of an answer', () => {
  const entries = {
    eu1: { costs: '1.1' },
    eu2: { costs: { extends: 'costs', models: [{ id: MODEL, rate_in: '4', rate_out: '16' }] } },
  };

  it('is that of the home that gave it, also after a failover, with the charge as ever', async () => {
    const key = await newKey();
    await use({ entries, routes: [{ account: key.accountId, order: ['eu1', 'eu2', 'us'] }] });
    await ask(key);
    homes.eu1.simulator.script({ error: { type: 'overloaded_error' } });
    await ask(key);
    for (const name of ['eu1', 'eu2'] as const)
      homes[name].simulator.scriptWhen(() => true, { error: { type: 'overloaded_error' } });
    await ask(key);
    const charges = await chargesOf(key);
    const [us, eu2, eu1] = charges;
    expect(charges.map((charge) => [charge.upstream_account, charge.cost_usd])).toEqual([
      // The list has a price for the US.
      ['us', at(us!, LIST_IN, LIST_OUT, 1_100)],
      ['eu2', at(eu2!, 4, 16)],
      ['eu1', at(eu1!, LIST_IN, LIST_OUT, 1_100)],
    ]);
    for (const charge of charges)
      expect(charge.amount_usd).toBe(`-${at(charge, LIST_IN, LIST_OUT, 2_000)}`);
  });

  it('is that of the home for streams, whether read or left', async () => {
    const key = await newKey();
    await use({ entries, routes: [{ account: key.accountId, order: ['eu2'] }] });
    await ask(key, { stream: true });
    const leaving = new AbortController();
    homes.eu2.simulator.script({ content: [{ type: 'text', text: 'word '.repeat(200) }] });
    const answer = await fetch(`${gateway.url}/v1/messages`, {
      method: 'POST',
      headers: {
        'x-api-key': key.apiKey,
        'anthropic-version': '2023-06-01',
        'content-type': 'application/json',
      },
      body: JSON.stringify(userMessage('Hello', { stream: true })),
      signal: leaving.signal,
    });
    await answer.body!.getReader().read();
    leaving.abort();
    await eventually(async () => {
      expect(await chargesOf(key)).toHaveLength(2);
    });
    for (const charge of await chargesOf(key)) expect(charge.cost_usd).toBe(at(charge, 4, 16));
  });

  it('is that of the geography that the usage, the request, the profile or the place names', async () => {
    const key = await newKey();
    const costs = {
      extends: 'costs',
      models: [
        {
          id: MODEL,
          inference_geo: {
            us: { factor: '1.1' },
            eu: { factor: '1.2' },
            apac: { factor: '1.3' },
            jp: { factor: '1.4' },
          },
        },
      ],
    };
    const routes = [{ account: key.accountId, order: ['eu1'], fence: true }];
    const profile = { costs, models: { [MODEL]: `apac.anthropic.${MODEL}` } };
    const cases = [
      [{ costs }, {}, {}, 1_200],
      [{ costs, place: undefined }, {}, {}, 1_000],
      [{ costs }, { inference_geo: 'us' }, {}, 1_100],
      [profile, {}, {}, 1_300],
      [{ costs }, { inference_geo: 'us' }, { inference_geo: 'jp' }, 1_400],
    ] as const;
    for (const [entry, more, reported, thousandths] of cases) {
      await use({ entries: { eu1: entry }, routes });
      homes.eu1.fault = ({ req, res }) => {
        req.resume();
        const usage = { input_tokens: 1_000, output_tokens: 7, ...reported };
        const message = { id: 'msg_1', type: 'message', role: 'assistant', content: [] };
        res.writeHead(200, { 'content-type': 'application/json' });
        res.end(JSON.stringify({ ...message, model: MODEL, stop_reason: 'end_turn', usage }));
      };
      expect((await ask(key, more)).status).toBe(200);
      const [charge] = await chargesOf(key);
      expect(charge?.cost_usd).toBe(at(charge!, LIST_IN, LIST_OUT, thousandths));
    }
  });
});

describe('prices of a home', () => {
  const entries = {
    eu1: { prices: '1.25' },
    eu2: { prices: { extends: 'prices', models: [{ id: MODEL, rate_in: '9', rate_out: '45' }] } },
  };

  it('are what a customer pays if that home answered, and a factor also of own prices', async () => {
    const key = await newKey();
    const half = await newKey();
    await gateway.call('updateAccount', { account_id: half.accountId, prices: '0.5' });
    const order = ['eu1', 'eu2', 'us'];
    await use({
      entries,
      routes: [key, half].map(({ accountId }) => ({ account: accountId, order })),
    });
    const first = await ask(key);
    homes.eu1.simulator.script({ error: { type: 'overloaded_error' } });
    await ask(key);
    for (const name of ['eu1', 'eu2'] as const)
      homes[name].simulator.scriptWhen(() => true, { error: { type: 'overloaded_error' } });
    await ask(key);
    const charges = await chargesOf(key);
    const [us, eu2, eu1] = charges;
    expect(
      charges.map(({ upstream_account, amount_usd }) => [upstream_account, amount_usd]),
    ).toEqual([
      ['us', `-${at(us!, LIST_IN, LIST_OUT, 2_000)}`],
      ['eu2', `-${at(eu2!, 9, 45)}`],
      ['eu1', `-${at(eu1!, LIST_IN, LIST_OUT, 2_500)}`],
    ]);
    expect(first.headers.get('x-gateway-charge-usd')).toBe(at(eu1!, LIST_IN, LIST_OUT, 2_500));
    // After the reload, no home is avoided.
    for (const name of NAMES) homes[name].simulator.reset();
    await use({ entries, routes: [{ account: half.accountId, order }] });
    await ask(half);
    const [ofHalf] = await chargesOf(half);
    expect(ofHalf?.amount_usd).toBe(`-${at(ofHalf!, LIST_IN, LIST_OUT, 1_250)}`);
  });

  it('are held at the dearest home that may answer, and charged at the one that answered', async () => {
    const key = await newKey({ balance_usd: '0.1' }, strict);
    const dear = { prices: '100' };
    const fenced = { account: key.accountId, order: ['us'], fence: true };
    // A part of the prompt and 100 tokens of output cost far less at the usual prices.
    const more = { max_tokens: 100 };
    await use({ entries: { eu1: dear }, routes: [fenced] }, strict);
    expect((await ask(key, more, { on: strict })).status).toBe(200);
    await use({ entries: { eu1: dear }, routes: [{ ...fenced, fence: false }] }, strict);
    const refused = await ask(key, more, { on: strict });
    expect([refused.status, asked()]).toEqual([402, [0, 0, 0]]);
    await strict.call('topUp', { key_id: key.id, top_up_id: 'more', amount_usd: '100' });
    expect((await ask(key, more, { on: strict })).status).toBe(200);
    const charges = await chargesOf(key, strict);
    expect(charges.map(({ amount_usd }) => amount_usd)).toEqual(
      charges.map((charge) => `-${at(charge, LIST_IN, LIST_OUT, 2_000)}`),
    );
  });
});

describe('a charge that was lost and is booked again', () => {
  it('has the price and the cost of the home that its record names', async () => {
    const { id } = await newKey();
    const entries = {
      eu1: { prices: '1.25', costs: '1.1' },
      us: { prices: '1.5' },
    };
    await use({ entries });
    const counts = { cache_read_input_tokens: 0, cache_creation_input_tokens: 0 };
    const lost = { key_id: id, model: MODEL, input_tokens: 10, output_tokens: 20, ...counts };
    const charges = ['eu1', 'eu2', 'us'].map((upstream_account, index) => ({
      request_id: `req_of_${id}_${String(index)}`,
      upstream_account,
      ...lost,
    }));
    await gateway.call('rechargeUsages', { charges });
    const { data } = await gateway.call('listLedger', { key_id: id, kind: 'charge' });
    const booked = (data as readonly Charge[]).map((charge) => [
      charge.upstream_account,
      charge.amount_usd,
      charge.cost_usd,
    ]);
    // 10 x 3 + 20 x 15 = 330 in 10^-6 USD, of which the usual price is twice.
    expect(booked.toSorted()).toEqual([
      ['eu1', '-0.000825', '0.000363'],
      ['eu2', '-0.00066', '0.00033'],
      ['us', '-0.00099', '0.000363'],
    ]);
  });
});

describe('costs and prices of a home that cannot be used', () => {
  const problem = (entry: object, config: Readonly<Record<string, string>> = {}) => {
    write({ entries: { us: entry } });
    return () => readFiles(readConfig({ UPSTREAMS: file, PRICES: prices, ...config }));
  };
  const onlyHaiku = (extended: object = {}) => ({
    models: [
      {
        id: 'claude-haiku-4-5',
        display_name: 'Haiku',
        rate_in: '1',
        rate_out: '5',
        max_output_tokens: 64_000,
        context_window: 200_000,
        traits: {
          sampling: 'accepted',
          forced_tool_choice: 'accepted',
          effort: [],
          thinking_off: 'omit',
        },
      },
    ],
    ...extended,
  });

  it.each([
    ['a factor of no costs', { costs: '2' }, { COSTS: 'none' }, 'costs: a factor needs COSTS'],
    ['no number', { costs: 'half' }, {}, 'costs: must be a factor such as "1.1"'],
    ['an unknown table', { costs: { extends: 'mine' } }, {}, 'costs: extends: must be one of'],
    ['a model without costs', { costs: onlyHaiku() }, {}, `costs: has no rates of ${MODEL}`],
    ['a model without prices', { prices: onlyHaiku() }, {}, `prices: has no rates of ${MODEL}`],
    [
      'prices beside the specification',
      { prices: '1.1' },
      { PRICES: 'specification' },
      'prices: needs another table in PRICES',
    ],
    ['rates that need rounding', { prices: '1.000001' }, {}, 'prices: '],
  ] as const)('%s: nothing starts', (_what, entry, config, message) => {
    expect(problem(entry, config)).toThrow(`UPSTREAMS: accounts.2.${message}`);
  });

  it('need no rates of models that the home does not serve', () => {
    const models = { 'claude-haiku-4-5': 'small' };
    expect(problem({ models, costs: onlyHaiku(), prices: onlyHaiku() })).not.toThrow();
  });
});
