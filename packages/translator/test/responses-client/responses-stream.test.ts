/**
 * `createResponseStream` with the native streams that the other formats are tested with, split
 * anywhere and read by the SDKs, and with vectors of its own.
 */

import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import OpenAI from 'openai';
import OpenAI6 from 'openai-6';
import {
  createResponseStream,
  translateMessage,
  type CalledAs,
  type TranslateMessageContext,
} from '../../src/index.js';
import { bytesOf, bytewise, cutAt, run, STREAM_VECTORS } from '../replay-vectors.js';
import { createResponseEventStream } from '../../src/objects/index.js';
import {
  expectGrammar,
  readResponseEvents,
  type ResponseEvent,
  type ResponseObject,
} from '../responses-events.js';
import { eventsOf } from '../sse-events.js';
import { titled } from '../titled.js';
import { vectorsIn } from '../vector-files.js';

interface OwnVector {
  readonly why: string;
  readonly source: string;
  readonly showsSummaries?: boolean;
  readonly showsSearches?: boolean;
  readonly tools?: Readonly<Record<string, CalledAs>>;
  readonly upstream: readonly { readonly type: string }[];
  /** All events but the first two and the last: type and members, without sequence numbers. */
  readonly events: readonly object[];
  /** Some members of the response in the last event. */
  readonly response: object;
}

const CONTEXT: TranslateMessageContext = {
  model: 'my-"model"',
  created: 1_700_000_000,
  tools: new Map<string, CalledAs>([
    ['sh', { type: 'custom', name: 'sh' }],
    ['files__read', { type: 'function', name: 'read', namespace: 'files' }],
    ...(['shell', 'local_shell', 'apply_patch', 'tool_search'] as const).map(
      (type) => [type, { type, name: type }] as const,
    ),
  ]),
  showsSummaries: true,
  showsSearches: true,
  settings: {
    max_output_tokens: null,
    metadata: {},
    parallel_tool_calls: true,
    reasoning: { effort: null, summary: 'auto' },
    temperature: null,
    text: { format: { type: 'text' } },
    tool_choice: 'auto',
    top_p: null,
  },
};

type Named = readonly [name: string, bytes: Buffer];

const OWN = vectorsIn<OwnVector>('vectors/responses/stream');
const STREAMS: readonly Named[] = [
  ...STREAM_VECTORS.map(([name, vector]): Named => [`replay/${name}`, bytesOf(vector)]),
  ...OWN.map(([name, { upstream }]): Named => [`responses/${name}`, bytesOf({ upstream })]),
];

function translate(pieces: readonly Uint8Array[], context = CONTEXT) {
  const { pushed, end } = run(createResponseStream(context), pieces);
  return {
    early: pushed.toString(),
    text: `${pushed.toString()}${Buffer.from(end.tail).toString()}`,
    end,
  };
}

function textOf(...pieces: readonly Uint8Array[]): string {
  return Buffer.concat(pieces).toString();
}

/** Fails to compile when a response of the SDK has a member that is not listed here. */
const REQUIRED: Record<Exclude<RequiredKeys<OpenAI.Responses.Response>, 'output_text'>, true> = {
  access_programs: true,
  created_at: true,
  error: true,
  id: true,
  incomplete_details: true,
  instructions: true,
  metadata: true,
  model: true,
  object: true,
  output: true,
  parallel_tool_calls: true,
  temperature: true,
  tool_choice: true,
  tools: true,
  top_p: true,
};
type RequiredKeys<T> = { [K in keyof T]-?: object extends Pick<T, K> ? never : K }[keyof T];

it('a response has each member that the newest SDK calls required', () => {
  const message = '{"id":"msg_1","content":[{"type":"text","text":"Hi"}],"stop_reason":"end_turn"}';
  const plain = translateMessage(message, CONTEXT);
  if (plain.outcome === 'malformed') throw new Error(plain.reason);
  const members = Object.keys(JSON.parse(plain.body) as object);
  expect(members).toEqual(expect.arrayContaining(Object.keys(REQUIRED)));
});

