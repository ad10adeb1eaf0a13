/** Properties of the reverse direction that hold for random input. */

import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { translateRequest, translateResponse, type ModelTraits } from '../../src/index.js';
import {
  createMessageEventStream,
  createMessageStream,
  translateChatError,
  translateCompletion,
  translateMessagesRequest,
  type NativeEvent,
} from '../../src/reverse/index.js';
import { CONTEXT, cutAt, run } from '../replay-vectors.js';
import { traitsNamed } from './vectors.js';
import { runs } from '../../../../scripts/runs.cjs';

/** `TEST_RUNS=200000` looks for rarer cases. */
const RUNS = runs(__filename, 'inputs');
/** Fewer than `RUNS`, because each run reads a whole stream twice. */
const SPLIT_RUNS = runs(__filename, 'streams');

const MODEL: ModelTraits = {
  sampling: 'accepted',
  forcedToolChoice: 'accepted',
  effort: ['low', 'medium', 'high', 'xhigh', 'max'],
  thinkingOff: 'disabled',
};
const ANSWER = { model: 'm', stopSequences: [] };

const said = fc.string({ unit: 'binary', minLength: 1 }).map((text) => `a${text}`);
const name = fc.constantFrom('f', 'g', 'h_2');
/** JSON text of an object, with some numbers that a double cannot hold. */
const inputText = fc.oneof(
  fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 4 }).map((value) => JSON.stringify(value)),
  fc.constantFrom('{}', '{"n":12345678901234567890}', '{ "b":1.10,"a":"}\\"{" }'),
);
const count = fc.nat(100_000);
const usage = fc.record({
  input_tokens: count,
  output_tokens: fc.integer({ min: 50, max: 1000 }),
  cache_read_input_tokens: count,
  cache_creation_input_tokens: count,
  output_tokens_details: fc.record({ thinking_tokens: fc.nat(50) }),
});

describe('native messages, to the chat format and back', () => {
  const message = fc.record({
    id: fc.constantFrom('msg_1', 'msg_01AbC'),
    thinking: fc.array(
      fc.oneof(
        fc.record({ type: fc.constant('thinking'), thinking: said, signature: said }),
        fc.record({ type: fc.constant('redacted_thinking'), data: said }),
      ),
      { maxLength: 2 },
    ),
    text: fc.option(said, { nil: undefined }),
    calls: fc.uniqueArray(
      fc.record({ id: fc.constantFrom('toolu_1', 'toolu_2', 'toolu_3'), name, inputText }),
      { maxLength: 3, selector: ({ id }) => id },
    ),
    usage,
    ending: fc.constantFrom('end_turn', 'max_tokens', 'refusal'),
  });

  it('come back unchanged, digit for digit', () => {
    fc.assert(
      fc.property(message, ({ id, thinking, text, calls, usage: counts, ending }) => {
        const stop = ending === 'end_turn' && calls.length > 0 ? 'tool_use' : ending;
        const blocks = [
          ...thinking.map((block) => JSON.stringify(block)),
          ...(text === undefined ? [] : [JSON.stringify({ type: 'text', text })]),
          ...calls.map(
            (call) =>
              `{"type":"tool_use","id":"${call.id}","name":"${call.name}",` +
              `"caller":{"type":"direct"},"input":${call.inputText}}`,
          ),
        ];
        const details =
          stop === 'refusal' ? { type: 'refusal', category: null, explanation: 'No.' } : null;
        const head = { id, stop_reason: stop, stop_details: details, usage: counts };
        const native = `${JSON.stringify(head).slice(0, -1)},"content":[${blocks.join(',')}]}`;

        const chat = translateResponse(native, { ...CONTEXT, reasoning: 'thinking_blocks' });
        if (chat.outcome !== 'translated') throw new Error(chat.reason);
        const back = translateCompletion(chat.body, ANSWER);
        if (back.outcome !== 'translated') throw new Error(back.outcome);
        expect(JSON.parse(back.body)).toMatchObject(JSON.parse(native));
        expect(back.body).toContain(`"content":[${blocks.join(',')}]`);
        expect(back.usage).toEqual(chat.usage);
      }),
      { numRuns: RUNS },
    );
  });
});

