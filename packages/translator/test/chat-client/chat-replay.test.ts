/** `createChatStream` with the vectors in `vectors/replay`, split anywhere and read by the SDKs. */

import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import OpenAI from 'openai';
import OpenAI6 from 'openai-6';
import { createChatStream, translateResponse } from '../../src/index.js';
import {
  STREAM_VECTORS,
  bytesOf,
  bytewise,
  contextOf,
  cutAt,
  readingOf,
  run,
  vectorNamed,
  withEachLineEnd,
  type StreamVector,
} from '../replay-vectors.js';

function translate(vector: StreamVector, pieces: readonly Uint8Array[]) {
  return run(createChatStream(contextOf(vector)), pieces);
}

describe('chat stream, by vectors', () => {
  for (const [name, vector] of STREAM_VECTORS) {
    const bytes = bytesOf(vector);

    it(`${name}: ${vector.why}`, () => {
      expect(vector.source).toEqual(expect.any(String));
      const { pushed, end } = translate(vector, [bytes]);
      const { chunks, isDone } = readChunks(`${pushed.toString()}${text(end.tail)}`);
      const { model, created } = contextOf(vector);
      const message = /"id":"(msg_\w+)"/.exec(bytes.toString())?.[1];
      const expected: unknown[] = vector.chat.map(
        ({ delta, finish_reason, native_finish_reason, choices, ...usage }) => ({
          id: `chatcmpl-${String(message)}`,
          object: 'chat.completion.chunk',
          created,
          model,
          choices: choices ?? [
            {
              index: 0,
              delta,
              logprobs: null,
              finish_reason: finish_reason ?? null,
              native_finish_reason,
            },
          ],
          ...usage,
        }),
      );
      if (vector.error) expected.push({ error: { ...vector.error, param: null, code: null } });
      expect(chunks).toEqual(expected);
      expect(isDone).toBe(vector.outcome === 'complete');
      checkEnd(vector, end);
    });

    // F35
    it(`${name}: has the same output at every split and line end`, () => {
      const whole = translate(vector, [bytes]);
      for (const written of withEachLineEnd(vector)) {
        expect(translate(vector, bytewise(written))).toEqual(whole);
        fc.assert(
          fc.property(fc.array(fc.double({ min: 0, max: 1, noNaN: true })), (fractions) => {
            expect(translate(vector, cutAt(written, fractions))).toEqual(whole);
          }),
          { numRuns: 15 },
        );
      }
    });
  }
});

// F412: an answer has text before and after a search: in the one text of a chat they are parted,
// and a plain answer has the same text as a stream.
it('the text around a search is parted in a stream and in a plain answer', () => {
  const vector = vectorNamed('search-text-around');
  const { pushed, end } = translate(vector, [bytesOf(vector)]);
  const streamed = readChunks(`${pushed.toString()}${text(end.tail)}`).chunks;
  const contents = streamed.map(({ choices }) => choices?.[0]?.delta.content ?? '');
  expect(contents.join('')).toBe('I look.\n\nThe deepest is X.\nDone.');
  const content = [
    { type: 'text', text: 'I look.' },
    { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'a' } },
    { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [] },
    { type: 'text', text: 'The deepest is X.' },
    { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [] },
    { type: 'text', text: '\nDone.' },
  ];
  const plain = translateResponse(JSON.stringify({ id: 'msg_1', content }), contextOf(vector));
  expect(plain).toMatchObject({ body: expect.stringContaining(JSON.stringify(contents.join(''))) });
});

describe('the bytes of a chat stream that are sent before its end', () => {
  it('carry no usage, no finish reason and no [DONE]', () => {
    for (const [, vector] of STREAM_VECTORS) {
      const { pushed } = translate(vector, [bytesOf(vector)]);
      const { chunks, isDone } = readChunks(pushed.toString());
      expect(isDone).toBe(false);
      for (const chunk of chunks) {
        expect(chunk).toMatchObject({ choices: [{ finish_reason: null }] });
        expect(chunk.usage ?? null).toBeNull();
      }
    }
  });
});