const SDKS = [
  ['7.x', () => OpenAI],
  ['6.x', () => OpenAI6 as unknown as typeof OpenAI],
] as const;
const NO_LEDGER = { type: 'api_error', message: 'no ledger' };

/** The response that the helper of an SDK makes of a stream. */
function accumulated(text: string, sdk: typeof OpenAI) {
  const headers = { 'content-type': 'text/event-stream' };
  const client = new sdk({
    apiKey: 'k',
    maxRetries: 0,
    fetch: () => Promise.resolve(new Response(text, { headers })),
  });
  return client.responses.stream({ model: 'm', input: 'a' }).finalResponse();
}

describe('createResponseStream', () => {
  it.each(STREAMS)(
    '%s: gives events in a valid order, and the terminal event and the usage only from end()',
    (_name, bytes) => {
      const { text, early, end } = translate([bytes]);
      const events = readResponseEvents(text);
      expectGrammar(events);
      const last = events.at(-1)!;
      if (end.outcome === 'failed') {
        expect(last.type).toBe('response.failed');
        expect(events.at(-2)).toMatchObject({ type: 'error', message: end.error.message });
        expect(last.response?.error).toEqual({
          code: events.at(-2)!.code,
          message: end.error.message,
        });
      } else {
        expect(last.type).not.toBe('response.failed');
        expect(last.response!.usage === null).toBe(end.usage.outcome === 'invalid');
      }
      expect(early).not.toMatch(/response\.(completed|incomplete|failed)|"usage":\{/);
    },
  );

  it.each(STREAMS)('%s: has the same output at every split', (_name, bytes) => {
    const whole = translate([bytes]).text;
    expect(translate(bytewise(bytes)).text).toBe(whole);
    fc.assert(
      fc.property(
        fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 8 }),
        (cuts) => {
          expect(translate(cutAt(bytes, cuts)).text).toBe(whole);
        },
      ),
      { numRuns: 10 },
    );
  });

  it.each(OWN)('%s: has the same output with every line end', (_name, { upstream }) => {
    const whole = translate([bytesOf({ upstream })]).text;
    for (const lineEnd of ['\r\n', '\r']) {
      const bytes = bytesOf({ upstream }, lineEnd);
      expect(translate([bytes]).text).toBe(whole);
      expect(translate(bytewise(bytes)).text).toBe(whole);
    }
  });

  it.each(STREAMS)(
    '%s: ends with the response to which the plain message is translated',
    (name, bytes) => {
      const { text, end } = translate([bytes]);
      if (end.outcome === 'failed' || WITHOUT_MESSAGE.test(name)) return;
      const plain = translateMessage(assembledMessage(bytes), CONTEXT);
      if (plain.outcome === 'malformed') throw new Error(plain.reason);
      const streamed = readResponseEvents(text).at(-1)!.response!;
      expect({ ...streamed, usage: null }).toEqual(JSON.parse(plain.body));
    },
  );

  it('keeps the digits of arguments that come whole at the start of a block', () => {
    const [, bytes] = STREAMS.find(([name]) => name === 'replay/tool-arguments-at-start-digits')!;
    const { output } = readResponseEvents(translate([bytes]).text).at(-1)!.response!;
    expect(output).toMatchObject([{ arguments: '{"n":12345678901234567890, "a":1.10}' }]);
  });

  it.each(SDKS)('is accumulated by the helper of openai %s', async (_generation, sdk) => {
    for (const [name, bytes] of STREAMS) {
      const { text, end } = translate([bytes]);
      const final = accumulated(text, sdk());
      if (end.outcome === 'failed') {
        await expect(final).rejects.toThrow(end.error.message);
        continue;
      }
      const response = await final;
      const expected = readResponseEvents(text).at(-1)!.response!;
      expect([name, response.status]).toEqual([name, expected.status]);
      expect(response.output).toMatchObject(expected.output.map((item) => ({ ...item })));
      expect(response.usage ?? null).toEqual(expected.usage);
    }
  });

  it.each(titled(OWN))('%s', (_title, vector) => {
    expect([vector.why, vector.source]).toEqual([expect.any(String), expect.any(String)]);
    const context = {
      ...CONTEXT,
      showsSummaries: vector.showsSummaries ?? false,
      showsSearches: vector.showsSearches ?? false,
      tools: new Map(Object.entries(vector.tools ?? {})),
    };
    const events = readResponseEvents(translate([bytesOf(vector)], context).text);
    expect(events.slice(2, -1).map(withoutNumber)).toEqual(vector.events);
    expect(events.at(-1)?.response).toMatchObject(vector.response);
  });

  it('gives the same events as createResponseEventStream, except for the members that the SDK adds', () => {
    for (const [name, bytes] of STREAMS) {
      // `parsed` leaves out events that no SDK would return. It rounds digits that only text keeps.
      const native = eventsOf([bytes]).flatMap(({ data }) => parsed(data));
      const text = native.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('');
      const pipe = createResponseEventStream(CONTEXT);
      const early = native.flatMap((event) => (pipe.isFinished ? [] : pipe.push(event)));
      const end = pipe.end();
      const whole = translate([Buffer.from(text)]);
      const written = readResponseEvents(whole.text);
      const events = [...early, ...end.tail];
      expect([name, events]).toEqual([name, written.map(withSdkMembers)]);
      expect(end.outcome).toBe(whole.end.outcome);
    }
  });

  it('can write a failure in place of its end, with the sequence numbers that come next', () => {
    for (const [, bytes] of STREAMS) {
      const pipe = createResponseStream(CONTEXT);
      const early = Buffer.from(pipe.push(bytes)).toString();
      if (pipe.end().outcome === 'failed') continue;
      const failure = Buffer.from(pipe.failInstead(NO_LEDGER)).toString();
      const events = readResponseEvents(early + failure);
      expectGrammar(events);
      expect(events.at(-1)?.response?.error).toEqual({
        code: 'server_error',
        message: 'no ledger',
      });
    }
  });

  // F173
  it('stays alive by events that are numbered like all others, before, within and after the message', () => {
    const place = fc.integer({ min: 0, max: 3 });
    for (const [, bytes] of STREAMS) {
      fc.assert(
        fc.property(
          fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 5 }),
          fc.array(place, { minLength: 8, maxLength: 8 }),
          fc.boolean(),
          (cuts, counts, fails) => {
            const pipe = createResponseStream(CONTEXT);
            let beganAlone = false;
            const silence = (at: number): string => {
              const sent = Array.from({ length: counts[at] ?? 0 }, () =>
                textOf(pipe.keepAlive('msg_own')),
              );
              beganAlone ||= sent.some((event) => event.includes('response.created'));
              return sent.join('');
            };
            let text = silence(0);
            for (const [index, piece] of cutAt(bytes, cuts).entries()) {
              text += textOf(pipe.push(piece)) + silence(1 + index);
            }
            const end = pipe.end();
            if (end.outcome === 'failed') text += textOf(end.tail);
            else {
              text += silence(7);
              text += textOf(fails ? pipe.failInstead(NO_LEDGER) : pipe.repeatTail());
            }
            // Without the events of the silence, only the number and, maybe, the id differ.
            const events = readResponseEvents(text).filter(({ type }) => type !== 'keepalive');
            expectGrammar(events);
            if (end.outcome === 'complete' && fails) return;
            const whole = readResponseEvents(translate([bytes]).text).map(withoutNumber);
            const id = events[0]!.response!.id.replace('resp_', '');
            expect(id).toBe(beganAlone ? 'own' : bareIdOf(whole));
            const [received, expected] = [events.map(withoutNumber), whole].map((list) =>
              JSON.stringify(list)
                .replaceAll(`_${id}`, '_id')
                .replaceAll(`_${bareIdOf(whole)}`, '_id'),
            );
            expect(received).toBe(expected);
          },
        ),
        { numRuns: 5 },
      );
    }
  });

  // F173
  it.each(SDKS)('stays alive for the helper of openai %s', async (_generation, sdk) => {
    for (const [, bytes] of STREAMS) {
      const pipe = createResponseStream(CONTEXT);
      const pieces = [pipe.keepAlive('msg_own'), pipe.keepAlive('msg_own')];
      for (const byte of bytewise(bytes)) {
        const output = pipe.push(byte);
        pieces.push(output);
        if (output.length > 0) pieces.push(pipe.keepAlive('msg_own'));
      }
      const end = pipe.end();
      if (end.outcome === 'failed') continue;
      pieces.push(pipe.keepAlive('msg_own'), pipe.repeatTail());
      const text = textOf(...pieces);
      const { status, output } = await accumulated(text, sdk());
      const expected = readResponseEvents(text).at(-1)!.response!;
      expect(status).toBe(expected.status);
      expect(output).toMatchObject(expected.output.map((item) => ({ ...item })));
    }
  });

  it('skips an event that exceeds its limit, reads the usage behind it, and ends with an error', () => {
    const pipe = createResponseStream(CONTEXT, { maxEventBytes: 150 });
    const pieces = [
      { type: 'message_start', message: { id: 'm' } },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      {
        type: 'content_block_delta',
        index: 0,
        delta: { type: 'text_delta', text: 'x'.repeat(500) },
      },
      {
        type: 'message_delta',
        delta: { stop_reason: 'end_turn' },
        usage: { input_tokens: 2, output_tokens: 5 },
      },
      { type: 'message_stop' },
    ].map((event) => pipe.push(new TextEncoder().encode(`data: ${JSON.stringify(event)}\n\n`)));
    expect(pipe.isFinished).toBe(true);
    const end = pipe.end();
    expect(end).toMatchObject({ outcome: 'complete', error: { type: 'api_error' } });
    expect(end).toMatchObject({ usage: { outcome: 'read', usage: { outputTokens: 5 } } });
    const text = Buffer.concat([...pieces, end.tail]).toString();
    expect(text).not.toContain('xxx');
    expect(text).toMatch(/event: error\n.*oversized event.*\n\nevent: response.failed\n.*\n\n$/);
  });

  // F221: the model is cut off within a call that the client would run (shell, patch): the call is
  // left out of the response, which is `incomplete`: no part of it is run.
  it.each(['{"commands":["rm -r /a"]}', '{"commands":[]}'])(
    'leaves out a call of the shell with the input %s if the message was cut off after it',
    (input) => {
      const message = (stop: string) =>
        `{"id":"m","content":[{"type":"tool_use","id":"c","name":"shell","input":${input}}],` +
        `"stop_reason":"${stop}"}`;
      const types = ['max_tokens', 'tool_use'].map((stop) => {
        const plain = translateMessage(message(stop), CONTEXT);
        const body: ResponseObject = JSON.parse(plain.outcome === 'translated' ? plain.body : '{}');
        return body.output.map(({ type }) => type);
      });
      expect(types).toEqual([[], ['shell_call']]);
    },
  );

  it('gives the client an empty input for one of another type or of too many levels', () => {
    const deep = `{"query":${'['.repeat(300)}${']'.repeat(300)}}`;
    const call = (name: string, input: string) =>
      `{"type":"tool_use","id":"c","name":"${name}","input":${input}}`;
    const calls = [call('tool_search', deep), call('local_shell', '{"command":1,"env":2}')];
    const plain = translateMessage(`{"id":"m","content":[${calls.join(',')}]}`, CONTEXT);
    if (plain.outcome === 'malformed') throw new Error(plain.reason);
    expect(JSON.parse(plain.body).output).toMatchObject([
      { type: 'tool_search_call', arguments: {} },
      { type: 'local_shell_call', action: { type: 'exec', command: [], env: {} } },
    ]);
  });

  it('refuses a second message, and calls that no client could answer', () => {
    const start = { type: 'message_start', message: { id: 'm' } };
    const call = (members: object) => ({
      type: 'content_block_start',
      index: 0,
      content_block: { type: 'tool_use', id: 'c', name: 'f', ...members },
    });
    const odd = { toString: 1 };
    for (const upstream of [
      [start, start],
      [start, call({ id: odd })],
      [start, call({ name: odd })],
      [start, call({ id: null })],
      [call({})],
    ]) {
      expect(translate([bytesOf({ upstream })]).end).toMatchObject({ cause: 'malformed' });
    }
  });
});

