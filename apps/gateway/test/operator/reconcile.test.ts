/**
 * `farthing reconcile` on a running gateway, with both ledgers. It must find no difference from the
 * simulated provider's reports after a day of random traffic, and must find each kind of loss that
 * the tests cause.
 */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { BalanceStore } from '@gateway/balance-store';
import { openEmbeddedStore } from '@gateway/balance-store/embedded';
import { openPostgresStore } from '@gateway/balance-store/postgres';
import { formatUsd, parseUsd } from '@gateway/billing';
import { startUpstreamSimulator } from '@gateway/upstream-simulator';
import type { BilledUsage, TokenType, UpstreamSimulator } from '@gateway/upstream-simulator';
import { usePostgresServer } from '../../../../packages/balance-store/test/postgres-server.js';
import type { PostgresServer } from '../../../../packages/balance-store/test/postgres-server.js';
import {
  rewriteLedger,
  timeLiteral,
} from '../../../../packages/balance-store/test/rewrite-ledger.js';
import type { LedgerPlace } from '../../../../packages/balance-store/test/rewrite-ledger.js';
import { createRemoteCaller } from '../../src/operator/operations/callers.js';
import type { CallOperation, OperationOutput } from '../../src/operator/operations/operations.js';
import { unitsPerToken } from '../support/billed-prices.js';
import { gatewayCommand, spawnGateway } from '../support/gateway-process.js';
import type { GatewayProcess } from '../support/gateway-process.js';
import { postChat, postMessages, userMessage } from '../support/gateway.js';
import { waitUntilSteady } from '../support/steady-time.js';

type Env = Readonly<Record<string, string>>;
type Report = OperationOutput<'reconcileProvider'>;
type Difference = Report['differences'][number];

const ADMIN_TOKEN = 'admin-token-of-the-tests';
const ADMIN_KEY = 'sk-ant-admin-canary-of-the-tests';
const PEPPER = 'pepper of the tests of reports';
const DAY_MS = 86_400_000;
waitUntilSteady('day');
const TODAY = Math.floor(Date.now() / DAY_MS) * DAY_MS;
const dayText = (ms: number): string => new Date(ms).toISOString().slice(0, 10);
/** Until the day after tomorrow, because one charge is moved to tomorrow. */
const RANGE = ['--from', dayText(TODAY), '--until', dayText(TODAY + 2 * DAY_MS)];

/** One model for each kind of loss, so that each difference has one cause. */
const [TRAFFIC, CUT, SET_ASIDE, FOREIGN, WRITTEN_OFF, HELD, LOST, MIDNIGHT] = [
  'claude-sonnet-4-6',
  'claude-opus-4-6',
  'claude-haiku-4-5',
  'claude-opus-4-8',
  'claude-opus-4-7',
  'claude-sonnet-4-5',
  'claude-opus-4-5',
  'claude-opus-5',
] as const;

const ITEM_OF: Readonly<Record<TokenType, string>> = {
  uncached_input_tokens: 'input',
  output_tokens: 'output',
  cache_read_input_tokens: 'cache_read',
  'cache_creation.ephemeral_5m_input_tokens': 'cache_write_5m',
  'cache_creation.ephemeral_1h_input_tokens': 'cache_write_1h',
};

let postgres: PostgresServer;
const directories: string[] = [];
beforeAll(async () => {
  postgres = await usePostgresServer();
});
afterAll(async () => {
  await postgres.stop();
  for (const directory of directories) rmSync(directory, { recursive: true, force: true });
});

function newDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'gateway-reconcile-'));
  directories.push(directory);
  return directory;
}

interface Ledger {
  readonly env: Env;
  /** Opens the ledger a second time, while the gateway uses it. */
  open(): Promise<BalanceStore>;
  readonly place: LedgerPlace;
}

async function postgresLedger(): Promise<Ledger> {
  const connectionString = await postgres.createDatabase();
  return {
    env: { DATABASE_URL: connectionString },
    open: () => openPostgresStore({ connectionString, pepper: PEPPER }),
    place: { databaseUrl: connectionString },
  };
}

function embeddedLedger(): Promise<Ledger> {
  const dataDir = newDirectory();
  return Promise.resolve({
    env: { DATA_DIR: dataDir },
    open: () => openEmbeddedStore({ dataDir, pepper: PEPPER, access: 'guest' }),
    place: { dataDir },
  });
}

