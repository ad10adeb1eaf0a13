/**
 * The provider's list as the table of prices: what a running gateway charges, records, shows and
 * admits with `PRICES=list`.
 */

import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { formatUsd, listPriceTable, parseUsd } from '@gateway/billing';
import { admittedFeatures } from '../../src/config/admitted-features.js';
import { createPreparer } from '../../src/exchange/preparation/prepare-request.js';
import { postChat, postMessages, startTestGateway, userMessage } from '../support/gateway.js';
import type { TestGateway } from '../support/gateway.js';
import { ALL_MODELS, requestOf, scripted, vectors } from '../support/list-vectors.js';
import { NO_LIMITS } from '../support/no-limits.js';
import { untilSteady } from '../support/steady-time.js';

interface StatementJson {
  readonly charged_usd: string;
  readonly closing_balance_usd: string;
  readonly lines: readonly { readonly amount_usd: string }[];
  readonly charges: readonly { readonly fees_usd?: string }[];
}
const TABLE = listPriceTable(Date.now());
const OPUS = 'claude-opus-5-5';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway({
    env: { PRICES: 'list', ...ALL_MODELS },
    simulator: { lenient: ['known-members'] },
  });
});
afterAll(() => gateway.stop());
beforeEach(() => {
  gateway.simulator.reset();
});

const chargesOf = async (keyId: string) =>
  (await gateway.call('listLedger', { key_id: keyId, kind: 'charge' })).data.flatMap((entry) =>
    entry.kind === 'charge' ? [entry] : [],
  );