/**
 * Streams for which `assembledMessage` does not give the message of the final response: interleaved
 * blocks come in another order; arguments that were cut off are not JSON; it rounds big integers at
 * the start of a block, and keeps only the last block of an index.
 */
const WITHOUT_MESSAGE = /interleaved|cut-off|at-start-digits|index-reused/;

function parsed(data: string): object[] {
  try {
    const value: unknown = JSON.parse(data);
    return typeof value === 'object' && value !== null ? [value] : [];
  } catch {
    return [];
  }
}

/** The event as OpenAI's SDK completes it. */
function withSdkMembers(event: ResponseEvent): object {
  if (!event.response) return event;
  const { usage, output, ...response } = event.response;
  const parts = output.flatMap(({ content = [] }) => content);
  const texts = parts.map(({ text = '' }) => text);
  const counts = usage === null ? {} : { usage };
  const added = { output_text: texts.join('') };
  return { ...event, response: { ...response, output, ...counts, ...added } };
}

function bareIdOf(events: readonly object[]): string {
  return (events[0] as ResponseEvent).response!.id.replace('resp_', '');
}

function withoutNumber({ sequence_number: _number, ...event }: ResponseEvent): object {
  return event;
}

/**
 * Assembles a stream into the JSON text of its message, as simply as possible, as an independent
 * reference. Of the usage it keeps only `service_tier`.
 */
