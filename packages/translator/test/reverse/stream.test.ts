/** `createMessageStream` with `vectors/stream`: split, as objects, and read by the SDKs. */

import { describe, expect, it } from '@jest/globals';
import Anthropic from '@anthropic-ai/sdk';
import Anthropic0 from 'anthropic-sdk-0';
import fc from 'fast-check';
import OpenAI from 'openai';
import OpenAI6 from 'openai-6';
import { createMessageStreamTap } from '../../src/native/index.js';
import {
  createMessageEventStream,
  createMessageStream,
  translateCompletion,
  type NativeEvent,
} from '../../src/reverse/index.js';
import { transformThrough } from '../../src/fetch/index.js';
import { iterateThrough } from '../../src/index.js';
import { assembled } from '../assembled-completion.js';
import { bytewise, cutAt, run } from '../replay-vectors.js';
import { bytesOf, contextOf, load, nativeCounts, type StreamVector } from './vectors.js';
import { titled } from '../titled.js';

const VECTORS = load<StreamVector>('stream');
const COMPLETE = VECTORS.filter(([, { outcome }]) => outcome === 'complete');

/** The vectors whose chunks SDKs could return one by one. */
const OBJECTS = VECTORS.filter(([, { chunks, maxEventBytes }]) => {
  const held = chunks.filter((chunk) => typeof chunk === 'string');
  return maxEventBytes === undefined && held.every((chunk) => chunk === 'data: [DONE]\n\n');
});

function pipeOf(vector: StreamVector) {
  const { maxEventBytes } = vector;
  return createMessageStream(
    contextOf(vector),
    maxEventBytes === undefined ? {} : { maxEventBytes },
  );
}

function translate(vector: StreamVector, pieces: readonly Uint8Array[]) {
  return run(pipeOf(vector), pieces);
}

function wholeText(vector: StreamVector): string {
  const { pushed, end } = translate(vector, [bytesOf(vector)]);
  return Buffer.concat([pushed, end.tail]).toString();
}

/** Parses the exact framing that native clients rely on. */
function eventsOf(stream: string): NativeEvent[] {
  const frames = stream.split('\n\n');
  expect(frames.pop()).toBe('');
  return frames.map((frame) => {
    const [, name, data] = /^event: (\w+)\ndata: (\{[^\n\r]*\})$/.exec(frame) ?? [];
    const event = JSON.parse(data ?? 'null') as NativeEvent;
    expect(name).toBe(event.type);
    return event;
  });
}

/** The events for a vector's blocks, stop reason and usage. */
function expectedEvents(vector: StreamVector): unknown[] {
  const content = vector.blocks.flatMap(({ block, deltas }, index) => [
    { type: 'content_block_start', index, content_block: block },
    ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
    { type: 'content_block_stop', index },
  ]);
  if (vector.outcome !== 'complete') return [...content, { type: 'error', error: vector.error }];
  const delta = {
    stop_reason: vector.stop_reason,
    stop_sequence: vector.stop_sequence ?? null,
    stop_details: vector.stop_details ?? null,
    container: null,
  };
  const usage = { ...nativeCounts(vector.usage), server_tool_use: null };
  return [...content, { type: 'message_delta', delta, usage }, { type: 'message_stop' }];
}

