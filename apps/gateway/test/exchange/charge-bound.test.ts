import { describe, expect, it } from '@jest/globals';
import { defaultPriceTable } from '@gateway/billing';
import { createPreparer } from '../../src/exchange/preparation/prepare-request.js';
import { NO_LIMITS } from '../support/no-limits.js';

const price = defaultPriceTable().find('claude-sonnet-4-6')!;
/**
 * In millionths of a USD. Divided by a rate in USD per million tokens, this gives tokens. The
 * highest rate of a prompt is 3.75 (cache writes).
 */
const inUsdPerMillion = (units: bigint) => Number(units) / 1e14 / 1e-6;
const preparerWith = (fees: Parameters<typeof createPreparer>[0]['fees']) =>
  createPreparer({
    models: defaultPriceTable().list(),
    fees,
    allow: new Set([
      'compaction',
      'web_search',
      'code_execution',
      'mcp',
      'advisor',
      'unknown_tools',
    ]),
    overdraft: 'none',
    chat: { jsonSchema: 'ignored', reasoning: 'none', cache: 'client' },
  });
const withoutFees = preparerWith(new Map());
const boundOf = (bytes: Uint8Array, hasLongContext = false, prepare = withoutFees) => {
  const preparation = prepare({ format: 'messages', body: bytes, hasLongContext }, NO_LIMITS);
  if (preparation.outcome === 'too_large') throw new Error('refused for a limit that is not set');
  return preparation;
};
const amountOf = (body: unknown, hasLongContext = false) => {
  const preparation = boundOf(bytesOf(body), hasLongContext);
  if (preparation.outcome === 'refused') throw new Error(preparation.refusal.message);
  return preparation.chargeBound!;
};
const promptTokens = (body: unknown) => Math.round(inUsdPerMillion(amountOf(body)) / 3.75);

const request = (content: unknown, more: object = {}) => ({
  model: price.id,
  max_tokens: 0,
  messages: [{ role: 'user', content }],
  ...more,
});
const bytesOf = (body: unknown) => Buffer.from(JSON.stringify(body));
const bytes = (body: unknown) => bytesOf(body).length;

