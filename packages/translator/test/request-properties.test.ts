import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { translateRequest, type ModelTraits, type RequestTranslation } from '../src/index.js';

const traits: fc.Arbitrary<ModelTraits> = fc.record({
  sampling: fc.constantFrom('accepted', 'refused'),
  forcedToolChoice: fc.constantFrom('accepted', 'refused'),
  effort: fc.subarray(['low', 'medium', 'high', 'xhigh', 'max']),
  thinkingOff: fc.constantFrom('omit', 'disabled', 'never'),
});

const text = fc.oneof(fc.constantFrom('', ' ', '\n', 'Hi', ' a '), fc.string({ unit: 'binary' }));
const cached = fc.option(fc.constant({ type: 'ephemeral' }), { nil: undefined, freq: 8 });
const part = fc.oneof(
  { weight: 4, arbitrary: fc.record({ type: fc.constant('text'), text, cache_control: cached }) },
  fc.constant({ type: 'image_url', image_url: { url: 'https://example.org/a.png' } }),
  fc.constant({ type: 'image_url', image_url: { url: 'data:image/jpeg;base64,iVBORw0KGgo' } }),
  fc.constant({ type: 'file', file: { file_data: 'data:text/plain,a', filename: 'a.txt' } }),
);
const content = fc.oneof(text, fc.array(part, { maxLength: 3 }), fc.constant(null));
const textContent = fc.oneof(
  text,
  fc.array(fc.record({ type: fc.constant('text'), text }), { maxLength: 2 }),
);
const callId = fc.constantFrom('call_0', 'call_1', 'call_0_2', 'a:b', 'a b', 'x'.repeat(80));
const callArguments = fc.constantFrom(
  '',
  '{}',
  '{"n":12345678901234567890}',
  '[1]',
  '{"a":',
  'null',
  '"\ud83d"',
);
const name = fc.constantFrom('f', 'g', 'h', 'odd name');

/** Some calls and their results: mostly complete, in any order, with text in between. */
const toolRound = fc
  .record({
    said: fc.option(text, { nil: null }),
    calls: fc.array(fc.record({ id: callId, name, arguments: callArguments }), {
      minLength: 1,
      maxLength: 4,
    }),
    thinks: fc.boolean(),
    results: fc.array(content, { minLength: 4, maxLength: 4 }),
    order: fc.shuffledSubarray([0, 1, 2, 3], { minLength: 4 }),
    isComplete: fc.integer({ min: 0, max: 19 }).map((n) => n > 0),
    talk: fc.option(text, { nil: undefined }),
  })
  .map(({ said, calls, thinks, results, order, isComplete, talk }) => {
    const answers = calls.map(({ id }, i) => ({
      role: 'tool',
      tool_call_id: id,
      content: results[i],
    }));
    const ordered = order.flatMap((i) => answers[i] ?? []);
    return [
      {
        role: 'assistant',
        content: said,
        ...(thinks
          ? { thinking_blocks: [{ type: 'thinking', thinking: '', signature: 's' }] }
          : {}),
        tool_calls: calls.map((call) => ({
          id: call.id,
          type: 'function',
          function: { name: call.name, arguments: call.arguments },
        })),
      },
      ...(talk === undefined ? [] : [{ role: 'user', content: talk }]),
      ...(isComplete ? ordered : ordered.slice(1)),
    ];
  });

const messages = fc
  .array(
    fc.oneof(
      fc
        .record({ role: fc.constantFrom('system', 'developer'), content: textContent })
        .map((m) => [m]),
      fc.record({ role: fc.constant('user'), content, cache_control: cached }).map((m) => [m]),
      fc.record({ role: fc.constant('assistant'), content: textContent }).map((m) => [m]),
      toolRound,
    ),
    { minLength: 2, maxLength: 8 },
  )
  .map((rounds) => rounds.flat());