describe('native requests, to the chat format and back', () => {
  const schema = fc.constantFrom(
    { type: 'object', properties: {} },
    { type: 'object', properties: { x: { type: 'string' } }, required: ['x'] },
  );
  const cache = fc.option(
    fc.constantFrom({ type: 'ephemeral' }, { type: 'ephemeral', ttl: '1h' }),
    {
      nil: undefined,
      freq: 9,
    },
  );
  const textBlock = fc.record({ type: fc.constant('text'), text: said });
  const image = fc.constantFrom(
    { type: 'image', source: { type: 'url', url: 'https://example.org/a.png' } },
    { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' } },
  );
  const document = fc.constantFrom(
    {
      type: 'document',
      source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' },
    },
    {
      type: 'document',
      source: { type: 'text', media_type: 'text/plain', data: 'Grüße 😀' },
      title: 'a.txt',
    },
    { type: 'document', source: { type: 'url', url: 'https://example.org/a.pdf' }, title: 'b' },
  );
  const content = fc.array(fc.oneof(textBlock, image, document), { minLength: 1, maxLength: 3 });
  const round = fc.record({
    asked: content,
    thinks: fc.boolean(),
    answered: fc.array(textBlock, { minLength: 1, maxLength: 2 }),
    calls: fc.array(
      fc.record({ name, inputText, result: fc.option(content, { nil: undefined }) }),
      {
        maxLength: 3,
      },
    ),
    talk: fc.option(content, { nil: undefined }),
  });
  const native = fc
    .record({
      rounds: fc.array(round, { minLength: 1, maxLength: 3 }),
      last: fc.record({ text: said, cache_control: cache }),
      system: fc.option(fc.array(textBlock, { minLength: 1, maxLength: 2 }), { nil: undefined }),
      schemas: fc.record({ f: schema, g: schema, h_2: schema }),
      choice: fc.constantFrom(
        undefined,
        { type: 'auto' },
        { type: 'any', disable_parallel_tool_use: true },
        { type: 'tool', name: 'g' },
        { type: 'none' },
      ),
      rest: fc.record(
        {
          stop_sequences: fc.constant(['END']),
          temperature: fc.constantFrom(0, 0.5, 1),
          output_config: fc.record({ effort: fc.constantFrom('low', 'high', 'max') }),
          metadata: fc.constant({ user_id: 'u' }),
          cache_control: fc.constant({ type: 'ephemeral' }),
          stream: fc.constant(true),
        },
        { requiredKeys: [] },
      ),
    })
    .map(({ rounds, last, system, schemas, choice, rest }) => {
      let id = 0;
      const messages = rounds.flatMap(({ asked, thinks, answered, calls, talk }) => {
        const uses = calls.map((call) => ({ ...call, id: `toolu_${String((id += 1))}` }));
        const blocks = [
          ...(thinks ? ['{"type":"thinking","thinking":"","signature":"s"}'] : []),
          ...answered.map((block) => JSON.stringify(block)),
          ...uses.map(
            (use) =>
              `{"type":"tool_use","id":"${use.id}","name":"${use.name}","input":${use.inputText}}`,
          ),
        ];
        const results = uses.map(({ id: used, result }) => ({
          type: 'tool_result',
          tool_use_id: used,
          ...(result === undefined ? {} : { content: result }),
        }));
        const next = [...results, ...(talk ?? [])];
        return [
          JSON.stringify({ role: 'user', content: asked }),
          `{"role":"assistant","content":[${blocks.join(',')}]}`,
          ...(next.length === 0 ? [] : [JSON.stringify({ role: 'user', content: next })]),
        ];
      });
      const { text, cache_control } = last;
      const closing = { type: 'text', text, ...(cache_control ? { cache_control } : {}) };
      const tools = Object.entries(schemas).map(([tool, input_schema]) => ({
        name: tool,
        input_schema,
      }));
      const members = {
        model: 'claude-test',
        max_tokens: 100,
        tools,
        ...(system ? { system } : {}),
        ...(choice ? { tool_choice: choice } : {}),
        ...rest,
      };
      const final = JSON.stringify({ role: 'user', content: [closing] });
      const all = [...messages, final].join(',');
      return `${JSON.stringify(members).slice(0, -1)},"messages":[${all}]}`;
    });

  /** Joins consecutive messages of one role into one turn. */
  function merged(text: string): unknown {
    const request = JSON.parse(text) as { messages: { role: string; content: unknown[] }[] };
    const messages: typeof request.messages = [];
    for (const message of request.messages) {
      const last = messages.at(-1);
      if (last?.role === message.role) last.content.push(...message.content);
      else messages.push(message);
    }
    return { ...request, messages };
  }

  it('come back unchanged', () => {
    fc.assert(
      fc.property(native, (text) => {
        const endUserId = (value: string) => value;
        const options = { model: 'my-model', traits: traitsNamed('gateway'), endUserId };
        const chat = translateMessagesRequest(text, options);
        if (chat.outcome === 'refused') throw new Error(chat.problem.message);
        expect(chat.notes).toEqual([]);
        const back = translateRequest(JSON.parse(chat.body), {
          model: 'claude-test',
          traits: MODEL,
          maxOutputTokens: 1000,
          endUserId,
        });
        if (back.outcome === 'refused') throw new Error(back.problem.message);
        expect(back.notes).toEqual([]);
        expect(JSON.parse(back.body)).toEqual(merged(text));
        for (const [input] of text.matchAll(/"input":\{ ?"[nb]"[^}]*/g)) {
          expect(back.body).toContain(input);
        }
        // Translated once more, the chat request comes back unchanged, too.
        expect(translateMessagesRequest(back.body, options)).toMatchObject({ body: chat.body });
      }),
      { numRuns: RUNS },
    );
  });

  it('do not make the translation throw, however they are changed', () => {
    const mutated = fc
      .tuple(native, fc.array(fc.tuple(fc.nat(5000), fc.jsonValue())))
      .map(([text, changes]) => {
        const request: unknown = JSON.parse(text);
        for (const [where, value] of changes) replaceNth(request, where, value);
        return JSON.stringify(request);
      });
    fc.assert(
      fc.property(fc.oneof(mutated, fc.json(), fc.string()), (text) => {
        for (const traits of ['openai', 'gateway', 'plain', 'reasoner']) {
          const options = { model: 'm', traits: traitsNamed(traits) };
          const result = translateMessagesRequest(text, options);
          if (result.outcome === 'translated') JSON.parse(result.body);
          else expect(result.problem.message).toMatch(/\w/);
        }
      }),
      { numRuns: RUNS },
    );
  });
});

/** Replaces one of the values in a document, selected by its number. */
function replaceNth(root: unknown, where: number, value: unknown): void {
  const places: [holder: Record<string, unknown>, key: string][] = [];
  const visit = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return;
    const holder = node as Record<string, unknown>;
    for (const key of Object.keys(holder)) {
      places.push([holder, key]);
      visit(holder[key]);
    }
  };
  visit(root);
  const place = places[where % Math.max(1, places.length)];
  if (place) place[0][place[1]] = value;
}