describe('the charge bound', () => {
  it('counts every byte as a token at the highest prompt rate, and max_tokens at the output rate', () => {
    const body = request('héllo'.repeat(1_000));
    expect(promptTokens(body)).toBe(bytes(body) + 2_000);
    const longer = { ...body, max_tokens: 1_000 };
    const more = amountOf(longer) - amountOf(body);
    expect(more).toBe(1_000n * 1_500_000_000n + 3n * 375_000_000n);
  });

  it('adds images and built-in tools, which have more tokens than bytes', () => {
    const image = { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } };
    const inResult = { type: 'tool_result', tool_use_id: 't', content: [image, image] };
    const body = request([image, inResult, { type: 'text', text: '"type":"image"' }], {
      system: [{ type: 'text', text: 'x' }],
      tools: [
        { name: 'mine', input_schema: { type: 'object', properties: { type: { type: 'image' } } } },
        { type: 'custom', name: 'mine2', input_schema: { type: 'object' } },
        { type: 'bash_20250124', name: 'bash' },
      ],
    });
    expect(promptTokens(body)).toBe(bytes(body) + 2_000 + 3 * 5_000 + 3_000);
  });

  it('counts a whole context window for a document whose pages cannot be counted here', () => {
    for (const source of [
      { type: 'url', url: 'https://example.com/a.pdf' },
      { media_type: 'application/pdf', data: 'JVBERi0=', type: 'base64' },
    ]) {
      const nested = { type: 'tool_result', content: [{ source, type: 'document' }] };
      expect(promptTokens(request([{ type: 'document', source }]))).toBe(price.contextWindow);
      expect(promptTokens(request([nested]))).toBe(price.contextWindow);
    }
  });

  it('recognises names and values that are written with escapes', () => {
    const written = JSON.stringify(request([{ type: 'image', source: { type: 'url', url: 'x' } }]));
    const escaped = Buffer.from(written.replace('"image"', String.raw`"\u0069mage"`));
    expect(boundOf(escaped)).toMatchObject({
      outcome: 'prepared',
      chargeBound: BigInt(escaped.length + 2_000 + 5_000) * 375_000_000n,
    });
  });

  it.each([
    ['type', '"source":{"type":"text","type":"url","url":"https://example.com/a.pdf"}'],
    [
      'source',
      '"source":{"type":"text"},"cache_control":{"type":"ephemeral"},"source":{"type":"url"}',
    ],
  ])('counts a whole context window for a document with a repeated %s', (_what, source) => {
    const written = JSON.stringify(request([{ type: 'document', source: 'here' }]));
    const repeated = Buffer.from(written.replace('"source":"here"', () => source));
    expect(boundOf(repeated)).toMatchObject({
      outcome: 'prepared',
      chargeBound: BigInt(price.contextWindow) * 375_000_000n,
    });
  });

  it('counts bytes for documents of plain text', () => {
    const plain = {
      type: 'document',
      source: { type: 'text', media_type: 'text/plain', data: 'text' },
    };
    const blocks = {
      type: 'document',
      source: { type: 'content', content: [{ type: 'text', text: 'x' }, { type: 'image' }] },
    };
    const body = request([plain, blocks]);
    expect(promptTokens(body)).toBe(bytes(body) + 2_000 + 5_000);
  });

  it('is the same for a request that only compacts as for a reply, because each reads once and writes at most max_tokens', () => {
    const reply = request('Hello', { max_tokens: 100 });
    const compaction = { ...reply, compaction: { type: 'summarize' } };
    const longer = BigInt(bytes(compaction) - bytes(reply)) * 375_000_000n;
    expect(amountOf(compaction)).toBe(amountOf(reply) + longer);
  });

  it('does not exist if the upstream may compact any number of times', () => {
    const compacting = {
      edits: [{ type: 'clear_tool_uses_20250919' }, { type: 'compact_20260112' }],
    };
    const compacted = bytesOf(request('Hello', { context_management: compacting }));
    expect(boundOf(compacted)).toMatchObject({
      outcome: 'refused',
      refusal: { status: 400, param: 'context_management.edits.1.type' },
    });
    const clearing = { edits: [{ type: 'clear_thinking_20251015' }] };
    const body = request('"compact_20260112"', { context_management: clearing });
    expect(promptTokens(body)).toBe(bytes(body) + 2_000);
  });

  it('counts no more prompt tokens than the context window, which the upstream enforces', () => {
    expect(promptTokens(request('x'.repeat(3_000_000)))).toBe(price.contextWindow);
  });

  describe('of fees', () => {
    const fee = 10n ** 12n;
    /** How many fees are set aside, or the place that has no limit. */
    const unitsOf = (counter: string, tools: readonly object[], more: object = {}) => {
      const body = request('Hello', { max_tokens: 1_000, tools, ...more });
      const withFee = preparerWith(new Map([[counter, fee]]));
      const preparation = boundOf(bytesOf(body), false, withFee);
      if (preparation.outcome === 'refused') return preparation.refusal.param;
      return (preparation.chargeBound! - amountOf(body)) / fee;
    };
    const tool = (type: string, more: object = {}) => ({ type, name: 'x', ...more });
    const search = (more: object) => tool('web_search_20250305', more);

    it('is that of as many searches as the tools allow, which must be a number', () => {
      const searches = (...tools: object[]) => unitsOf('web_search_requests', tools);
      expect(searches(search({ max_uses: 3 }))).toBe(3n);
      expect(searches({ max_uses: 2.5, ...search({}) }, search({ max_uses: 4 }))).toBe(7n);
      expect(searches(tool('web_fetch_20250910', { max_uses: 3 }))).toBe(0n);
      expect(searches(search({}))).toBe('tools.0');
      expect(searches(search({ max_uses: 1 }), search({ max_uses: 'many' }))).toBe('tools.1');
    });

    // F309: a price table has a fee for another counter than searches: a hold covers as many of
    // them as the tools allow; a request without such a limit gets 400 with `OVERDRAFT=none`.
    it.each([
      ['web_fetch_requests', 'web_fetch_20250910'],
      ['code_execution_requests', 'code_execution_20250825'],
      ['tool_search_requests', 'tool_search_tool_regex_20251119'],
      ['tool_search_requests', 'tool_search_tool_bm25'],
      ['mcp_toolset_requests', 'mcp_toolset'],
      // A tool that only a later version of the API has.
      ['teleport_requests', 'teleport_20270101'],
    ])('is that of each %s that tools of type %s allow', (counter, type) => {
      const units = (...tools: object[]) => unitsOf(counter, tools);
      expect(units(tool(type, { max_uses: 3 }), search({ max_uses: 5 }))).toBe(3n);
      expect(units(tool(type, { max_uses: 3 }), tool(type, { max_uses: 4 }))).toBe(7n);
      expect(units(tool(type, { max_uses: 0 }))).toBe(0n);
      expect(units(search({ max_uses: 2 }), tool(type))).toBe('tools.1');
      expect(units(tool(type, { max_uses: 3e9 }))).toBe('tools.0');
    });

    // F309
    it('adds up over the counters of several tools', () => {
      const tools = [search({ max_uses: 3 }), tool('web_fetch_20250910', { max_uses: 5 })];
      const body = request('Hello', { tools });
      const fees = new Map([
        ['web_search_requests', fee],
        ['web_fetch_requests', 10n * fee],
      ]);
      const preparation = boundOf(bytesOf(body), false, preparerWith(fees));
      if (preparation.outcome === 'refused') throw new Error(preparation.refusal.message);
      expect(preparation.chargeBound! - amountOf(body)).toBe(53n * fee);
    });

    // F309
    it('counts both tools if a definition has two types, because the upstream may read either', () => {
      const type = '"type":"web_fetch_20250910","type":"web_search_20250305"';
      const body = request('Hello', { tools: [{ type: 'here', max_uses: 3 }] });
      const repeated = Buffer.from(JSON.stringify(body).replace('"type":"here"', type));
      const amounts = ['web_search_requests', 'web_fetch_requests', 'teleport_requests'].map(
        (counter) => boundOf(repeated, false, preparerWith(new Map([[counter, fee]]))),
      );
      const bound = boundOf(repeated);
      if (bound.outcome === 'refused') throw new Error(bound.refusal.message);
      expect(amounts).toMatchObject([
        { chargeBound: bound.chargeBound! + 3n * fee },
        { chargeBound: bound.chargeBound! + 3n * fee },
        { outcome: 'refused' },
      ]);
    });

    // F309
    it('has no bound if a tool that filters by code may raise the counter of code', () => {
      const codes = (type: string) =>
        unitsOf('code_execution_requests', [tool(type, { max_uses: 1 })]);
      expect(['web_search_20250305', 'web_fetch_20250910'].map(codes)).toEqual([0n, 0n]);
      expect(['web_search_20260209', 'web_fetch_20260309'].map(codes)).toEqual([
        'tools.0',
        'tools.0',
      ]);
    });

    // F309
    it('has no bound for a counter that is named after no tool, if the provider runs any tool', () => {
      const units = (...tools: object[]) => unitsOf('container_hours', tools);
      expect(units()).toBe(0n);
      expect(units({ name: 'mine' }, tool('bash_20250124'))).toBe(0n);
      expect(units({ name: 'mine' }, search({ max_uses: 1 }))).toBe('tools.1');
      const servers = { mcp_servers: [{ type: 'url' }] };
      expect(unitsOf('container_hours', [], servers)).toBe('mcp_servers');
      expect(unitsOf('mcp_toolset_requests', [], servers)).toBe('mcp_servers');
      expect(unitsOf('web_search_requests', [], servers)).toBe(0n);
    });
  });

  it('counts a whole context window for each turn of a tool that the provider runs', () => {
    const { contextWindow } = price;
    const turns = (...tools: object[]) => {
      const body = request('Hello', { max_tokens: 1_000, tools });
      const amount = amountOf(body);
      const perTurn = BigInt(contextWindow) * 375_000_000n + 1_000n * 1_500_000_000n;
      return amount % perTurn === 0n ? Number(amount / perTurn) : amount;
    };
    const fetches = (more: object) => ({ type: 'web_fetch_20250910', name: 'web_fetch', ...more });
    expect(turns(fetches({ max_uses: 1 }))).toBe(2);
    expect(turns(fetches({ max_uses: 2 }), { max_uses: 3, type: 'web_search_20250305' })).toBe(6);
    // The provider pauses after ten turns.
    expect(turns(fetches({}))).toBe(10);
    expect(turns(fetches({ max_uses: 500 }))).toBe(10);
    expect(turns(fetches({ max_uses: null }), { type: 'custom', max_uses: 0 })).toBe(10);
    expect(turns({ type: 'tool_search_tool_regex_20251119' })).toBe(10);
    // No other member is mistaken for the tool's own limit.
    const hologram = { hologram: [{ max_uses: 0 }] };
    const body = request('Hello', { ...hologram, max_tokens: 1_000, tools: [fetches({})] });
    expect(amountOf(body)).toBe(
      10n * (BigInt(contextWindow) * 375_000_000n + 1_000n * 1_500_000_000n),
    );
    const added = {
      type: 'tool_addition',
      tool: { type: 'tool_definition', definition: fetches({ max_uses: 1 }) },
    };
    expect(promptTokens(request([added]))).toBe(2 * contextWindow);
    expect(promptTokens(request('Hello', { mcp_servers: [{ type: 'url' }] }))).toBe(
      10 * contextWindow,
    );
  });

  it('does not exist with an advisor, which is another model', () => {
    const body = bytesOf(request('Hello', { tools: [{ type: 'advisor_20260301' }] }));
    expect(boundOf(body)).toMatchObject({ outcome: 'refused', refusal: { param: 'tools.0.type' } });
  });

  it('covers prompts that a beta makes longer than the window of the model', () => {
    const small = defaultPriceTable().find('claude-sonnet-4-5')!;
    const body = { ...request('x'.repeat(2_000_000)), model: small.id };
    const perToken = small.rates.cacheWrite5mPerToken;
    expect(amountOf(body)).toBe(BigInt(small.contextWindow) * perToken);
    expect(amountOf(body, true)).toBe(1_000_000n * perToken);
  });
});
