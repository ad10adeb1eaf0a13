import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  cacheEveryRequest,
  nativeSchemas,
  webSearch,
  translateRequest,
  type ModelTraits,
  type RequestTranslation,
} from '../../src/index.js';
import { runs } from '../../../../scripts/runs.cjs';

/** `TEST_RUNS=200000` looks for rarer cases. */
const RUNS = runs(__filename, 'inputs');

const traits: fc.Arbitrary<ModelTraits> = fc.record({
  sampling: fc.constantFrom('accepted', 'refused'),
  forcedToolChoice: fc.constantFrom('accepted', 'refused'),
  effort: fc.subarray(['low', 'medium', 'high', 'xhigh', 'max']),
  thinkingOff: fc.constantFrom('omit', 'disabled', 'between_tools', 'never'),
  thinkingOn: fc.constantFrom('default', 'adaptive', undefined),
  systemMessages: fc.constantFrom('anywhere', 'first'),
  structuredOutputs: fc.constantFrom('accepted', 'refused'),
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

/** Schemas with everything that has to be rewritten, and some that cannot be. */
const { schema } = fc.letrec<{ schema: object }>((tie) => ({
  schema: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.constantFrom(
      { type: 'string', minLength: 1 },
      { type: 'integer', minimum: 1 },
      { type: ['string', 'null'], enum: ['a', null] },
      { const: 'a' },
      { $ref: '#/$defs/A' },
      { type: 'object', additionalProperties: { type: 'string' } },
      {},
    ),
    fc
      .dictionary(fc.constantFrom('a', 'b', 'c'), tie('schema'), { maxKeys: 3 })
      .map((properties) => ({
        type: 'object',
        properties,
        required: Object.keys(properties).slice(1),
      })),
    tie('schema').map((items) => ({ type: 'array', items, maxItems: 3 })),
    fc
      .tuple(
        fc.constantFrom('anyOf', 'oneOf', 'allOf'),
        fc.array(tie('schema'), { minLength: 1, maxLength: 3 }),
        fc.constantFrom({}, { type: 'object' }, { properties: { z: { type: 'null' } } }),
      )
      .map(([kind, parts, own]) => ({ ...own, [kind]: parts })),
  ),
}));
const rootSchema = schema.map((root) => ({
  ...root,
  $defs: { A: { type: 'object', properties: { a: { type: 'string' } } } },
}));

const tool = fc.record({
  type: fc.constant('function'),
  function: fc.record({
    name: fc.constant('f'),
    description: fc.option(text),
    strict: fc.constantFrom(undefined, true),
    parameters: fc.oneof(
      fc.constantFrom(null, {}, { type: 'object' }, { properties: { x: {} } }),
      rootSchema.filter((root) => !('type' in root) || root.type === 'object'),
    ),
  }),
});
const custom = { type: 'custom', custom: { name: 'h', format: { type: 'text' } } };
const tools = fc.oneof(fc.constantFrom(null, []), {
  weight: 3,
  arbitrary: tool.map((f) => [f, { type: 'function', function: { name: 'g' } }, custom]),
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
    response_format: fc.oneof(
      fc.constant({ type: 'json_object' }),
      fc
        .record({ name: fc.constant('x'), strict: fc.constant(false), schema: rootSchema })
        .map((json_schema) => ({ type: 'json_schema', json_schema })),
    ),
    reasoning: fc.constantFrom({ effort: 'high' }, { max_tokens: 5_000 }, { enabled: true }, 'odd'),
    thinking: fc.constantFrom({ type: 'enabled', budget_tokens: 9_000 }, { type: 'disabled' }),
    web_search_options: fc.constant({}),
    service_tier: fc.constantFrom('auto', 'default', 'flex'),
    reasoning_effort: fc.constantFrom('none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'),
    seed: fc.integer(),
  },
  { requiredKeys: ['model', 'messages'] },
);

function translate(value: unknown, modelTraits: ModelTraits): RequestTranslation {
  return translateRequest(value, {
    model: 'm',
    traits: modelTraits,
    maxOutputTokens: 8192,
    jsonSchema: nativeSchemas,
    webSearch: webSearch(),
    cache: cacheEveryRequest,
    reasoning: 'reasoning_content',
  });
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
  readonly thinking?: { readonly type: string };
  readonly tools?: readonly {
    readonly name: string;
    readonly type?: string;
    readonly input_schema: Readonly<Record<string, unknown>>;
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
  'service_tier',
  'cache_control',
  'stream',
];
const TOKEN = /^[a-zA-Z0-9_-]{1,64}$/;

/** Expects that a body keeps the rules that the upstream enforces. */
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
  for (const { name: toolName, type, input_schema: root } of body.tools ?? []) {
    expect(toolName).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
    if (type === 'web_search_20250305') continue;
    expect(root['type']).toBe('object');
    for (const refused of ['anyOf', 'oneOf', 'allOf']) expect(root).not.toHaveProperty(refused);
  }
  const thinks = body.thinking !== undefined && body.thinking.type !== 'disabled';
  if (thinks) {
    expect(body).not.toHaveProperty('temperature');
    expect(['auto', 'none', undefined]).toContain(body.tool_choice?.type);
  }
  if (body.system) expect(body.system.length).toBeGreaterThan(0);
  for (const block of body.system ?? []) expectText(block);
  expectTurns(body.messages.filter(({ role }) => role !== 'system'));
  body.messages.forEach(({ role, content: said }, index) => {
    if (role !== 'system') return;
    expect(modelTraits.systemMessages).toBe('anywhere');
    expect(body.messages[index - 1]?.role).toBe('user');
    expect(['assistant', undefined]).toContain(body.messages[index + 1]?.role);
    expect(said.length).toBeGreaterThan(0);
    said.forEach(expectText);
  });
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
      { numRuns: RUNS },
    );
    // If the generator made mostly requests that are refused, this test would prove nothing.
    expect(translated).toBeGreaterThan(refused);
  });

  it('begins a longer conversation with the bytes of the shorter one', () => {
    const round = fc.oneof(
      fc.record({ role: fc.constantFrom('user', 'system', 'developer'), content: text }),
      fc.record({ role: fc.constantFrom('user', 'system'), content: fc.constant('More.') }),
    );
    const rounds = fc.array(round, { maxLength: 3 });
    fc.assert(
      fc.property(messages, rounds, traits, (beginning, more, modelTraits) => {
        const answer = { role: 'assistant', content: 'Yes.' };
        const bodies = [
          [...beginning, { role: 'user', content: 'Go on.' }],
          [...beginning, { role: 'user', content: 'Go on.' }, answer, ...more],
        ].map((list) => {
          const chatOf = { model: 'm', messages: list };
          const options = { model: 'm', traits: modelTraits, maxOutputTokens: 8192 };
          const result = translateRequest(chatOf, options);
          return result.outcome === 'refused' ? undefined : result.body;
        });
        const [shorter, longer] = bodies;
        if (shorter === undefined || longer === undefined) return;
        expect(longer.startsWith(shorter.slice(0, shorter.lastIndexOf(']')))).toBe(true);
      }),
      { numRuns: RUNS },
    );
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

  it('sends every text unchanged', () => {
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
      { numRuns: RUNS },
    );
  });

  it('never throws when any one value within a request is replaced', () => {
    fc.assert(
      fc.property(chat, traits, fc.nat(), fc.jsonValue(), (value, modelTraits, where, junk) => {
        const mutated = replaceOne(value, where, junk);
        const result = translate(mutated, modelTraits);
        if (result.outcome === 'translated') JSON.parse(result.body);
      }),
      { numRuns: RUNS },
    );
  });
});

/** Returns a copy in which one value is replaced: number `where`, modulo the number of values. */
function replaceOne(root: unknown, where: number, junk: unknown): unknown {
  let total = 0;
  JSON.stringify(root, (_, value: unknown) => {
    total += 1;
    return value;
  });
  let count = 0;
  const target = where % total;
  const json = JSON.stringify(root, (_, value: unknown) => (count++ === target ? junk : value));
  return JSON.parse(json);
}