const tool = fc.record({
  type: fc.constant('function'),
  function: fc.record({
    name: fc.constant('f'),
    description: fc.option(text),
    parameters: fc.constantFrom(null, {}, { type: 'object' }, { properties: { x: {} } }),
  }),
});
const tools = fc.oneof(fc.constantFrom(null, []), {
  weight: 3,
  arbitrary: tool.map((f) => [f, { type: 'function', function: { name: 'g' } }]),
});
const chat = fc.record(
  {
    model: fc.constant('m'),
    messages,
    tools,
    tool_choice: fc.oneof(
      { weight: 3, arbitrary: fc.constantFrom(null, 'auto', 'none') },
      fc.constantFrom(
        'required',
        { type: 'function', function: { name: 'f' } },
        {
          type: 'allowed_tools',
          allowed_tools: { mode: 'auto', tools: [{ type: 'function', function: { name: 'g' } }] },
        },
      ),
    ),
    parallel_tool_calls: fc.boolean(),
    max_tokens: fc.integer({ min: 1, max: 100_000 }),
    temperature: fc.double({ min: 0, max: 2, noNaN: true }),
    top_p: fc.double({ min: 0, max: 1, noNaN: true }),
    stop: fc.oneof(text, fc.array(text, { maxLength: 4 })),
    stream: fc.boolean(),
    response_format: fc.constantFrom({ type: 'json_object' }, { type: 'json_schema' }),
    reasoning_effort: fc.constantFrom('none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'),
    seed: fc.integer(),
  },
  { requiredKeys: ['model', 'messages'] },
);

function translate(value: unknown, modelTraits: ModelTraits): RequestTranslation {
  return translateRequest(value, { model: 'm', traits: modelTraits, maxOutputTokens: 8192 });
}

interface Block {
  readonly type: string;
  readonly text?: string;
  readonly id?: string;
  readonly name?: string;
  readonly input?: unknown;
  readonly tool_use_id?: string;
  readonly content?: readonly Block[];
  readonly cache_control?: unknown;
}

interface Body {
  readonly max_tokens: number;
  readonly temperature?: number;
  readonly top_p?: number;
  readonly stop_sequences?: readonly string[];
  readonly tools?: readonly {
    readonly name: string;
    readonly input_schema: { readonly type: string };
  }[];
  readonly tool_choice?: { readonly type: string; readonly name?: string };
  readonly system?: readonly Block[];
  readonly messages: readonly { readonly role: string; readonly content: readonly Block[] }[];
}

const BODY_MEMBERS = [
  'model',
  'max_tokens',
  'tools',
  'system',
  'messages',
  'tool_choice',
  'stop_sequences',
  'temperature',
  'top_p',
  'output_config',
  'thinking',
  'stream',
];
const TOKEN = /^[a-zA-Z0-9_-]{1,80}$/;

/** The rules that the upstream enforces. */
function expectNativeGrammar(body: Body, modelTraits: ModelTraits): void {
  for (const key of Object.keys(body)) expect(BODY_MEMBERS).toContain(key);
  expect(body.max_tokens).toBeGreaterThan(0);
  expect(body.max_tokens).toBeLessThanOrEqual(8192);
  for (const stop of body.stop_sequences ?? []) expect(stop.trim()).not.toBe('');
  if (modelTraits.sampling === 'refused') {
    expect(body).not.toHaveProperty('temperature');
    expect(body).not.toHaveProperty('top_p');
  }
  expect(body.temperature !== undefined && body.top_p !== undefined).toBe(false);
  expect(body.temperature ?? 0).toBeLessThanOrEqual(1);
  if (body.tool_choice) expect(body.tools?.length).toBeGreaterThan(0);
  if (modelTraits.forcedToolChoice === 'refused') {
    expect(['auto', 'none', undefined]).toContain(body.tool_choice?.type);
  }
  for (const { name: toolName, input_schema: schema } of body.tools ?? []) {
    expect(toolName).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
    expect(schema.type).toBe('object');
  }
  if (body.system) expect(body.system.length).toBeGreaterThan(0);
  for (const block of body.system ?? []) expectText(block);
  expectTurns(body.messages);
}

function expectTurns(turns: Body['messages']): void {
  const ids = new Set<string>();
  let open: (string | undefined)[] = [];
  turns.forEach(({ role, content: blocks }, index) => {
    expect(role).toBe(index % 2 === 0 ? 'user' : 'assistant');
    expect(blocks.length).toBeGreaterThan(0);
    for (const block of blocks) if (block.type === 'text') expectText(block);
    const types = blocks.map((block) => block.type);
    if (role === 'user') {
      const results = blocks.filter((block) => block.type === 'tool_result');
      expect(types.slice(0, results.length).every((type) => type === 'tool_result')).toBe(true);
      expect(results.map((block) => block.tool_use_id)).toEqual(open);
      for (const { content: inner = [] } of results)
        inner.forEach((b) => b.type === 'text' && expectText(b));
      open = [];
      return;
    }
    const order = ['thinking', 'text', 'tool_use'];
    const ranks = types.map((type) => order.indexOf(type));
    expect(ranks).toEqual(ranks.toSorted((a, b) => a - b));
    expect(ranks.at(-1)).toBeGreaterThan(0);
    const calls = blocks.filter((block) => block.type === 'tool_use');
    for (const { id = '', name: called = '', input } of calls) {
      expect(id).toMatch(TOKEN);
      expect(called).toMatch(TOKEN);
      expect(ids.has(id)).toBe(false);
      ids.add(id);
      expect(typeof input === 'object' && input !== null && !Array.isArray(input)).toBe(true);
    }
    open = calls.map((block) => block.id);
  });
  expect(turns.at(-1)?.role).toBe('user');
}

