/** Random requests of the Responses API, and random native messages translated to its responses. */

import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  webSearch,
  createResponseStream,
  translateMessage,
  translateResponsesRequest,
  type ModelTraits,
  type ResponsesRequestTranslation,
  type TranslateMessageContext,
} from '../../src/index.js';
import { RESPONSES_CONTEXT } from '../answer-contexts.js';
import type { ResponseObject } from '../responses-events.js';
import { vectorsIn } from '../vector-files.js';
import { runs } from '../../../../scripts/runs.cjs';

interface ResponseVector {
  readonly native: string | object;
  readonly message: { readonly content: string | null };
  readonly finish: string;
  readonly usage: Readonly<Record<Count, number>>;
}

type Count =
  'prompt_tokens' | 'cached' | 'written' | 'completion_tokens' | 'reasoning' | 'total_tokens';

const traits: fc.Arbitrary<ModelTraits> = fc.record({
  sampling: fc.constantFrom('accepted', 'refused'),
  forcedToolChoice: fc.constantFrom('accepted', 'refused'),
  effort: fc.subarray(['low', 'medium', 'high', 'xhigh', 'max']),
  thinkingOff: fc.constantFrom('omit', 'disabled', 'between_tools', 'never'),
  thinkingOn: fc.constantFrom('default', 'adaptive', undefined),
  systemMessages: fc.constantFrom('anywhere', 'first'),
  structuredOutputs: fc.constantFrom('accepted', 'refused'),
});
/** `TEST_RUNS=200000` looks for rarer cases. */
const RUNS = runs(__filename, 'inputs');

const PLAIN: ModelTraits = {
  sampling: 'accepted',
  forcedToolChoice: 'accepted',
  effort: [],
  thinkingOff: 'omit',
};

const text = fc.oneof(fc.constantFrom('', ' ', '\n', 'Hi', ' a '), fc.string({ unit: 'binary' }));
const part = fc.oneof(
  fc.record({ type: fc.constant('input_text'), text }),
  fc.constant({ type: 'input_image', image_url: 'https://example.org/a.png', detail: 'auto' }),
  fc.constant({ type: 'input_file', file_data: 'data:text/plain,a', filename: 'a.txt' }),
);
const content = fc.oneof(text, fc.array(part, { maxLength: 3 }));
const said = fc.oneof(
  text,
  fc.array(fc.record({ type: fc.constant('output_text'), text }), { maxLength: 2 }),
);
const callId = fc.constantFrom('call_0', 'call_1', 'call_0_2', 'a:b', 'x'.repeat(80));
const name = fc.constantFrom('f', 'g', 'odd name');
const call = fc.oneof(
  fc.record({
    type: fc.constant('function_call'),
    call_id: callId,
    name,
    arguments: fc.constantFrom('', '{}', '{"n":12345678901234567890}', '[1]', '{"a":', '"\ud83d"'),
    namespace: fc.option(fc.constant('files'), { nil: undefined }),
  }),
  fc.record({ type: fc.constant('custom_tool_call'), call_id: callId, name, input: text }),
);
const reasoning = fc.record({
  type: fc.constant('reasoning'),
  summary: fc.constant([]),
  encrypted_content: fc.constantFrom(
    null,
    'gAAAA',
    '{"type":"thinking","thinking":"","signature":"s"}',
    '{"type":"redacted_thinking","data":"d"}',
  ),
});

/** Calls and their outputs, mostly complete, with other items in between. */
const round = fc
  .record({
    calls: fc.array(call, { minLength: 1, maxLength: 4 }),
    outputs: fc.array(content, { minLength: 4, maxLength: 4 }),
    order: fc.shuffledSubarray([0, 1, 2, 3], { minLength: 4 }),
    between: fc.array(
      fc.oneof(reasoning, fc.record({ role: fc.constant('assistant'), content: said })),
      {
        maxLength: 2,
      },
    ),
    isComplete: fc.integer({ min: 0, max: 19 }).map((n) => n > 0),
  })
  .map(({ calls, outputs, order, between, isComplete }) => {
    const answers = order.flatMap((at) => {
      const { type, call_id } = calls[at] ?? {};
      return type === undefined ? [] : [{ type: `${type}_output`, call_id, output: outputs[at] }];
    });
    return [...calls, ...between, ...(isComplete ? answers : answers.slice(1))];
  });
