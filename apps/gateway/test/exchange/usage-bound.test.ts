/** An answer cannot cost more than its request can cause, and an honest one is never set aside. */

import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import Anthropic from '@anthropic-ai/sdk';
import { defaultPriceTable, formatUsd } from '@gateway/billing';
import fc from 'fast-check';
import OpenAI from 'openai';
import { vectorsIn } from '../../../../packages/translator/test/vector-files.js';
import { createChargeScan } from '../../src/exchange/preparation/inspect-native-request.js';
import { createPreparer } from '../../src/exchange/preparation/prepare-request.js';
import { createUsageFinder } from '../../src/exchange/preparation/translated-findings.js';
import { NO_LIMITS } from '../support/no-limits.js';
import { PATHS, bodyFor, startTestGateway, userMessage } from '../support/gateway.js';
import type { TestGateway } from '../support/gateway.js';

const MODEL = 'claude-sonnet-4-6';
const FEATURES = 'web_search,code_execution,mcp,advisor,compaction,fallbacks,unknown_tools';

/** In units of 10^-14 USD, by the rates of the list: 3, 15, 0.30 and 3.75 USD per million. */
const priceOf = (usage: Readonly<Record<string, number>>): bigint =>
  BigInt(usage['input_tokens'] ?? 0) * 300_000_000n +
  BigInt(usage['output_tokens'] ?? 0) * 1_500_000_000n +
  BigInt(usage['cache_read_input_tokens'] ?? 0) * 30_000_000n +
  BigInt(usage['cache_creation_input_tokens'] ?? 0) * 375_000_000n;

const gateways = new Map<'bounded' | 'none', TestGateway>();
beforeAll(async () => {
  for (const overdraft of ['bounded', 'none'] as const) {
    const env = { OVERDRAFT: overdraft, PRICES: 'list', ALLOW_FEATURES: FEATURES };
    gateways.set(
      overdraft,
      await startTestGateway({ env, simulator: { lenient: ['known-members'] } }),
    );
  }
});
afterAll(async () => {
  for (const gateway of gateways.values()) await gateway.stop();
});
beforeEach(() => {
  for (const gateway of gateways.values()) gateway.simulator.reset();
});

const textOf = (text: string, more: Readonly<Record<string, unknown>> = {}) =>
  userMessage(text, { model: MODEL, max_tokens: 100, ...more });
const contentOf = (content: readonly object[], more: Readonly<Record<string, unknown>> = {}) =>
  userMessage('', {
    model: MODEL,
    max_tokens: 100,
    messages: [{ role: 'user', content }],
    ...more,
  });