describe('chat streams with interleaved parts', () => {
  interface Part {
    readonly kind: 'text' | 'reasoning' | 'call';
    readonly call: number;
    readonly piece: string;
  }
  /** Calls whose arguments arrive in pieces and interleave in any order, with text in between. */
  const stream = fc
    .record({
      calls: fc.array(fc.tuple(inputText, fc.array(fc.nat(30), { maxLength: 3 })), {
        minLength: 1,
        maxLength: 4,
      }),
      talk: fc.array(fc.tuple(fc.constantFrom('text', 'reasoning'), said), { maxLength: 3 }),
      order: fc.infiniteStream(fc.nat(100)),
    })
    .map(({ calls, talk, order }) => {
      const queues: Part[][] = calls.map(([text, cuts], call) => {
        const at = [...new Set(cuts.map((cut) => cut % (text.length + 1)))].sort((a, b) => a - b);
        const ends = [...at, text.length];
        const pieces = ends.map((end, i) => text.slice(ends[i - 1] ?? 0, end));
        return ['', ...pieces].map((piece) => ({ kind: 'call', call, piece }) as const);
      });
      queues.push(talk.map(([kind, piece]) => ({ kind: kind, call: 0, piece })));
      const parts: Part[] = [];
      for (let open = queues.filter((q) => q.length > 0); open.length > 0;) {
        const queue = open[order.next().value % open.length];
        const part = queue?.shift();
        if (part) parts.push(part);
        open = queues.filter((q) => q.length > 0);
      }
      return { inputs: calls.map(([text]) => text), parts };
    });

  function chunksOf(parts: readonly Part[]): object[] {
    const begun = new Set<number>();
    const deltas = parts.map(({ kind, call, piece }) => {
      if (kind === 'text') return { content: piece };
      if (kind === 'reasoning') return { reasoning_content: piece };
      const head = begun.has(call) ? {} : { id: `call_${String(call)}` };
      const called = begun.has(call) ? {} : { name: 'f' };
      begun.add(call);
      return { tool_calls: [{ index: call, ...head, function: { ...called, arguments: piece } }] };
    });
    return [
      ...deltas.map((delta) => ({ id: 'c', choices: [{ index: 0, delta, finish_reason: null }] })),
      { id: 'c', choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }] },
    ];
  }

  function checkOrder(events: readonly NativeEvent[]): Map<string, string> {
    const inputs = new Map<string, string>();
    let open: string | undefined;
    let next = 0;
    expect(events[0]?.type).toBe('message_start');
    expect(events.slice(-2).map(({ type }) => type)).toEqual(['message_delta', 'message_stop']);
    for (const event of events.slice(1, -2)) {
      if (event.type === 'content_block_start') {
        expect([open, event.index]).toEqual([undefined, next]);
        open = event.content_block.type === 'tool_use' ? event.content_block.id : 'talk';
        if (open !== 'talk') inputs.set(open, '');
      } else if (event.type === 'content_block_delta') {
        expect([open, event.index]).toEqual([expect.any(String), next]);
        if (event.delta.type === 'input_json_delta') {
          inputs.set(String(open), `${inputs.get(String(open)) ?? ''}${event.delta.partial_json}`);
        }
      } else {
        expect(event).toEqual({ type: 'content_block_stop', index: next });
        open = undefined;
        next += 1;
      }
    }
    expect(open).toBeUndefined();
    return inputs;
  }

  it('come as complete blocks, one after the other, with nothing lost', () => {
    fc.assert(
      fc.property(stream, ({ inputs, parts }) => {
        const pipe = createMessageEventStream(ANSWER);
        const events = chunksOf(parts).flatMap((chunk) => pipe.push(chunk));
        const end = pipe.end();
        const all = [...events, ...end.tail];
        const inputsSeen = checkOrder(all);
        inputs.forEach((text, call) => expect(inputsSeen.get(`call_${String(call)}`)).toBe(text));
        for (const kind of ['text', 'reasoning'] as const) {
          const pieces = parts.filter((part) => part.kind === kind).map(({ piece }) => piece);
          const deltas = all.flatMap((event) => {
            if (event.type !== 'content_block_delta') return [];
            if (event.delta.type === 'text_delta') return kind === 'text' ? [event.delta.text] : [];
            return event.delta.type === 'thinking_delta' && kind === 'reasoning'
              ? [event.delta.thinking]
              : [];
          });
          expect(deltas.join('')).toBe(pieces.join(''));
        }
        expect(end).toMatchObject({ outcome: 'complete', stopReason: 'tool_use' });
      }),
      { numRuns: RUNS },
    );
  });

  it('are translated to the same bytes however they are split', () => {
    fc.assert(
      fc.property(
        stream,
        fc.array(fc.double({ min: 0, max: 1, noNaN: true })),
        ({ parts }, cuts) => {
          const bytes = Buffer.from(
            chunksOf(parts)
              .map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`)
              .join(''),
          );
          const whole = run(createMessageStream(ANSWER), [bytes]);
          expect(run(createMessageStream(ANSWER), cutAt(bytes, cuts))).toEqual(whole);
        },
      ),
      { numRuns: SPLIT_RUNS },
    );
  });
});

describe('answers of any shape', () => {
  it('do not make the translation throw', () => {
    const member = fc.constantFrom(
      'id',
      'choices',
      'index',
      'delta',
      'message',
      'content',
      'tool_calls',
      'function',
      'name',
      'arguments',
      'usage',
      'error',
      'finish_reason',
      'reasoning_details',
      'thinking_blocks',
    );
    const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
      tree: fc.oneof(
        { depthSize: 'medium', withCrossShrink: true },
        fc.constantFrom(null, 0, 1, '', 'a', 'stop', '{}', true),
        fc.array(tie('tree'), { maxLength: 3 }),
        fc.dictionary(member, tie('tree'), { maxKeys: 5 }),
      ),
    }));
    fc.assert(
      fc.property(fc.array(tree, { maxLength: 4 }), (values) => {
        const text = values.map((value) => `data: ${JSON.stringify(value)}\n\n`).join('');
        run(createMessageStream(ANSWER), [Buffer.from(text)]);
        for (const value of values) {
          const body = JSON.stringify(value);
          translateCompletion(body, ANSWER);
          const { status, error } = translateChatError({ status: 500, body, requestId: 'r' });
          expect([status, error.message]).toEqual([expect.any(Number), expect.any(String)]);
        }
      }),
      { numRuns: RUNS },
    );
  });
});