const input = fc
  .array(
    fc.oneof(
      fc.record({ role: fc.constantFrom('system', 'developer'), content: said }).map((m) => [m]),
      fc.record({ role: fc.constant('user'), content }).map((m) => [m]),
      fc.record({ role: fc.constant('assistant'), content: said }).map((m) => [m]),
      reasoning.map((item) => [item]),
      round,
    ),
    { minLength: 2, maxLength: 8 },
  )
  .map((rounds) => rounds.flat());
const request = fc.record(
  {
    model: fc.constant('m'),
    input: fc.oneof({ weight: 5, arbitrary: input }, text),
    instructions: text,
    tools: fc.constantFrom(
      [],
      [{ type: 'function', name: 'f', parameters: null, strict: true }],
      [{ type: 'web_search', filters: { allowed_domains: ['example.org'] } }],
      [
        { type: 'custom', name: 'g' },
        { type: 'namespace', name: 'files', tools: [{ type: 'function', name: 'f' }] },
        { type: 'web_search' },
      ],
    ),
    tool_choice: fc.constantFrom(
      'auto',
      'none',
      'required',
      { type: 'custom', name: 'g' },
      { type: 'web_search_preview' },
    ),
    parallel_tool_calls: fc.boolean(),
    max_output_tokens: fc.integer({ min: 1, max: 100_000 }),
    temperature: fc.double({ min: 0, max: 2, noNaN: true }),
    top_p: fc.double({ min: 0, max: 1, noNaN: true }),
    reasoning: fc.record({
      effort: fc.constantFrom('none', 'minimal', 'low', 'high', null),
      summary: fc.constantFrom('auto', null),
    }),
    text: fc.constantFrom(
      { format: { type: 'json_object' } },
      {
        format: {
          type: 'json_schema',
          name: 's',
          schema: { type: 'object', properties: { a: {} } },
        },
      },
    ),
    stream: fc.boolean(),
    store: fc.boolean(),
  },
  { requiredKeys: ['model', 'input'] },
);

function translate(value: unknown, modelTraits = PLAIN): ResponsesRequestTranslation {
  const search = webSearch({ maxUses: 3 });
  const options = { model: 'm', traits: modelTraits, maxOutputTokens: 8192, webSearch: search };
  return translateResponsesRequest(value, options);
}

interface Block {
  readonly type: string;
  readonly text?: string;
  readonly id?: string;
  readonly name?: string;
  readonly input?: unknown;
  readonly tool_use_id?: string;
  readonly content?: readonly Block[];
}

interface Body {
  readonly max_tokens: number;
  readonly tools?: readonly {
    readonly name: string;
    readonly type?: string;
    readonly input_schema?: { type: string };
  }[];
  readonly tool_choice?: { readonly type: string };
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
  'temperature',
  'top_p',
  'output_config',
  'thinking',
  'stream',
];
const TOKEN = /^[a-zA-Z0-9_-]{1,80}$/;