for (const [generation, Client] of [
  ['7.x', OpenAI],
  // The members used here are the same in both generations.
  ['6.x', OpenAI6 as unknown as typeof OpenAI],
] as const) {
  describe(`chat stream, read by the OpenAI SDK ${generation}`, () => {
    for (const [name, vector] of STREAM_VECTORS) {
      it(name, async () => {
        const { pushed, end } = translate(vector, [bytesOf(vector)]);
        const client = new Client({
          apiKey: 'key',
          maxRetries: 0,
          fetch: () => Promise.resolve(eventStream(Buffer.concat([pushed, end.tail]))),
        });
        const stream = client.chat.completions.stream({
          model: 'm',
          messages: [],
          stream_options: { include_usage: true },
        });
        if (vector.outcome !== 'complete') {
          await expect(stream.done()).rejects.toThrow(vector.error?.message);
          return;
        }
        // The helper of 6.x knows functions only.
        if (Client !== OpenAI && vector.context?.customTools) {
          await expect(stream.done()).rejects.toThrow('function.name');
          return;
        }
        const completion = await stream.finalChatCompletion();
        const [choice] = completion.choices;
        const last = vector.chat.findLast((chunk) => chunk.finish_reason !== undefined);
        expect(choice?.finish_reason).toBe(last?.finish_reason);
        expect(choice?.message.content ?? '').toBe(contentOf(vector));
        const calls = choice?.message.tool_calls ?? [];
        expect(
          calls.map((call) =>
            call.type === 'function'
              ? [call.function.name, call.function.arguments]
              : [call.custom.name, call.custom.input],
          ),
        ).toEqual(callsOf(vector));
        if (vector.usage !== undefined) {
          expect(completion.usage).toEqual(vector.chat.at(-1)?.usage);
        }
      });
    }
  });
}

function checkEnd(vector: StreamVector, end: ReturnType<typeof translate>['end']): void {
  if (end.outcome === 'failed') {
    expect(end).toMatchObject({ cause: vector.outcome, error: vector.error });
    return;
  }
  expect(vector.outcome).toBe('complete');
  expect(end.messageId).toBe('msg_1');
  if (vector.stopReason !== undefined) expect(end.stopReason ?? null).toBe(vector.stopReason);
  expect(end.usage).toEqual(readingOf(vector));
}

interface Chunk {
  readonly usage?: unknown;
  readonly choices?: readonly { readonly delta: { readonly content?: string } }[];
}

/** Parses the exact framing that clients of chat completions rely on. */
function readChunks(stream: string): { chunks: Chunk[]; isDone: boolean } {
  const events = stream.split('\n\n');
  expect(events.pop()).toBe('');
  const isDone = events.at(-1) === 'data: [DONE]';
  const chunks = (isDone ? events.slice(0, -1) : events).map((event): Chunk => {
    expect(event).toMatch(/^data: \{[^\n\r]*\}$/);
    return JSON.parse(event.slice('data: '.length));
  });
  return { chunks, isDone };
}

function text(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString();
}

function eventStream(body: Uint8Array): Response {
  return new Response(Buffer.from(body), { headers: { 'content-type': 'text/event-stream' } });
}

interface Delta {
  readonly content?: string;
  readonly tool_calls?: readonly {
    readonly index: number;
    readonly function?: { readonly name?: string; readonly arguments: string };
    readonly custom?: { readonly name: string; readonly input: string };
  }[];
}

function deltasOf(vector: StreamVector): Delta[] {
  return vector.chat.map(({ delta }) => (delta ?? {}) as Delta);
}

function contentOf(vector: StreamVector): string {
  return deltasOf(vector)
    .map(({ content }) => content ?? '')
    .join('');
}

/** Of each call, the name and the arguments or input. */
function callsOf(vector: StreamVector): (readonly [name: string, input: string])[] {
  const calls: [name: string, input: string][] = [];
  for (const { tool_calls = [] } of deltasOf(vector)) {
    for (const { index, function: called, custom } of tool_calls) {
      const call = (calls[index] ??= ['', '']);
      call[0] += called?.name ?? custom?.name ?? '';
      call[1] += called?.arguments ?? custom?.input ?? '';
    }
  }
  return calls;
}