describe('with PRICES=list', () => {
  it.each(vectors)('$row: $name', async (vector) => {
    const { id, apiKey } = await gateway.createKey();
    const { total } = vector;
    gateway.simulator.script(scripted(vector));
    const response = await postMessages(gateway, apiKey, requestOf(vector));
    expect([response.status, response.headers.get('x-gateway-charge-usd')]).toEqual([200, total]);
    const charges = await chargesOf(id);
    const sum = charges.reduce((all, { amount_usd: amount }) => all - parseUsd(amount), 0n);
    expect(formatUsd(sum)).toBe(total);
    expect((await gateway.call('showKey', { key_id: id })).spent_usd).toBe(total);
  });

  it('records why a rate applies, and the fees; a remark is left out if there is a price', async () => {
    const { id, apiKey } = await gateway.createKey();
    const usage = {
      input_tokens: 1_000,
      output_tokens: 100,
      speed: 'fast',
      inference_geo: 'us',
      server_tool_use: { web_search_requests: 10 },
    };
    gateway.simulator.script({ usage });
    await postMessages(gateway, apiKey, userMessage('Hello', { model: OPUS, speed: 'fast' }));
    const [charge] = await chargesOf(id);
    // 1,000 x 8.00 x 1.1 / 10^6 + 100 x 40.00 x 1.1 / 10^6 + 10 x 0.01
    expect(charge).toMatchObject({
      amount_usd: '-0.1132',
      remarks: null,
      rates: { input: '8.8', output: '44' },
      pricing: {
        terms: { speed: 'fast', inference_geo: 'us' },
        fees: [{ what: 'web_search_requests', units: 10, unit_usd: '0.01', amount_usd: '0.1' }],
      },
    });
    gateway.simulator.script({ usage: { ...usage, speed: 'warp' } });
    await postMessages(gateway, apiKey, userMessage('Hello', { model: OPUS }));
    expect((await chargesOf(id))[0]?.remarks).toBe('speed: "warp"');
    gateway.simulator.script({ usage: { ...usage, service_tier: 'batch' } });
    await postMessages(gateway, apiKey, userMessage('Hello', { model: OPUS }));
    expect((await chargesOf(id))[0]?.remarks).toBeNull();
  });

  it('says in each file and list what a charge consists of, and all of it adds up', async () => {
    await untilSteady('day');
    const { id, apiKey } = await gateway.createKey();
    const day = new Date().toISOString().slice(0, 7);
    // With a document of many pages.
    const source = { type: 'url', url: 'https://example.com/long.pdf' };
    const messages = [{ role: 'user', content: [{ type: 'document', source }] }];
    const haiku = { model: 'claude-haiku-5-5', max_tokens: 10, messages };
    for (const usage of [
      { input_tokens: 100_001, output_tokens: 1 },
      { input_tokens: 10, output_tokens: 1, server_tool_use: { web_search_requests: 2 } },
      { input_tokens: 10, output_tokens: 1 },
    ]) {
      gateway.simulator.script({ usage });
      await postMessages(gateway, apiKey, haiku);
    }
    const dashboard = async (path: string) => {
      const response = await fetch(`${gateway.url}/v1/dashboard/${path}`, {
        headers: { authorization: `Bearer ${apiKey}` },
      });
      return response.text();
    };
    // 100,001 x 0.50 + 1 x 2.50, then twice 10 x 0.10 + 1 x 0.50, in 10^-6 USD, and 2 x 0.01 USD.
    const spent = '0.070006';
    const csv = await dashboard('usage?format=csv');
    expect(csv.split('\n')[0]).toMatch(/,terms,fees_usd,/);
    expect(csv).toContain('above_prompt_tokens=100000');
    const statement = JSON.parse(await dashboard(`statement?month=${day}`)) as StatementJson;
    expect(statement.charged_usd).toBe(spent);
    const lines = statement.lines
      .slice(0, -1)
      .map((line: { amount_usd: string }) => line.amount_usd);
    const closing = lines.reduce((sum, amount) => sum + parseUsd(amount), 0n);
    expect(formatUsd(closing)).toBe(statement.closing_balance_usd);
    expect(statement.charges.map(({ fees_usd: fees }) => fees)).toEqual(
      expect.arrayContaining(['0.02', undefined]),
    );
    expect(await dashboard(`statement?month=${day}&format=csv`)).toContain('fees');
    const hour = Date.now() - (Date.now() % 3_600_000);
    const range = {
      from: new Date(hour - 3_600_000).toISOString(),
      until: new Date(hour + 7_200_000).toISOString(),
    };
    const { data } = await gateway.call('listUsage', { ...range, by: 'model', key_id: id });
    expect(data).toMatchObject([{ requests: 3, charged_usd: spent }]);
    expect((await gateway.call('showKey', { key_id: id })).spent_usd).toBe(spent);
    expect((await gateway.call('auditLedger', {})).is_sound).toBe(true);
  });

  it('shows its prices to customers, with bands, circumstances and fees', async () => {
    const { apiKey } = await gateway.createKey();
    const response = await fetch(`${gateway.url}/v1/dashboard/prices`, {
      headers: { authorization: `Bearer ${apiKey}` },
    });
    const { data } = (await response.json()) as { data: { model: string }[] };
    expect(data.find(({ model }) => model === 'claude-haiku-5-5')).toMatchObject({
      rates: { input: '0.1', output: '0.5' },
      special_rates: [
        { inference_geo: 'us', rates: { input: '0.11' } },
        { service_tier: 'batch', rates: { input: '0.05' } },
        { above_prompt_tokens: 100_000, rates: { input: '0.5', cache_write_1h: '1' } },
      ],
      fees_usd: { web_search_requests: '0.01' },
    });
  });

  it('admits what it has prices for', async () => {
    const { apiKey } = await gateway.createKey();
    const search = { type: 'web_search_20250305', name: 'web_search', max_uses: 2 };
    for (const more of [{ tools: [search] }, { speed: 'fast' }, { inference_geo: 'us' }]) {
      const request = userMessage('Hello', { model: OPUS, ...more });
      expect((await postMessages(gateway, apiKey, request)).status).toBe(200);
    }
    const chat = userMessage('Hello', { model: OPUS, web_search_options: {} });
    expect((await postChat(gateway, apiKey, chat)).status).toBe(200);
    const sent = JSON.parse(String(gateway.simulator.journal.requests().at(-1)?.body));
    expect(sent.tools).toMatchObject([{ name: 'web_search' }]);
  });

  it('books lost charges again at the prices of the record', async () => {
    const { id } = await gateway.createKey();
    const counts = { cache_read_input_tokens: 0, cache_creation_input_tokens: 0 };
    const charge = {
      request_id: 'req_lost',
      key_id: id,
      model: OPUS,
      ...counts,
      input_tokens: 1_000,
      output_tokens: 100,
      pricing: {
        terms: { speed: 'fast', inference_geo: 'us' },
        fees: [{ what: 'web_search_requests', units: 10 }],
      },
    };
    const call = (charge_usd: string) =>
      gateway.call('rechargeUsages', { charges: [{ ...charge, charge_usd }] });
    expect(await call('0.1')).toMatchObject({ booked: 0, refused: [{ request_id: 'req_lost' }] });
    expect(await call('0.1132')).toMatchObject({ booked: 1, charged_usd: '0.1132' });
    expect((await gateway.call('auditLedger', {})).is_sound).toBe(true);
  });
});

describe('work beside the counts of the response', () => {
  const ADVISOR = { type: 'advisor_20260301', name: 'advisor', model: 'claude-opus-5' };
  const run = (type: string, model: string, output: number) => ({
    type,
    model,
    input_tokens: 1_000,
    output_tokens: output,
  });

  // F387: compaction and advisors are refused although the table prices all that they use, and the
  // refusal says that they cost more than tokens, which is not so.
  it.each([
    [
      'a compaction',
      { context_management: { edits: [{ type: 'compact_20260112' }] } },
      run('compaction', OPUS, 100),
      // Twice 1,000 x 4.00 + 100 x 20.00, in 10^-6 USD.
      '0.012',
    ],
    // 1,000 x 4.00 + 100 x 20.00 and 1,000 x 5.00 + 200 x 25.00.
    ['an advisor', { tools: [ADVISOR] }, run('advisor_message', 'claude-opus-5', 200), '0.016'],
  ])(
    'such as %s is served, and charged at the price of its model',
    async (_what, more, run_, usd) => {
      const { apiKey } = await gateway.createKey();
      const own = run('message', OPUS, 100);
      const usage = { input_tokens: 1_000, output_tokens: 100, iterations: [own, run_] };
      gateway.simulator.script({ usage });
      const headers = { 'anthropic-beta': 'compact-2026-01-12,advisor-tool-2026-03-01' };
      const body = userMessage('Hello', { model: OPUS, ...more });
      const response = await postMessages(gateway, apiKey, body, headers);
      const text = await response.text();
      expect([response.status, response.headers.get('x-gateway-charge-usd'), text]).toEqual([
        200,
        usd,
        expect.stringContaining('"iterations"'),
      ]);
    },
  );
});