function expectText(block: Block): void {
  expect(block.type).toBe('text');
  expect(block.text?.trim()).not.toBe('');
}

function countCachePoints(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  const own = 'cache_control' in value ? 1 : 0;
  return Object.values(value).reduce<number>((sum, item) => sum + countCachePoints(item), own);
}

describe('translateRequest, for random requests', () => {
  it('refuses a request, or produces one that the upstream accepts', () => {
    let translated = 0;
    let refused = 0;
    fc.assert(
      fc.property(chat, traits, (value, modelTraits) => {
        const result = translate(value, modelTraits);
        if (result.outcome === 'refused') {
          refused += 1;
          expect(result.problem.message).not.toBe('');
          return;
        }
        translated += 1;
        const body = JSON.parse(result.body) as Body;
        expectNativeGrammar(body, modelTraits);
        expect(countCachePoints(body)).toBeLessThanOrEqual(4);
      }),
      { numRuns: 1_000 },
    );
    // A generator that mostly makes refused requests would prove nothing.
    expect(translated).toBeGreaterThan(refused);
  });

  it('never changes its input, and gives equal results for equal input', () => {
    fc.assert(
      fc.property(chat, traits, (value, modelTraits) => {
        const before = JSON.stringify(value);
        const first = translate(value, modelTraits);
        expect(translate(value, modelTraits)).toEqual(first);
        expect(JSON.stringify(value)).toBe(before);
      }),
      { numRuns: 200 },
    );
  });

  it('keeps the length of every text it sends', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', minLength: 1 }), (said) => {
        const value = { model: 'm', messages: [{ role: 'user', content: `a${said}` }] };
        const result = translate(value, {
          sampling: 'refused',
          forcedToolChoice: 'refused',
          effort: [],
          thinkingOff: 'omit',
        });
        if (result.outcome === 'refused') throw new Error(result.problem.message);
        const body = JSON.parse(result.body) as Body;
        expect(body.messages[0]?.content[0]?.text).toBe(`a${said}`);
      }),
      { numRuns: 200 },
    );
  });

  it('never throws on any JSON', () => {
    const member = fc.constantFrom(
      'role',
      'content',
      'tool_calls',
      'type',
      'text',
      'name',
      'function',
    );
    const messageLike = fc.dictionary(member, fc.jsonValue());
    const chatLike = fc.oneof(
      fc.jsonValue(),
      fc.record({
        model: fc.constant('m'),
        messages: fc.array(fc.oneof(fc.jsonValue(), messageLike)),
      }),
      fc
        .tuple(
          chat,
          fc.constantFrom(
            'tools',
            'tool_choice',
            'stop',
            'functions',
            'stream_options',
            'response_format',
            'cache_control',
            'modalities',
            'moderation',
          ),
          fc.jsonValue(),
        )
        .map(([value, field, junk]) => ({ ...value, [field]: junk })),
    );
    fc.assert(
      fc.property(chatLike, traits, (value, modelTraits) => {
        const { outcome } = translate(value, modelTraits);
        expect(['translated', 'refused']).toContain(outcome);
      }),
      { numRuns: 1_000 },
    );
  });

  it('never throws when any one value within a request is replaced', () => {
    fc.assert(
      fc.property(chat, traits, fc.nat(), fc.jsonValue(), (value, modelTraits, where, junk) => {
        const mutated = replaceOne(value, where, junk);
        const result = translate(mutated, modelTraits);
        if (result.outcome === 'translated') JSON.parse(result.body);
      }),
      { numRuns: 1_000 },
    );
  });
});

/** A copy with the value at a position, counted modulo all positions, replaced. */
function replaceOne(root: unknown, where: number, junk: unknown): unknown {
  let count = 0;
  const total = (JSON.stringify(root).match(/[:[,]/g) ?? []).length + 1;
  const target = where % total;
  const json = JSON.stringify(root, (_, value: unknown) => (count++ === target ? junk : value));
  return JSON.parse(json);
}