async function answered(
  gateway: TestGateway,
  path: string,
  body: Readonly<Record<string, unknown>>,
  usage: Readonly<Record<string, unknown>>,
) {
  const { id, apiKey } = await gateway.createKey({ balance_usd: '1000' });
  gateway.simulator.script({ usage });
  const response = await fetch(`${gateway.url}${path}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'anthropic-version': '2023-06-01',
      authorization: `Bearer ${apiKey}`,
    },
    body: JSON.stringify(bodyFor(path, body)),
  });
  const text = await response.text();
  const { spent_usd: spent } = await gateway.call('showKey', { key_id: id });
  const day = 86_400_000;
  const [from, until] = [new Date(Date.now() - day), new Date(Date.now() + day)];
  const rows = await gateway.running.store.listQuarantined({ from, until, limit: 1_000 });
  const reason = rows.find(({ keyId }) => keyId === id)?.reason;
  return { status: response.status, text, spent, reason };
}

describe.each(['bounded', 'none'] as const)('with OVERDRAFT=%s, a usage', (overdraft) => {
  const gateway = () => gateways.get(overdraft)!;

  // F369: an answer reports more tokens or searches than its request can cause: it is set aside as
  // a whole with the alarm, the client gets an error, and nothing is charged.
  it.each([
    ['output beyond max_tokens', { input_tokens: 10, output_tokens: 1_000_000 }],
    ['output of 13 times max_tokens', { input_tokens: 10, output_tokens: 1_300 }],
    ['a prompt beyond the size of the request', { input_tokens: 9_999_999, output_tokens: 1 }],
    [
      'a cached prompt beyond that size',
      { input_tokens: 1, output_tokens: 1, cache_read_input_tokens: 200_000 },
    ],
    [
      'cache writes beyond that size',
      { input_tokens: 1, output_tokens: 1, cache_creation_input_tokens: 20_000 },
    ],
    [
      'searches that were not offered',
      { input_tokens: 10, output_tokens: 1, server_tool_use: { web_search_requests: 1_000_000 } },
    ],
  ])('with %s is set aside as a whole', async (_what, usage) => {
    const lost = async () => {
      const metrics = await (await fetch(`${gateway().adminUrl}/metrics`)).text();
      return Number(
        /^gateway_unbilled_total\{reason="invalid_usage"\} (\d+)$/m.exec(metrics)?.[1] ?? 0,
      );
    };
    for (const path of Object.values(PATHS)) {
      for (const stream of [false, true]) {
        const before = await lost();
        const { text, spent, reason } = await answered(
          gateway(),
          path,
          textOf('hi', { stream }),
          usage,
        );
        expect([path, text]).toEqual([
          path,
          expect.stringContaining('cannot be charged; nothing was charged'),
        ]);
        expect([spent, reason]).toEqual([
          '0',
          expect.stringContaining('the request cannot have caused'),
        ]);
        expect(await lost()).toBe(before + 1);
      }
    }
  });

  const image = { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } };
  const pdf = { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' };
  const search = { type: 'web_search_20250305', name: 'web_search', max_uses: 5 };

  // F370: an honest answer has more tokens than its request has bytes, or than its max_tokens:
  // charged.
  it.each<[string, object, Readonly<Record<string, number>>]>([
    // As many tokens as bytes, besides the provider's instructions for tools.
    ['a dense text', textOf('%'.repeat(50_000)), { input_tokens: 53_000, output_tokens: 100 }],
    [
      'a hundred tools',
      textOf('hi', {
        tools: Array.from({ length: 100 }, (_, index) => ({
          name: `t${String(index)}`,
          input_schema: { type: 'object' },
        })),
      }),
      { input_tokens: 12_000, output_tokens: 100 },
    ],
    ['thinking', textOf('hi', { max_tokens: 16_000 }), { input_tokens: 40, output_tokens: 16_000 }],
    [
      'a cached prefix that is read again',
      textOf('word '.repeat(20_000)),
      { input_tokens: 3, output_tokens: 9, cache_read_input_tokens: 20_100 },
    ],
    [
      '20 images by URL',
      contentOf(Array(20).fill(image)),
      { input_tokens: 96_000, output_tokens: 1 },
    ],
    [
      'a PDF of a hundred pages',
      contentOf([{ type: 'document', source: pdf }]),
      { input_tokens: 300_000, output_tokens: 100 },
    ],
    [
      'a PDF by URL that fills the window',
      contentOf([{ type: 'document', source: { type: 'url', url: 'https://example.com/a.pdf' } }]),
      { input_tokens: 990_000, output_tokens: 100 },
    ],
    [
      'a text that is divided for citations',
      contentOf([
        {
          type: 'document',
          source: { type: 'text', media_type: 'text/plain', data: '1.\n'.repeat(1_000) },
          citations: { enabled: true },
        },
      ]),
      { input_tokens: 20_000, output_tokens: 100 },
    ],
    [
      'a tool that the conversation refers to',
      textOf('hi', {
        messages: [
          { role: 'user', content: 'hi' },
          { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'find', input: {} }] },
          {
            role: 'user',
            content: [
              {
                type: 'tool_result',
                tool_use_id: 't',
                content: [{ type: 'tool_reference', tool_name: 'other' }],
              },
            ],
          },
        ],
      }),
      { input_tokens: 30_000, output_tokens: 100 },
    ],
    [
      'a loop of searches whose uses exceed max_uses',
      textOf('hi', { tools: [search], max_tokens: 8_192 }),
      { input_tokens: 1_800_000, output_tokens: 80_000, cache_read_input_tokens: 900_000 },
    ],
    [
      'web fetches',
      textOf('hi', { tools: [{ type: 'web_fetch_20250910', name: 'web_fetch' }] }),
      { input_tokens: 700_000, output_tokens: 1_000 },
    ],
    [
      'a member of a later version',
      textOf('hi', { hologram: 1 }),
      { input_tokens: 400_000, output_tokens: 9_000 },
    ],
  ])('of %s is charged', async (_what, body, usage) => {
    for (const stream of [false, true]) {
      const of = { ...(body as Readonly<Record<string, unknown>>), stream };
      const { status, spent, reason } = await answered(gateway(), '/v1/messages', of, usage);
      expect([status, reason, spent]).toEqual([200, undefined, formatUsd(priceOf(usage))]);
    }
  });

  it('of an advisor or a compacting edit is charged, where they are allowed', async () => {
    if (overdraft === 'none') return;
    const advisor = {
      type: 'advisor_message',
      model: 'claude-opus-4-6',
      input_tokens: 400_000,
      output_tokens: 30_000,
    };
    const tools = [{ type: 'advisor_20260301', name: 'advisor', model: 'claude-opus-4-6' }];
    const iterations = [{ type: 'message', input_tokens: 10, output_tokens: 20 }, advisor, advisor];
    const usage = { input_tokens: 10, output_tokens: 20, iterations };
    const advised = await answered(gateway(), '/v1/messages', textOf('hi', { tools }), usage);
    // Twice 400,000 tokens at 5 USD per million, and 30,000 at 25 USD.
    const ofAdvisor = 2n * (400_000n * 500_000_000n + 30_000n * 2_500_000_000n);
    expect(advised).toMatchObject({
      status: 200,
      spent: formatUsd(priceOf({ input_tokens: 10, output_tokens: 20 }) + ofAdvisor),
    });
    const edits = [{ type: 'compact_20260112' }];
    const compaction = { type: 'compaction', input_tokens: 180_000, output_tokens: 3_500 };
    const compacted = {
      input_tokens: 23_000,
      output_tokens: 100,
      iterations: [compaction, { type: 'message', input_tokens: 23_000, output_tokens: 100 }],
    };
    const body = textOf('hi', { context_management: { edits } });
    expect(await answered(gateway(), '/v1/messages', body, compacted)).toMatchObject({
      status: 200,
      spent: formatUsd(priceOf({ input_tokens: 203_000, output_tokens: 3_600 })),
    });
  });
});

describe('the bound of a usage', () => {
  const preparerWith = (overdraft: 'bounded' | 'none') =>
    createPreparer({
      models: defaultPriceTable().list(),
      fees: new Map(),
      allow: new Set(['web_search', 'code_execution', 'mcp']),
      overdraft,
      chat: { jsonSchema: 'native', reasoning: 'reasoning_content', cache: 'auto' },
    });
  const [withHolds, without] = [preparerWith('none'), preparerWith('bounded')];

  // F371: what is held and what is set aside are computed by different rules: a charge within its
  // hold is never set aside.
  it('is never lower than what is held for the same request', () => {
    const block = fc.oneof(
      fc.string().map((text) => ({ type: 'text', text })),
      fc.constant({ type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } }),
      fc.constant({ type: 'document', source: { type: 'url', url: 'https://example.com/a.pdf' } }),
    );
    const tool = fc.oneof(
      fc.constant({ type: 'bash_20250124', name: 'bash' }),
      fc
        .record({ max_uses: fc.option(fc.nat(20), { nil: undefined }) })
        .map((uses) => ({ type: 'web_search_20250305', name: 'web_search', ...uses })),
    );
    const request = fc.record({
      model: fc.constant(MODEL),
      max_tokens: fc.oneof(fc.nat(64_000), fc.constant(128_000)),
      messages: fc
        .array(block, { minLength: 1 })
        .map((content) => [{ role: 'user', content }] as const),
      tools: fc.array(tool, { maxLength: 3 }),
    });
    fc.assert(
      fc.property(request, fc.boolean(), (body, hasLongContext) => {
        const job = { format: 'messages', body: Buffer.from(JSON.stringify(body)) } as const;
        const prepared = withHolds({ ...job, hasLongContext }, NO_LIMITS);
        if (prepared.outcome !== 'prepared') throw new Error(prepared.outcome);
        const { promptTokens, outputTokens } = prepared.usageBound;
        const most = BigInt(promptTokens) * 375_000_000n + BigInt(outputTokens) * 1_500_000_000n;
        expect(most).toBeGreaterThanOrEqual(prepared.chargeBound!);
        expect(without({ ...job, hasLongContext }, NO_LIMITS)).toMatchObject({
          usageBound: prepared.usageBound,
        });
      }),
    );
  });

  // F372: a translated body has a block that its marks do not find: its bound would be too low.
  // Every vector of the translator is found to be as a scan of its body says.
  it('of a translated request is that of the body that goes upstream', () => {
    const scan = createChargeScan();
    const find = createUsageFinder(scan);
    let marked = 0;
    const formats = [
      ['chat.completions', 'vectors/request', 'chat'],
      ['responses', 'vectors/responses/request', 'request'],
    ] as const;
    for (const [format, folder, member] of formats) {
      for (const [name, vector] of vectorsIn<Readonly<Record<string, unknown>>>(folder)) {
        const asked = vector[member];
        if (typeof asked !== 'object' || asked === null) continue;
        const body = Buffer.from(JSON.stringify({ ...asked, model: MODEL }));
        const prepared = without({ format, body, hasLongContext: false }, NO_LIMITS);
        if (prepared.outcome !== 'prepared') continue;
        const scanned = scan(prepared.body);
        if (scanned.outcome === 'refused') throw new Error(name);
        const found = find(prepared.body, MODEL);
        expect([name, found.findings]).toEqual([name, scanned.findings]);
        expect([name, found.maxTokens]).toEqual([name, scanned.limit.maxTokens]);
        if (found.findings.images > 0 || found.findings.serverToolPath !== undefined) marked += 1;
      }
    }
    expect(marked).toBeGreaterThan(10);
  });

  // F372
  it('finds the type of a block wherever it lies in a long body', () => {
    const scanned = { outcome: 'refused', refusal: {} as never } as const;
    const find = createUsageFinder(() => scanned);
    const start = `{"model":"${MODEL}","max_tokens":7,"messages":["`;
    for (const where of [0, 32_700, 32_740, 32_750, 32_760, 32_768, 65_530, 100_000]) {
      const text = 'x'.repeat(Math.max(0, where - start.length));
      const body = Buffer.from(`${start}${text}",{"type":"document"}]}`);
      expect([where, find(body, MODEL).isOpen]).toEqual([where, true]);
    }
  });

  it('is that of any request if a body that the translation nested too deeply cannot be scanned', () => {
    const find = createUsageFinder(() => ({ outcome: 'refused', refusal: {} as never }));
    const start = `{"model":"${MODEL}","max_tokens":7,"messages":[`;
    expect(find(Buffer.from(`${start}{"type":"image"}]}`), MODEL)).toMatchObject({
      isOpen: true,
      maxTokens: 7,
    });
    expect(find(Buffer.from(`${start}]}`), MODEL)).toMatchObject({ isOpen: false, maxTokens: 7 });
  });
});