describe('the features that are admitted', () => {
  const none = { allowedFeatures: new Set(), refusedFeatures: new Set() } as never;

  it('are those that the table prices, and those that are allowed, without those that are refused', () => {
    expect([...admittedFeatures(none, TABLE)].sort()).toEqual([
      'advisor',
      'compaction',
      'fallbacks',
      'fast_mode',
      'inference_geo',
      'web_search',
    ]);
    const config = {
      allowedFeatures: new Set(['mcp']),
      refusedFeatures: new Set(['web_search', 'fallbacks', 'advisor']),
    } as never;
    expect([...admittedFeatures(config, TABLE)].sort()).toEqual([
      'compaction',
      'fast_mode',
      'inference_geo',
      'mcp',
    ]);
  });
});

describe('the charge bound of a request at the prices of the list', () => {
  const prepare = createPreparer({
    models: TABLE.list(),
    fees: TABLE.fees,
    allow: admittedFeatures({ allowedFeatures: new Set(), refusedFeatures: new Set() }, TABLE),
    overdraft: 'none',
    chat: { jsonSchema: 'ignored', reasoning: 'none', cache: 'client' },
  });
  const boundOf = (model: string, more: object = {}) => {
    const body = Buffer.from(
      JSON.stringify({
        model,
        max_tokens: 1_000,
        messages: [{ role: 'user', content: 'Hello' }],
        ...more,
      }),
    );
    const size = body.length;
    const preparation = prepare({ format: 'messages', body, hasLongContext: false }, NO_LIMITS);
    if (preparation.outcome === 'too_large') throw new Error('too large');
    return preparation.outcome === 'refused'
      ? { refusal: preparation.refusal.message }
      : { usd: formatUsd(preparation.chargeBound!), promptTokens: BigInt(size) + 2_000n };
  };
  const bound = (promptTokens: bigint, perMillion: readonly [string, string]) =>
    formatUsd(
      (promptTokens * parseUsd(perMillion[0]) + 1_000n * parseUsd(perMillion[1])) / 1_000_000n,
    );

  it('is that of the dearest region, without fast mode unless the request asks for it', () => {
    const usual = boundOf(OPUS);
    // One-hour writes at 4.00 x 2 x 1.1, output at 20.00 x 1.1.
    expect(usual.usd).toBe(bound(usual.promptTokens!, ['8.8', '22']));
    for (const more of [{ speed: 'fast' }, { fallbacks: [{ model: OPUS, speed: 'fast' }] }]) {
      const fast = boundOf(OPUS, more);
      const perModel = bound(fast.promptTokens!, ['17.6', '44']);
      const models = 'fallbacks' in more ? 2n : 1n;
      expect(fast.usd).toBe(formatUsd(models * parseUsd(perModel)));
    }
  });

  it('is that of the band that the prompt can reach', () => {
    const short = boundOf('claude-haiku-5-5');
    expect(short.usd).toBe(bound(short.promptTokens!, ['0.22', '0.55']));
    const long = boundOf('claude-haiku-5-5', { system: 'x'.repeat(100_000) });
    expect(long.usd).toBe(bound(long.promptTokens!, ['1.1', '2.75']));
  });

  // F387
  it.each([
    ['context_management.edits.0.type', { context_management: { edits: [{ type: 'compact_2' }] } }],
    ['tools.0.type', { tools: [{ type: 'advisor_20260301', name: 'a', model: OPUS }] }],
  ])('does not exist for what %s asks for, and the refusal says so', (path, more) => {
    expect(boundOf(OPUS, more).refusal).toBe(
      `${path}: cannot be used on this gateway, because its cost has no limit; before a request is ` +
        'sent, the gateway sets aside the most it can cost',
    );
  });

  it('has the fee of each search that the request allows, and must know how many', () => {
    const tool = (more: object) => ({ type: 'web_search_20250305', name: 'web_search', ...more });
    const searches = (count: number) => boundOf(OPUS, { tools: [tool({ max_uses: count })] });
    const turns = parseUsd(searches(12).usd!) - parseUsd(searches(10).usd!);
    // Ten turns at most are counted for both, so two more searches cost their fees.
    expect(formatUsd(turns)).toBe('0.02');
    expect(boundOf(OPUS, { tools: [tool({})] }).refusal).toMatch(/^tools\.0: cannot be used/);
  });
});