/** Moves the charges of a model to this time. */
function moveCharges({ place }: Ledger, model: string, time: Date): Promise<void> {
  return rewriteLedger(
    place,
    `UPDATE ledger SET created_at = ${timeLiteral(place, time)} WHERE model = '${model}'; ` +
      `UPDATE usage_hour SET hour = ${String(Math.floor(time.getTime() / 3_600_000))} ` +
      `WHERE model = '${model}'`,
  );
}

/** A pseudo-random sequence, the same at each run. */
function randomOf(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    return state % below;
  };
}

describe.each([
  ['PostgreSQL', postgresLedger],
  ['embedded', embeddedLedger],
])('reconcile: %s', (_name, openLedger) => {
  let simulator: UpstreamSimulator;
  let ledger: Ledger;
  let gateway: GatewayProcess;
  let call: CallOperation;
  let apiKey: string;
  let env: Env;

  beforeAll(async () => {
    simulator = await startUpstreamSimulator({
      apiKey: 'upstream-key',
      adminKey: ADMIN_KEY,
      allowScriptText: true,
      unitsPerToken,
    });
    ledger = await openLedger();
    env = {
      ...ledger.env,
      KEY_PEPPER: PEPPER,
      ADMIN_TOKEN,
      UPSTREAM_URL: simulator.url,
      UPSTREAM_API_KEY: 'upstream-key',
      ANTHROPIC_ADMIN_KEY: ADMIN_KEY,
      ANTHROPIC_ADMIN_URL: simulator.url,
      // What is charged is compared with the bill. The tests of a month compare costs.
      COSTS: 'none',
    };
    gateway = await spawnGateway({ ...env, OVERDRAFT: 'none', KEY_CONCURRENCY: '100' });
    call = createRemoteCaller({ url: gateway.adminUrl, token: ADMIN_TOKEN });
    apiKey = await newKey('1000');
  });
  afterAll(async () => {
    gateway.send('SIGKILL');
    await gateway.exited;
    await simulator.close();
  });

  async function newKey(balance: string): Promise<string> {
    const limits = { burst: 10_000, requests_per_minute: 100_000 };
    const key = await call('createKey', { name: 'test', balance_usd: balance, ...limits });
    return key.api_key ?? '';
  }

  const overApi = (): Env => ({ ADMIN_URL: gateway.adminUrl, ADMIN_TOKEN });

  async function reconcile(args: readonly string[] = [], how: Env = overApi()) {
    const ran = await gatewayCommand(['reconcile', ...RANGE, '--json', ...args], how);
    return { code: ran.code, report: JSON.parse(ran.out) as Report };
  }

  const scripted = (script: object, text = 'Hello') =>
    `[[script:${JSON.stringify(script)}]] ${text}`;

  /** @returns the usages that the provider billed for the requests of `work` */
  async function billing(work: () => Promise<unknown>): Promise<readonly BilledUsage[]> {
    const before = simulator.journal.billed().length;
    await work();
    return simulator.journal.billed().slice(before);
  }

  const askProvider = (model: string) =>
    fetch(`${simulator.url}/v1/messages`, {
      method: 'POST',
      headers: { 'x-api-key': 'upstream-key', 'anthropic-version': '2023-06-01' },
      body: JSON.stringify(userMessage('From elsewhere', { model })),
    }).then((response) => response.text());

  async function ask(model: string, script: object, more: object = {}, key = apiKey) {
    const body = userMessage(scripted(script), { model, ...more });
    const response = await postMessages(gateway, key, body);
    await response.text().catch(() => '');
    return response;
  }

  /** Expects the provider's report to exceed the ledger by exactly these tokens and their worth. */
  function expectMore(difference: Difference | undefined, billed: readonly BilledUsage[]): void {
    const expected = (Object.keys(ITEM_OF) as TokenType[]).flatMap((type) => {
      const tokens = billed.reduce((sum, usage) => sum + usage.tokens[type], 0);
      const model = billed[0]?.model ?? '';
      const worth = formatUsd(BigInt(tokens) * unitsPerToken(model, type));
      return tokens === 0 ? [] : [{ item: ITEM_OF[type], tokens, worth }];
    });
    expect(expected.length).toBeGreaterThan(0);
    expect(
      difference?.items.map((item) => ({
        item: item.item,
        tokens: (item.provider_tokens ?? 0) - (item.ledger_tokens ?? 0),
        worth: item.difference_usd,
      })),
    ).toEqual(expected);
  }

  // F114: the provider bills what the ledger does not have: responses cut off, charges set aside or
  // written off, holds left open, usage from elsewhere; refused keys, broken reports: each is found
  // with its tokens and its worth, its request is named, and nothing else is reported; an error
  // names the field.
  it('reports no difference, in tokens or money, after a day of random messages and chat completions', async () => {
    const random = randomOf(20261101);
    const some = async (): Promise<void> => {
      const [written5m, written1h] = [random(900), random(900)];
      const usage = {
        input_tokens: random(5_000),
        output_tokens: random(3_000),
        cache_read_input_tokens: random(2) * random(9_000),
        cache_creation_input_tokens: written5m + written1h,
        cache_creation: {
          ephemeral_5m_input_tokens: written5m,
          ephemeral_1h_input_tokens: written1h,
        },
      };
      const post = random(2) === 0 ? postMessages : postChat;
      const model = [TRAFFIC, CUT, SET_ASIDE][random(3)];
      const stream = random(2) === 0;
      const body = userMessage(scripted({ usage }), { model, stream, max_tokens: 3_000 });
      const response = await post(gateway, apiKey, body);
      expect(response.status).toBe(200);
      await response.text();
    };
    for (let round = 0; round < 20; round += 1) await Promise.all([some(), some(), some(), some()]);
    expect(simulator.journal.billed()).toHaveLength(80);
    const { code, report } = await reconcile();
    expect(report.differences).toEqual([]);
    expect(code).toBe(0);
    expect(report).toMatchObject({ is_within_tolerance: true, difference_usd: '0' });
    expect(report.compared).toBe(15);
    expect(report.provider_usd).toBe(report.ledger_usd);
    expect(parseUsd(report.ledger_usd)).toBeGreaterThan(parseUsd('0.1'));
  });

  // F114
  it('reports no difference after a client has left in the middle of a stream, because the client is charged', async () => {
    const leaving = new AbortController();
    const response = await fetch(`${gateway.url}/v1/messages`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${apiKey}`,
        'anthropic-version': '2023-06-01',
        'content-type': 'application/json',
      },
      body: JSON.stringify(
        userMessage(scripted({ eventDelayMs: 20 }), { stream: true, model: TRAFFIC }),
      ),
      signal: leaving.signal,
    });
    expect(response.status).toBe(200);
    await response.body?.getReader().read();
    leaving.abort();
    while (!gateway.output().includes('"client_left":true')) {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    expect((await reconcile()).report.differences).toEqual([]);
  });

  // F114
  it('names each loss with its tokens, its worth and its request, and reports nothing else', async () => {
    const cut = await billing(async () => {
      await ask(CUT, { cut: { afterEvents: 3, how: 'end' } }, { stream: true });
      // The reset may come before the gateway has read anything. The loss must be named anyway.
      await ask(CUT, { cut: { afterEvents: 3, how: 'reset' } }, { stream: true });
    });
    const setAside = await billing(() => ask(SET_ASIDE, { usage: { output_tokens: -4 } }));
    const foreign = await billing(() => askProvider(FOREIGN));
    const poor = await newKey('0.05');
    const dear = { usage: { input_tokens: 10, output_tokens: 3_500 } };
    expect((await ask(WRITTEN_OFF, dear, { max_tokens: 1_300 }, poor)).status).toBe(200);
    const held = await billing(() => askProvider(HELD));
    const { record } = await call('createKey', { name: 'holder', balance_usd: '5' }).then(
      (key) => ({
        record: key,
      }),
    );
    const beside = await ledger.open();
    await beside.placeHold({ requestId: 'req_held', keyId: record.id, amount: parseUsd('1') });
    beside.abandonHold('req_held');
    await beside.close();
    const lost = await billing(() => askProvider(LOST));
    const moved = await billing(() => ask(MIDNIGHT, {}));
    // A long stream may begin on the day before.
    const midnight = new Date(TODAY + DAY_MS + 3_000_000);
    await moveCharges(ledger, MIDNIGHT, midnight);
    const log = join(newDirectory(), 'gateway.log');
    const chargeLine = {
      level: 30,
      time: new Date().toISOString(),
      msg: 'request',
      request_id: 'req_restored',
      key_id: record.id,
      model: LOST,
      endpoint: 'messages',
      streamed: false,
      charge_usd: '1',
      input_tokens: 1,
      output_tokens: 1,
      cache_read_input_tokens: 0,
      cache_creation_input_tokens: 0,
    };
    while (!gateway.output().includes('"loss":"invalid_usage"')) {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    const failed = (id: string, fault: string, more: object) => ({
      level: 40,
      time: new Date().toISOString(),
      msg: 'request failed',
      request_id: id,
      key_id: record.id,
      model: FOREIGN,
      endpoint: 'messages',
      fault,
      ...more,
    });
    const lines = [
      chargeLine,
      failed('req_unanswered', 'ECONNRESET', { status: 502, streamed: false }),
      failed('req_refused', 'rate limit', { status: 429, streamed: false, upstream_status: 429 }),
      failed('req_not_sent', 'no ledger', { status: 503 }),
    ].map((line) => JSON.stringify(line));
    writeFileSync(log, `${gateway.output()}\n${lines.join('\n')}\n`);

    const { code, report } = await reconcile(['--log', log]);
    expect(code).toBe(1);
    const of = (model: string, day = TODAY) =>
      report.differences.find((found) => found.model === model && found.day === dayText(day));
    const causes = (difference: Difference | undefined) =>
      difference?.requests.map(({ cause }) => cause);
    expect(report.differences.map(({ day, model }) => `${day} ${model ?? ''}`).sort()).toEqual(
      [
        ...[CUT, SET_ASIDE, FOREIGN, WRITTEN_OFF, HELD, LOST, MIDNIGHT].map(
          (model) => `${dayText(TODAY)} ${model}`,
        ),
        `${dayText(TODAY + DAY_MS)} ${MIDNIGHT}`,
      ].sort(),
    );
    for (const [model, billed] of [
      [CUT, cut],
      [SET_ASIDE, setAside],
      [FOREIGN, foreign],
      [HELD, held],
      [LOST, lost],
      [MIDNIGHT, moved],
    ] as const) {
      expectMore(of(model), billed);
    }
    // A hold does not name its model, so it may explain every usage that is not charged.
    expect(causes(of(CUT))).toEqual(['hold_open', 'not_charged', 'not_charged']);
    expect(of(CUT)?.requests[1]).toMatchObject({ detail: 'truncated' });
    expect(causes(of(SET_ASIDE))).toEqual(['set_aside', 'hold_open']);
    expect(causes(of(FOREIGN))).toEqual(['hold_open', 'not_charged']);
    expect(of(FOREIGN)?.requests[1]).toMatchObject({ request_id: 'req_unanswered' });
    expect(of(HELD)?.requests).toEqual([
      expect.objectContaining({ request_id: 'req_held', key_id: record.id }),
    ]);
    expect(causes(of(LOST))).toEqual(['hold_open', 'not_in_ledger']);
    expect(of(LOST)?.requests[1]).toMatchObject({ request_id: 'req_restored' });
    expect(of(WRITTEN_OFF)?.items.map(({ item }) => item)).toEqual(['written_off']);
    expect(causes(of(WRITTEN_OFF))).toEqual(['written_off']);
    const [writeOff] = of(WRITTEN_OFF)?.items ?? [];
    expect(of(WRITTEN_OFF)?.requests[0]?.detail).toBe(
      `${writeOff?.difference_usd ?? ''} of ${dearPrice()} USD`,
    );
    expect(causes(of(MIDNIGHT))).toEqual(['in_flight_at_midnight', 'hold_open']);
    const tomorrow = of(MIDNIGHT, TODAY + DAY_MS);
    expect(causes(tomorrow)).toEqual(['in_flight_at_midnight']);
    expect(tomorrow?.requests[0]).toEqual(of(MIDNIGHT)?.requests[0]);
    expect(tomorrow?.requests[0]).toMatchObject({
      at: midnight.toISOString(),
      detail: 'charged 3000 s after midnight',
    });

    const total = report.differences.reduce(
      (sum, { difference_usd }) => sum + parseUsd(difference_usd),
      0n,
    );
    expect(report.difference_usd).toBe(formatUsd(total));
    expect((await reconcile(['--tolerance', report.difference_usd])).code).toBe(0);
    const below = formatUsd(total - 1n);
    expect((await reconcile(['--tolerance', below])).code).toBe(1);
    // Without ADMIN_URL, the command opens the ledger itself, and reports the same.
    const local = await reconcile([], env);
    expect(local).toEqual(await reconcile());
    const printed = await gatewayCommand(['reconcile', ...RANGE, '--log', log], overApi());
    expect(printed.code).toBe(1);
    expect(printed.out).toMatch(/NOT within the tolerance/);
    expect(printed.out).toContain('req_restored');
    expect(printed.out + printed.err + gateway.output()).not.toContain(ADMIN_KEY);
  });

  function dearPrice(): string {
    const input = unitsPerToken(WRITTEN_OFF, 'uncached_input_tokens');
    return formatUsd(10n * input + 3_500n * unitsPerToken(WRITTEN_OFF, 'output_tokens'));
  }

  // F114
  it('finds usage that the provider lost or counts differently', async () => {
    const before = (await reconcile()).report;
    await ask(TRAFFIC, { billed: { output_tokens: 1 }, usage: { output_tokens: 7 } });
    await ask(TRAFFIC, { billed: null, usage: { output_tokens: 7, input_tokens: 5 } });
    const { report } = await reconcile();
    expect(report.differences).toHaveLength(before.differences.length + 1);
    const found = report.differences.find(({ model }) => model === TRAFFIC);
    const short = (item: string) => {
      const { provider_tokens, ledger_tokens } = found!.items.find((each) => each.item === item)!;
      return ledger_tokens! - provider_tokens!;
    };
    expect([short('output'), short('input')]).toEqual([13, 5]);
  });

  // F114
  it.each([
    [
      'a refused key',
      { error: { type: 'authentication_error' } },
      /^farthing: ANTHROPIC_ADMIN_KEY/,
    ],
    ['a provider that is down', { error: { type: 'api_error' } }, /report with 500/],
    [
      'a page that is not an object',
      { body: '[]' },
      /report, page 1: Invalid input: expected object/,
    ],
    ['a page that is not JSON', { body: '<html>' }, /report, page 1: Invalid input/],
    ['no has_more', { alter: { has_more: undefined } }, /page 1: has_more: /],
    ['more without a page', { alter: { has_more: true } }, /page 1: next_page: is missing/],
    ['a day that was not asked for', { day: '2020-01-01T00:00:00Z' }, /starting_at: was not asked/],
    ['a part of a day', { day: '2020-01-01T01:00:00Z' }, /data\.0\.starting_at: must be 00:00/],
    ['a wrong count', { result: { output_tokens: -1 } }, /data\.0\.results\.0\.output_tokens: /],
    ['a missing count', { result: { cache_creation: {} } }, /cache_creation\.ephemeral_5m_/],
  ])('exits with status 3 and says why: %s', async (_what, fault, message) => {
    const alter = (page: Readonly<Record<string, unknown>>) => {
      const [first, ...rest] = page['data'] as Record<string, unknown>[];
      const [result, ...results] = (first?.['results'] ?? []) as object[];
      const bucket = {
        ...first,
        ...('day' in fault ? { starting_at: fault.day } : {}),
        results: 'result' in fault ? [{ ...result, ...fault.result }, ...results] : [],
      };
      return { ...page, data: [bucket, ...rest], ...('alter' in fault ? fault.alter : {}) };
    };
    const script = 'error' in fault || 'body' in fault ? fault : { alter };
    // Queued twice: the command requests both reports concurrently, and either request may take the
    // first script.
    simulator.scriptReport(script as never);
    simulator.scriptReport(script as never);
    const ran = await gatewayCommand(['reconcile', ...RANGE], overApi());
    expect([ran.code, ran.err]).toEqual([3, expect.stringMatching(message)]);
    expect(ran.out).toBe('');
  });

  // F114
  it.each([
    [{ amount: '1e3' }, /cost report, page 1: data\.0\.results\.0\.amount: must be a decimal/],
    [
      { amount: '0.0000000000001' },
      /amount: must be a decimal amount of cents with at most 12 decimals/,
    ],
    [{ amount: 5 }, /results\.0\.amount: /],
    [{ currency: 'EUR' }, /results\.0\.currency: /],
    [{ model: null }, /results\.0\.model: is missing for tokens/],
  ])('exits with status 3 for an invalid entry of the cost report: %j', async (wrong, message) => {
    const alter = (page: Readonly<Record<string, unknown>>) => {
      const text = JSON.stringify(page);
      // Only the cost report has amounts.
      if (!text.includes('"amount"')) return page;
      const [first] = page['data'] as { readonly results: readonly object[] }[];
      const results = [{ ...first?.results[0], ...wrong }];
      return { ...page, data: [{ ...first, results }] };
    };
    simulator.scriptReport({ alter });
    simulator.scriptReport({ alter });
    const ran = await gatewayCommand(['reconcile', ...RANGE], overApi());
    expect([ran.code, ran.err]).toEqual([3, expect.stringMatching(message)]);
  });

  // F114
  it('reports costs of the provider that are not for tokens, such as a web search', async () => {
    const before = (await reconcile()).report;
    const search = { amount: '2', currency: 'USD', cost_type: 'web_search', model: null };
    const alter = (page: Readonly<Record<string, unknown>>) => {
      if (!JSON.stringify(page).includes('"amount"')) return page;
      const [first, ...rest] = page['data'] as { readonly results: readonly object[] }[];
      return { ...page, data: [{ ...first, results: [...first!.results, search] }, ...rest] };
    };
    simulator.scriptReport({ alter });
    simulator.scriptReport({ alter });
    const { report } = await reconcile();
    expect(report.differences).toHaveLength(before.differences.length + 1);
    expect(report.differences.find(({ model }) => model === null)).toMatchObject({
      items: [{ item: 'web_search', provider_tokens: null, provider_usd: '0.02' }],
      requests: [],
    });
  });

  // F114
  it.each([
    ['--from', ['--from', '2026-13-01', '--until', '2026-12-01'], /--from .*must be a day/],
    ['--until', ['--from', '2026-11-02', '--until', '2026-11-02'], /until: must be after from/],
    ['the range', ['--from', '2020-01-01', '--until', '2026-11-02'], /until: must be at most 366/],
    ['--tolerance', [...RANGE, '--tolerance', '-1'], /--tolerance .*must be at least 0/],
    ['--tolerance', [...RANGE, '--tolerance', '1e3'], /--tolerance .*USD amount "1e3"/],
    ['--log', [...RANGE, '--log', '/does/not/exist'], /\/does\/not\/exist: ENOENT/],
    ['--log', [...RANGE, '--log', '/'], /\/: EISDIR/],
    ['--log', [...RANGE, '--log', __filename], /has no line of the gateway's log/],
    ['a part of a day', ['--from', '24h'], /--from: must be a day/],
  ])(
    'exits with status 2 and names the argument that cannot be used: %s',
    async (_what, args, message) => {
      const ran = await gatewayCommand(['reconcile', ...args], overApi());
      expect([ran.code, ran.err]).toEqual([2, expect.stringMatching(message)]);
      expect(ran.out).toBe('');
    },
  );

  // F114
  it.each([
    [{ from: 'x', until: '2026-11-02' }, /^from: must be a day/],
    [{ from: '2026-11-01', until: '2026-11-31' }, /^until: must be a day/],
    [{ from: '2026-11-02', until: '2026-11-01' }, /^until: must be after from/],
    [{ from: '2026-11-01', until: '2026-11-02', tolerance_usd: '-1' }, /^tolerance_usd: /],
  ])(
    'refuses invalid input over the admin API with 400, naming the field: %j',
    async (input, message) => {
      await expect(call('reconcileProvider', input)).rejects.toMatchObject({
        status: 400,
        message: expect.stringMatching(message),
      });
    },
  );

  it('exits with status 2 without an admin key for the reports, or with a key of another kind', async () => {
    const { ANTHROPIC_ADMIN_KEY: _key, ...without } = env;
    const ran = await gatewayCommand(['reconcile', ...RANGE], without);
    expect([ran.code, ran.err]).toEqual([
      2,
      expect.stringMatching(/^farthing: ANTHROPIC_ADMIN_KEY/),
    ]);
    const normal = await gatewayCommand(['reconcile', ...RANGE], {
      ...env,
      ANTHROPIC_ADMIN_KEY: 'sk-ant-api03-not-for-this',
    });
    expect([normal.code, normal.err]).toEqual([2, expect.stringContaining('must be sk-ant-admin')]);
  });

  // F114
  it('reads all pages of a long range', async () => {
    const long = ['--from', dayText(TODAY - 200 * DAY_MS), '--until', dayText(TODAY + 2 * DAY_MS)];
    const requests = simulator.journal.requests().length;
    const ran = await gatewayCommand(['reconcile', ...long, '--json'], overApi());
    const { report } = await reconcile();
    expect((JSON.parse(ran.out) as Report).differences).toEqual(report.differences);
    const asked = simulator.journal.requests().slice(requests);
    // 202 days, 31 in each page; then the two pages of the short range.
    expect(asked).toHaveLength(2 * 7 + 2);
  });
});