describe('message stream, with vectors', () => {
  it.each(titled(VECTORS))('%s', (_title, vector) => {
    expect([vector.why, vector.source]).toEqual([expect.any(String), expect.any(String)]);
    const { pushed, end } = translate(vector, [bytesOf(vector)]);
    const events = eventsOf(Buffer.concat([pushed, end.tail]).toString());
    expect(events.filter(({ type }) => type === 'ping')).toHaveLength(vector.pings ?? 0);
    const said = events.filter(({ type }) => type !== 'ping');
    if (said[0]?.type === 'message_start') {
      const { message } = said.shift() as NativeEvent & { type: 'message_start' };
      expect(message).toMatchObject({
        id: 'msg_chatcmpl-1',
        type: 'message',
        role: 'assistant',
        model: 'my-"model"',
        content: [],
        stop_reason: null,
        usage: vector.startUsage ?? { ...nativeCounts('invalid'), input_tokens: 0 },
      });
    } else {
      expect(vector.outcome).not.toBe('complete');
    }
    const expected = expectedEvents(vector);
    if (vector.outcome === 'complete') {
      expect(said).toEqual(expected);
    } else {
      // A block that was open when the stream failed never ends.
      const withoutStops = (list: unknown[]): unknown[] =>
        list.filter((event) => (event as NativeEvent).type !== 'content_block_stop');
      expect(withoutStops(said)).toEqual(withoutStops(expected));
    }
    checkEnd(vector, end);
  });

  it.each(VECTORS)('%s: has the same output however its bytes are split', (_name, vector) => {
    const bytes = bytesOf(vector);
    const whole = translate(vector, [bytes]);
    expect(translate(vector, bytewise(bytes))).toEqual(whole);
    fc.assert(
      fc.property(fc.array(fc.double({ min: 0, max: 1, noNaN: true })), (fractions) => {
        expect(translate(vector, cutAt(bytes, fractions))).toEqual(whole);
      }),
      { numRuns: 15 },
    );
  });

  it.each(COMPLETE)('%s: message_delta and message_stop come only from end()', (_name, vector) => {
    const { pushed, end } = translate(vector, [bytesOf(vector)]);
    expect(pushed.toString()).not.toMatch(/message_delta|message_stop/);
    const last = eventsOf(Buffer.from(end.tail).toString()).slice(-2);
    expect(last.map(({ type }) => type)).toEqual(['message_delta', 'message_stop']);
  });

  it.each(COMPLETE)('%s: the tap on native streams reads the same usage', (_name, vector) => {
    const { end } = run(createMessageStreamTap(), [Buffer.from(wholeText(vector))]);
    const own = translate(vector, [bytesOf(vector)]).end;
    if (end.outcome === 'failed' || own.outcome === 'failed') throw new Error('failed');
    expect(end.usage.outcome).toBe(own.usage.outcome);
    if (own.usage.outcome === 'read') expect(end.usage).toEqual(own.usage);
    expect([end.messageId, end.stopReason]).toEqual([own.messageId, own.stopReason]);
  });

  it.each(VECTORS)(
    '%s: has the same output iterated and as a web stream',
    async (_name, vector) => {
      const bytes = bytesOf(vector);
      const source = (): ReadableStream<Uint8Array> =>
        new ReadableStream({
          start(controller) {
            for (const piece of cutAt(bytes, [0.3, 0.7])) controller.enqueue(piece);
            controller.close();
          },
        });
      const forms = [
        iterateThrough(source(), pipeOf(vector)),
        source().pipeThrough(transformThrough(pipeOf(vector))),
      ];
      for (const form of forms) {
        const pieces: Uint8Array[] = [];
        for await (const piece of form) pieces.push(piece);
        expect(Buffer.concat(pieces).toString()).toBe(wholeText(vector));
      }
    },
  );

  it.each(OBJECTS)('%s: the objects equal those in the bytes', (_name, vector) => {
    const pipe = createMessageEventStream(contextOf(vector));
    const chunks = vector.chunks.slice(0, vector.chunks.indexOf('data: [DONE]\n\n'));
    const given = vector.chunks.includes('data: [DONE]\n\n') ? chunks : vector.chunks;
    const events = given.flatMap((chunk) => pipe.push(chunk as object));
    const end = pipe.end();
    expect([...events, ...end.tail]).toEqual(eventsOf(wholeText(vector)));
    checkEnd(vector, end);
  });
});

describe('createMessageStream', () => {
  it.each([
    ['a message that is complete', 'data: [DONE]\n\n', { outcome: 'complete' }],
    ['a failure', 'data: {\n\n', { outcome: 'failed', cause: 'malformed' }],
  ])('reports %s even if too many bytes follow in the same piece', (_, last, ending) => {
    const chunk = { choices: [{ index: 0, delta: { content: 'a' }, finish_reason: 'stop' }] };
    const text = `data: ${JSON.stringify(chunk)}\n\n${last}data: ${'x'.repeat(200)}`;
    const pipe = createMessageStream(contextOf({}), { maxEventBytes: 100 });
    pipe.push(Buffer.from(text));
    expect(pipe.isFinished).toBe(true);
    expect(pipe.end()).toMatchObject(ending);
  });
});