function assembledMessage(bytes: Uint8Array): string {
  let message: Record<string, unknown> = {};
  const blocks = new Map<unknown, Record<string, unknown> & { json: string }>();
  for (const { event: name, data } of eventsOf([bytes])) {
    if (!data.startsWith('{')) continue;
    const event = JSON.parse(data);
    const { delta = {}, index } = event;
    switch (event.type ?? name) {
      case 'message_start':
        message = event.message ?? {};
        (message['content'] as object[] | undefined)?.forEach((block, at) => {
          blocks.set(`start ${String(at)}`, { ...block, json: '' });
        });
        break;
      case 'content_block_start':
        blocks.set(index, { ...event.content_block, json: '' });
        break;
      case 'content_block_delta': {
        const block = blocks.get(index);
        if (!block) break;
        for (const member of ['text', 'thinking', 'signature']) {
          const earlier = block[member];
          if (typeof delta[member] !== 'string') continue;
          block[member] = (typeof earlier === 'string' ? earlier : '') + delta[member];
        }
        block.json += delta.partial_json ?? '';
        if (delta.citation) block['citations'] = [block['citations'] ?? [], delta.citation].flat();
        break;
      }
      case 'message_delta':
        message = { ...message, ...delta };
        break;
    }
    if ((event.type ?? name) === 'message_stop') break;
  }
  const content = [...blocks.values()].map(({ json, ...block }) =>
    // The arguments as text: a parsed copy would round big integers.
    json === ''
      ? JSON.stringify(block)
      : `${JSON.stringify({ ...block, input: undefined }).slice(0, -1)},"input":${json}}`,
  );
  const { service_tier } = (message['usage'] ?? {}) as { service_tier?: unknown };
  const rest = { ...message, content: undefined, usage: { service_tier } };
  const head = JSON.stringify(rest).slice(0, -1);
  return `${head},"content":[${content.join(',')}]}`;
}