/** Expects that a body keeps the rules that the upstream enforces. */
function expectNativeGrammar(body: Body): void {
  for (const key of Object.keys(body)) expect(BODY_MEMBERS).toContain(key);
  expect(body.max_tokens).toBeGreaterThan(0);
  expect(body.max_tokens).toBeLessThanOrEqual(8192);
  if (body.tool_choice) expect(body.tools?.length).toBeGreaterThan(0);
  for (const tool of body.tools ?? []) {
    expect(tool.name).toMatch(TOKEN);
    if (tool.name === 'web_search') expect(tool).toMatchObject({ type: 'web_search_20250305' });
    else expect(tool.input_schema?.type).toBe('object');
  }
  for (const block of body.system ?? []) expectText(block);
  const ids = new Set<string>();
  let open: (string | undefined)[] = [];
  body.messages.forEach(({ role, content }, index) => {
    if (role !== 'system') return;
    for (const block of content) expectText(block);
    expect(body.messages[index - 1]?.role).toBe('user');
    expect(body.messages[index + 1]?.role ?? 'assistant').toBe('assistant');
  });
  const turns = body.messages.filter(({ role }) => role !== 'system');
  turns.forEach(({ role, content: blocks }, index) => {
    expect(role).toBe(index % 2 === 0 ? 'user' : 'assistant');
    expect(blocks.length).toBeGreaterThan(0);
    for (const block of blocks) if (block.type === 'text') expectText(block);
    const results = blocks.filter(({ type }) => type === 'tool_result');
    expect(results.map((block) => block.tool_use_id)).toEqual(open);
    expect(blocks.slice(0, results.length)).toEqual(results);
    for (const result of results) {
      for (const inner of result.content ?? []) if (inner.type === 'text') expectText(inner);
    }
    const calls = blocks.filter(({ type }) => type === 'tool_use');
    for (const { id = '', name: called = '', input: given } of calls) {
      expect([id, called]).toEqual([expect.stringMatching(TOKEN), expect.stringMatching(TOKEN)]);
      expect(ids.has(id)).toBe(false);
      ids.add(id);
      expect(typeof given === 'object' && given !== null && !Array.isArray(given)).toBe(true);
    }
    open = calls.map(({ id }) => id);
    if (role === 'assistant') expect(blocks.at(-1)?.type).not.toMatch(/thinking/);
  });
  expect(open).toEqual([]);
  expect(turns.at(-1)?.role).toBe('user');
}

function expectText(block: Block): void {
  expect(block.type).toBe('text');
  expect(block.text?.trim()).not.toBe('');
}

describe('translateResponsesRequest, for random requests', () => {
  it('refuses a request, or produces one that the upstream accepts', () => {
    let translated = 0;
    let refused = 0;
    fc.assert(
      fc.property(request, traits, (value, modelTraits) => {
        const before = JSON.stringify(value);
        const result = translate(value, modelTraits);
        expect(JSON.stringify(value)).toBe(before);
        if (result.outcome === 'refused') {
          refused += 1;
          expect(result.problem.message).not.toBe('');
          return;
        }
        translated += 1;
        expectNativeGrammar(JSON.parse(result.body) as Body);
        expect(translate(value, modelTraits)).toEqual(result);
      }),
      { numRuns: RUNS },
    );
    // If the generator made mostly requests that are refused, this test would prove nothing.
    expect(translated).toBeGreaterThan(refused);
  });

  it('never throws on any JSON, nor when any one value within a request is replaced', () => {
    const member = fc.constantFrom(
      'type',
      'role',
      'content',
      'call_id',
      'output',
      'tools',
      'input',
    );
    const requestLike = fc.oneof(
      fc.jsonValue(),
      fc.record({
        model: fc.constant('m'),
        input: fc.array(fc.oneof(fc.jsonValue(), fc.dictionary(member, fc.jsonValue()))),
      }),
      fc
        .tuple(request, fc.nat(), fc.jsonValue())
        .map(([value, where, junk]) => replaceOne(value, where, junk)),
    );
    fc.assert(
      fc.property(requestLike, traits, (value, modelTraits) => {
        const result = translate(value, modelTraits);
        if (result.outcome === 'translated') JSON.parse(result.body);
        else expect(result.outcome).toBe('refused');
      }),
      { numRuns: RUNS },
    );
  });

  it('refuses what is nested too deeply to be written', () => {
    const deep = (levels: number) => JSON.parse(`${'['.repeat(levels)}${']'.repeat(levels)}`);
    const parameters = { type: 'object', properties: { a: { enum: deep(5_000) } } };
    const tools = [{ type: 'function', name: 'f', parameters }];
    expect(translate({ model: 'm', input: 'Hi', tools })).toMatchObject({
      outcome: 'refused',
      problem: { message: expect.stringContaining('200 levels') },
    });
  });

  it.each([
    ['items', { input: many(100_000, () => ({ role: 'user', content: 'a' })) }],
    [
      'parts',
      {
        input: [
          { role: 'user', content: many(100_000, () => ({ type: 'input_text', text: 'a' })) },
        ],
      },
    ],
    [
      'tools',
      { input: 'a', tools: many(20_000, (at) => ({ type: 'function', name: `f${String(at)}` })) },
    ],
    [
      'calls of one id, each answered twice',
      {
        input: [
          ...many(50_000, () => ({
            type: 'function_call',
            call_id: 'c',
            name: 'f',
            arguments: '',
          })),
          ...many(100_000, () => ({ type: 'function_call_output', call_id: 'c', output: 'x' })),
        ],
      },
    ],
    [
      'thinking blocks that nothing follows',
      {
        input: many(50_000, () => ({
          type: 'reasoning',
          encrypted_content: '{"type":"redacted_thinking","data":"d"}',
        })),
      },
    ],
    [
      'brackets in place of thinking',
      {
        input: [
          { type: 'reasoning', encrypted_content: '['.repeat(5_000_000) },
          { type: 'reasoning', encrypted_content: `{"a":${'['.repeat(5_000_000)}` },
          { type: 'reasoning', encrypted_content: `{"${'\\'.repeat(5_000_000)}"` },
          { role: 'user', content: 'Hi' },
        ],
      },
    ],
    ['letters', { input: 'a '.repeat(5_000_000) }],
  ])('takes time in proportion to its input: many %s', (_, value) => {
    const start = process.cpuUsage();
    translate({ model: 'm', ...value });
    expect(secondsSince(start)).toBeLessThan(60);
  });
});