/** The SDK reads the same message from a streamed answer and from an unstreamed one. */
for (const [generation, Client] of [
  ['1.x', Anthropic],
  // The members used here are the same in both generations.
  ['0.x', Anthropic0 as unknown as typeof Anthropic],
] as const) {
  describe(`message stream, read by the Anthropic SDK ${generation}`, () => {
    const clientOf = (body: string, type: string) =>
      new Client({
        apiKey: 'key',
        maxRetries: 0,
        fetch: () => Promise.resolve(new Response(body, { headers: { 'content-type': type } })),
      });

    it.each(VECTORS)('is read as the vector %s says', async (_name, vector) => {
      const client = clientOf(wholeText(vector), 'text/event-stream');
      const stream = client.messages.stream({ model: 'm', max_tokens: 1, messages: [] });
      if (vector.outcome !== 'complete') {
        await expect(stream.done()).rejects.toThrow(vector.error?.message ?? 'no error');
        return;
      }
      const { parsed_output: _parsed, ...streamed } = await stream.finalMessage();
      expect(streamed.content).toHaveLength(vector.blocks.length);
      if (vector.plain === 'differs') return;
      const plain = translateCompletion(assembled(bytesOf(vector)), contextOf(vector));
      if (plain.outcome !== 'translated') throw new Error(plain.outcome);
      const created = await clientOf(plain.body, 'application/json').messages.create({
        model: 'm',
        max_tokens: 1,
        messages: [],
      });
      const expected = JSON.parse(JSON.stringify(created));
      // The SDK keeps the count of `message_start` if the final one is null.
      if (vector.usage === 'invalid') expected.usage.input_tokens = 0;
      expect(JSON.parse(JSON.stringify(streamed))).toEqual(expected);
    });
  });
}

for (const [generation, Client] of [
  ['7.x', OpenAI],
  // The members used here are the same in both generations.
  ['6.x', OpenAI6 as unknown as typeof OpenAI],
] as const) {
  it(`accepts the chunks that the OpenAI SDK ${generation} returns`, async () => {
    for (const [, vector] of OBJECTS) {
      if (vector.outcome !== 'complete') continue;
      const headers = { 'content-type': 'text/event-stream' };
      const client = new Client({
        apiKey: 'key',
        maxRetries: 0,
        fetch: () => Promise.resolve(new Response(bytesOf(vector).toString(), { headers })),
      });
      const chunks = await client.chat.completions.create({
        model: 'm',
        messages: [],
        stream: true,
      });
      const events: NativeEvent[] = [];
      const pipe = createMessageEventStream(contextOf(vector));
      for await (const event of iterateThrough(chunks, pipe)) events.push(event);
      const said = eventsOf(wholeText(vector)).filter(({ type }) => type !== 'ping');
      expect(events).toEqual(said);
    }
  });
}

describe('createMessageEventStream', () => {
  it('does not accept an array as a chunk', () => {
    const pipe = createMessageEventStream(contextOf({}));
    expect(pipe.push([])).toEqual([]);
    expect(pipe.isFinished).toBe(true);
    expect(pipe.end()).toMatchObject({ outcome: 'failed', cause: 'malformed' });
  });

  it('limits the text that waits for an earlier call', () => {
    const pipe = createMessageEventStream(contextOf({}), { maxHeld: 10 });
    const delta = (index: number, text: string): object => ({
      choices: [
        {
          index: 0,
          delta: {
            tool_calls: [
              { index, id: `call_${String(index)}`, function: { name: 'f', arguments: text } },
            ],
          },
        },
      ],
    });
    pipe.push(delta(0, '{'));
    pipe.push(delta(1, '{"a":"1234'));
    expect(pipe.isFinished).toBe(false);
    pipe.push(delta(1, '5'));
    expect(pipe.end()).toMatchObject({ outcome: 'failed', cause: 'too_large' });
  });
});

function checkEnd(
  vector: StreamVector,
  end:
    | ReturnType<typeof translate>['end']
    | ReturnType<ReturnType<typeof createMessageEventStream>['end']>,
): void {
  if (end.outcome === 'failed') {
    expect(end).toMatchObject({ cause: vector.outcome, error: vector.error });
    return;
  }
  expect(vector.outcome).toBe('complete');
  expect(end).toMatchObject({ messageId: 'msg_chatcmpl-1', stopReason: vector.stop_reason });
  expect(end.usage).toEqual(
    vector.usage === 'invalid'
      ? { outcome: 'invalid', reason: expect.stringMatching(/\w/) }
      : { outcome: 'read', usage: vector.usage },
  );
}