describe('the SDKs', () => {
  const gateway = () => gateways.get('bounded')!;
  const usage = {
    input_tokens: 200_000,
    output_tokens: 3_000,
    cache_read_input_tokens: 90_000,
    cache_creation_input_tokens: 0,
  };
  const spent = async (id: string) => (await gateway().call('showKey', { key_id: id })).spent_usd;

  // F370
  it('get honest answers to a tool loop, a PDF and images by URL, and each costs what it says', async () => {
    const { id, apiKey } = await gateway().createKey({ balance_usd: '1000' });
    const anthropic = new Anthropic({ apiKey, baseURL: gateway().url });
    const openai = new OpenAI({ apiKey, baseURL: `${gateway().url}/v1` });
    const url = 'https://example.com/a.png';
    const images = Array.from({ length: 60 }, () => ({
      type: 'image' as const,
      source: { type: 'url' as const, url },
    }));
    const pdf = {
      type: 'document' as const,
      source: { type: 'base64' as const, media_type: 'application/pdf' as const, data: 'JVBERi0=' },
    };
    const native = (content: Anthropic.ContentBlockParam[], tools: Anthropic.ToolUnion[] = []) =>
      ({
        model: MODEL,
        max_tokens: 2_000,
        messages: [{ role: 'user' as const, content }],
        tools,
      }) satisfies Anthropic.MessageCreateParams;
    const asked = [
      () => anthropic.messages.create(native([pdf])),
      () => anthropic.messages.stream(native([pdf])).finalMessage(),
      () => anthropic.messages.create(native(images)),
      () =>
        anthropic.messages
          .stream(
            native(
              [{ type: 'text', text: 'hi' }],
              [{ type: 'web_search_20250305', name: 'web_search' }],
            ),
          )
          .finalMessage(),
      () =>
        openai.chat.completions.create({
          model: MODEL,
          max_completion_tokens: 2_000,
          messages: [
            {
              role: 'user',
              content: [
                {
                  type: 'file',
                  file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERi0=' },
                },
              ],
            },
          ],
        }),
      () =>
        openai.chat.completions.create({
          model: MODEL,
          max_completion_tokens: 2_000,
          messages: [
            {
              role: 'user',
              content: images.map(() => ({ type: 'image_url' as const, image_url: { url } })),
            },
          ],
        }),
      () =>
        openai.responses.create({
          model: MODEL,
          max_output_tokens: 2_000,
          input: 'hi',
          tools: [{ type: 'web_search' }],
        }),
    ];
    for (const ask of asked) {
      gateway().simulator.script({ usage });
      const answer = await ask();
      const counted = JSON.stringify(answer.usage);
      expect(counted).toMatch(/"(?:output_tokens|completion_tokens)":3000/);
    }
    expect(await spent(id)).toBe(formatUsd(BigInt(asked.length) * priceOf(usage)));
  });

  // F369
  it('get an error for usage that their request cannot have, and pay nothing', async () => {
    const { id, apiKey } = await gateway().createKey({ balance_usd: '1000' });
    const anthropic = new Anthropic({ apiKey, baseURL: gateway().url, maxRetries: 0 });
    gateway().simulator.script({ usage: { input_tokens: 10, output_tokens: 1_000_000 } });
    const request = textOf('hi') as unknown as Anthropic.MessageCreateParamsNonStreaming;
    await expect(anthropic.messages.create(request)).rejects.toMatchObject({ status: 502 });
    expect(await spent(id)).toBe('0');
  });
});