const CONTEXT: TranslateMessageContext = {
  ...RESPONSES_CONTEXT,
  created: 1,
  tools: new Map([['sh', { type: 'custom', name: 'sh' }]]),
  showsSummaries: true,
  showsSearches: true,
};

const visible = fc.string({ unit: 'grapheme', minLength: 1 }).filter((value) => /\w/.test(value));
const nativeBlock = fc.oneof(
  visible.map((value) => ({ type: 'text', text: value })),
  fc.record({ type: fc.constant('thinking'), thinking: fc.string(), signature: visible }),
  fc.record({ type: fc.constant('redacted_thinking'), data: visible }),
  fc
    .tuple(fc.uuid(), fc.dictionary(fc.string(), fc.jsonValue()))
    .map(([id, given]) => ({ type: 'tool_use', id, name: 'f', input: given })),
  fc
    .tuple(fc.uuid(), fc.string())
    .map(([id, given]) => ({ type: 'tool_use', id, name: 'sh', input: { input: given } })),
);

describe('a message and its response', () => {
  it('come back as the same turn when the client sends the output again', () => {
    fc.assert(
      fc.property(fc.array(nativeBlock, { maxLength: 6 }), visible, (blocks, last) => {
        // The upstream never ends a turn with thinking.
        const content = [...blocks, { type: 'text', text: last }];
        // The value after writing and reading it as JSON: `JSON.stringify` writes -0 as 0.
        const turn: unknown = JSON.parse(JSON.stringify(content));
        const json = JSON.stringify({ id: 'msg_1', content, usage: {} });
        const response = translateMessage(json, CONTEXT);
        if (response.outcome === 'malformed') throw new Error(response.reason);
        const { output } = JSON.parse(response.body) as {
          output: { type: string; call_id?: string }[];
        };
        const answers = output.flatMap((item) =>
          item.call_id === undefined
            ? []
            : [{ type: `${item.type}_output`, call_id: item.call_id, output: 'ok' }],
        );
        const again = translate({
          model: 'm',
          input: [{ role: 'user', content: 'Go' }, ...output, ...answers],
          tools: [
            { type: 'function', name: 'f', parameters: null },
            { type: 'custom', name: 'sh' },
          ],
        });
        if (again.outcome === 'refused') throw new Error(again.problem.message);
        expect((JSON.parse(again.body) as Body).messages[1]?.content).toEqual(turn);
      }),
      { numRuns: RUNS },
    );
  });

  it('keep every digit of arguments', () => {
    const given = '{"n": 12345678901234567890, "e": 1e400}';
    const json = `{"id":"msg_1","content":[{"type":"tool_use","id":"c","name":"f","input":${given}}]}`;
    const response = translateMessage(json, CONTEXT);
    if (response.outcome === 'malformed') throw new Error(response.reason);
    expect(JSON.parse(response.body).output[0].arguments).toBe(given);
  });

  it('are translated without throwing, whatever the message and its events are', () => {
    const blockLike = fc.dictionary(
      fc.constantFrom(
        'type',
        'text',
        'id',
        'name',
        'input',
        'thinking',
        'signature',
        'data',
        'citations',
        'tool_use_id',
        'content',
      ),
      fc.oneof(
        fc.constantFrom('text', 'tool_use', 'thinking', 'sh'),
        fc.constantFrom('server_tool_use', 'web_search_tool_result', 'web_search'),
        fc.jsonValue(),
      ),
    );
    const messageLike = fc.oneof(
      fc.jsonValue(),
      fc.record({ id: fc.jsonValue(), content: fc.array(blockLike), stop_reason: fc.jsonValue() }),
    );
    const eventLike = fc.record({
      type: fc.constantFrom(
        'message_start',
        'content_block_start',
        'content_block_delta',
        'content_block_stop',
        'message_delta',
        'message_stop',
        'error',
      ),
      index: fc.oneof(fc.nat(2), fc.jsonValue()),
      message: messageLike,
      content_block: fc.oneof(blockLike, fc.jsonValue()),
      delta: fc.oneof(
        fc.record({ type: fc.constant('text_delta'), text: fc.string() }),
        fc.record({ type: fc.constant('input_json_delta'), partial_json: fc.string() }),
        fc.record({ type: fc.constant('citations_delta'), citation: fc.jsonValue() }),
        fc.jsonValue(),
      ),
      usage: fc.jsonValue(),
    });
    fc.assert(
      fc.property(messageLike, fc.array(eventLike), (message, events) => {
        translateMessage(JSON.stringify(message), CONTEXT);
        const pipe = createResponseStream(CONTEXT);
        for (const event of events) {
          pipe.push(Buffer.from(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`));
        }
        expect(['complete', 'failed']).toContain(pipe.end().outcome);
      }),
      { numRuns: RUNS },
    );
  });

  it.each(vectorsIn<ResponseVector>('vectors/response'))(
    'of the vector %s have the same usage and text as in the chat format',
    (_name, vector) => {
      const native =
        typeof vector.native === 'string' ? vector.native : JSON.stringify(vector.native);
      const response = translateMessage(new TextEncoder().encode(native), CONTEXT);
      if (response.outcome === 'malformed') throw new Error(response.reason);
      const {
        output,
        usage,
        status,
        incomplete_details: why,
      } = JSON.parse(response.body) as ResponseObject;
      const parts = output.flatMap(({ content: held = [] }) => held);
      const texts = parts.map(({ text: value = '' }) => value).join('');
      expect(texts).toBe(vector.message.content ?? '');
      expect(usage).toEqual({
        input_tokens: vector.usage.prompt_tokens,
        input_tokens_details: {
          cached_tokens: vector.usage.cached,
          cache_write_tokens: vector.usage.written,
        },
        output_tokens: vector.usage.completion_tokens,
        output_tokens_details: { reasoning_tokens: vector.usage.reasoning },
        total_tokens: vector.usage.total_tokens,
      });
      const reasons: Readonly<Record<string, string>> = {
        length: 'max_output_tokens',
        content_filter: 'content_filter',
      };
      expect(why?.reason).toBe(reasons[vector.finish]);
      expect(status).toBe(why === null ? 'completed' : 'incomplete');
    },
  );
});

function many<Item>(count: number, make: (at: number) => Item): Item[] {
  return Array.from({ length: count }, (_, at) => make(at));
}

/** CPU time of this process. For the longest inputs, quadratic code would take hours. */
function secondsSince(start: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1e6;
}

/** Returns a copy in which at most one value is replaced: number `where`, modulo a rough count. */
function replaceOne(root: unknown, where: number, junk: unknown): unknown {
  let count = 0;
  const total = (JSON.stringify(root).match(/[:[,]/g) ?? []).length + 1;
  const target = where % total;
  const json = JSON.stringify(root, (_, value: unknown) => (count++ === target ? junk : value));
  return JSON.parse(json);
}
