/** Pipes as async iterables and as web streams, with bytes and with objects. */

import { createChatChunkStream } from '../../src/objects/index.js';
import { describe, expect, it } from '@jest/globals';
import Anthropic from '@anthropic-ai/sdk';
import Anthropic0 from 'anthropic-sdk-0';
import fc from 'fast-check';
import { createChatStream, iterateThrough, type StreamEnd } from '../../src/index.js';
import { transformThrough } from '../../src/fetch/index.js';
import { createMessageStreamTap } from '../../src/native/index.js';
import {
  STREAM_VECTORS,
  bytesOf,
  contextOf,
  cutAt,
  run,
  vectorNamed,
  type NativeEvent,
  type StreamVector,
} from '../replay-vectors.js';

function pipeOf(vector: StreamVector) {
  return createChatStream(contextOf(vector));
}

/** The output of `push` and `end`, which every other form must equal. */
function pushed(vector: StreamVector, pieces: readonly Uint8Array[]): string {
  const { pushed: early, end } = run(pipeOf(vector), pieces);
  return Buffer.concat([early, end.tail]).toString();
}

async function* sourceOf<Item>(
  items: readonly Item[],
  log: string[] = [],
): AsyncGenerator<Item, void> {
  try {
    for (const [index, item] of items.entries()) {
      log.push(`pull ${String(index)}`);
      yield item;
    }
    log.push('end');
  } finally {
    log.push('closed');
  }
}

function streamOf(source: AsyncGenerator<Uint8Array>): ReadableStream<Uint8Array> {
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await source.next();
      if (done === true) controller.close();
      else controller.enqueue(value);
    },
    async cancel() {
      await source.return(undefined);
    },
  });
}

async function collect(pieces: AsyncIterable<Uint8Array>): Promise<string> {
  const all: Uint8Array[] = [];
  for await (const piece of pieces) {
    expect(piece.length).toBeGreaterThan(0);
    all.push(piece);
  }
  return Buffer.concat(all).toString();
}

function chunksIn(stream: string): unknown[] {
  return stream
    .split('\n\n')
    .filter((event) => event.startsWith('data: {'))
    .map((event): unknown => JSON.parse(event.slice('data: '.length)));
}

const TEXT = vectorNamed('text');
const PIECES = cutAt(bytesOf(TEXT), [0.2, 0.4, 0.6, 0.8]);

describe('iterateThrough', () => {
  it('yields the output of push for every vector, split anywhere', async () => {
    for (const [, vector] of STREAM_VECTORS) {
      const bytes = bytesOf(vector);
      await fc.assert(
        fc.asyncProperty(fc.array(fc.double({ min: 0, max: 1, noNaN: true })), async (cuts) => {
          const pieces = cutAt(bytes, cuts);
          const iterated = await collect(iterateThrough(sourceOf(pieces), pipeOf(vector)));
          expect(iterated).toBe(pushed(vector, [bytes]));
        }),
        { numRuns: 5 },
      );
    }
  });

  it('reads from its source only as much as its reader asks for', async () => {
    const log: string[] = [];
    const iterator = iterateThrough(sourceOf(PIECES, log), createMessageStreamTap());
    expect(log).toEqual([]);
    await iterator.next();
    const pulls = log.length;
    await new Promise((resolve) => setImmediate(resolve));
    expect(log).toHaveLength(pulls);
    expect(log).not.toContain('end');
  });

  it('cancels the source when the reader leaves', async () => {
    const log: string[] = [];
    for await (const _piece of iterateThrough(sourceOf(PIECES, log), pipeOf(TEXT))) break;
    expect(log.at(-1)).toBe('closed');
    expect(log).not.toContain('end');
  });

  it('cancels a source that was never read from', async () => {
    let isCancelled = false;
    const source = new ReadableStream<Uint8Array>({
      cancel() {
        isCancelled = true;
      },
    });
    const iterator = iterateThrough(source, pipeOf(TEXT));
    await iterator.return?.();
    expect(isCancelled).toBe(true);
    await expect(iterator.next()).resolves.toEqual({ done: true, value: undefined });
  });

  it('ends with the message, even if the upstream keeps its connection open', async () => {
    let isCancelled = false;
    const source = new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(bytesOf(TEXT));
      },
      cancel() {
        isCancelled = true;
      },
    });
    await expect(collect(iterateThrough(source, pipeOf(TEXT)))).resolves.toContain('[DONE]');
    expect(isCancelled).toBe(true);
  });

  it('awaits onEnd before the bytes with the usage leave', async () => {
    const seen: string[] = [];
    const onEnd = async (end: StreamEnd): Promise<void> => {
      for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
      seen.push(end.outcome);
    };
    for await (const piece of iterateThrough(sourceOf(PIECES), pipeOf(TEXT), { onEnd })) {
      if (Buffer.from(piece).includes('"usage":{')) seen.push('usage');
    }
    expect(seen).toEqual(['complete', 'usage']);
  });

  it('sends no byte of the end when onEnd throws', async () => {
    const onEnd = (): never => {
      throw new Error('not durable');
    };
    let text = '';
    const drain = async (): Promise<void> => {
      const pieces = iterateThrough(sourceOf(PIECES), pipeOf(TEXT), { onEnd });
      for await (const piece of pieces) text += Buffer.from(piece).toString();
    };
    await expect(drain()).rejects.toThrow('not durable');
    expect(text).not.toMatch(/"usage":\{|\[DONE\]/);
  });

  it('reports a broken source to the client first, and then to the caller', async () => {
    async function* broken(): AsyncGenerator<Uint8Array> {
      yield* PIECES.slice(0, 2);
      await Promise.resolve();
      throw new Error('socket hang up');
    }
    let text = '';
    let end: StreamEnd | undefined;
    const drain = async (): Promise<void> => {
      const onEnd = (reported: StreamEnd): void => {
        end = reported;
      };
      for await (const piece of iterateThrough(broken(), pipeOf(TEXT), { onEnd })) {
        text += Buffer.from(piece).toString();
      }
    };
    await expect(drain()).rejects.toThrow('socket hang up');
    expect(text).toMatch(/data: \{"error":\{[^\n]*\}\n\n$/);
    expect(end).toMatchObject({ outcome: 'failed', cause: 'truncated' });
  });
});

describe('transformThrough', () => {
  it('has the output of push for every vector, split anywhere', async () => {
    for (const [, vector] of STREAM_VECTORS) {
      const bytes = bytesOf(vector);
      await fc.assert(
        fc.asyncProperty(fc.array(fc.double({ min: 0, max: 1, noNaN: true })), async (cuts) => {
          const source = streamOf(sourceOf(cutAt(bytes, cuts)));
          const readable = source.pipeThrough(transformThrough(pipeOf(vector)));
          expect(await collect(readable)).toBe(pushed(vector, [bytes]));
        }),
        { numRuns: 5 },
      );
    }
  });

  it('reads no more from its source than its queues hold while nobody reads', async () => {
    const log: string[] = [];
    const many = Array.from({ length: 100 }, () => Buffer.from('event: ping\ndata: {}\n\n'));
    const source = sourceOf(many, log);
    const readable = streamOf(source).pipeThrough(transformThrough(createMessageStreamTap()));
    for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    expect(log.length).toBeLessThan(5);
    await readable.cancel();
    // A pipe between web streams passes the cancellation on asynchronously.
    while (log.at(-1) !== 'closed') await new Promise((resolve) => setImmediate(resolve));
  });

  it('closes with the message, and cancels a source that stays open', async () => {
    let onCancel: () => void = () => undefined;
    const cancelled = new Promise<void>((resolve) => {
      onCancel = resolve;
    });
    const source = new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(bytesOf(TEXT));
      },
      cancel: () => {
        onCancel();
      },
    });
    const seen: string[] = [];
    const onEnd = (end: StreamEnd): void => void seen.push(end.outcome);
    const readable = source.pipeThrough(transformThrough(pipeOf(TEXT), { onEnd }));
    await expect(collect(readable)).resolves.toContain('[DONE]');
    await cancelled;
    expect(seen).toEqual(['complete']);
  });

  it('errors when its source errors', async () => {
    const source = new ReadableStream<Uint8Array>({
      pull(controller) {
        controller.error(new Error('socket hang up'));
      },
    });
    const readable = source.pipeThrough(transformThrough(pipeOf(TEXT)));
    await expect(collect(readable)).rejects.toThrow('socket hang up');
  });
});

describe('createChatChunkStream', () => {
  const objectVectors = STREAM_VECTORS.filter(([, { upstream }]) =>
    upstream.every((event) => typeof event !== 'string'),
  );

  it.each(objectVectors)('%s: the objects equal those in the bytes', async (_name, vector) => {
    const events = vector.upstream as readonly NativeEvent[];
    const chunks: unknown[] = [];
    let end: { readonly outcome: string } | undefined;
    const pipe = createChatChunkStream(contextOf(vector));
    const onEnd = (reported: { readonly outcome: string }): void => {
      end = reported;
    };
    for await (const chunk of iterateThrough(sourceOf(events), pipe, { onEnd })) chunks.push(chunk);
    expect(chunks).toEqual(chunksIn(pushed(vector, [bytesOf(vector)])));
    expect(end?.outcome === 'complete' ? 'complete' : end).toEqual(
      vector.outcome === 'complete'
        ? 'complete'
        : expect.objectContaining({ outcome: 'failed', cause: vector.outcome }),
    );
  });

  it.each([
    ['1.x', Anthropic],
    // The members used here are the same in both generations.
    ['0.x', Anthropic0 as unknown as typeof Anthropic],
  ] as const)(
    'accepts the events that the Anthropic SDK %s returns',
    async (_generation, Client) => {
      for (const [, vector] of objectVectors) {
        if (vector.outcome !== 'complete' || vector.anthropicHelper === 'skip') continue;
        const headers = { 'content-type': 'text/event-stream' };
        const client = new Client({
          apiKey: 'key',
          maxRetries: 0,
          fetch: () => Promise.resolve(new Response(bytesOf(vector).toString(), { headers })),
        });
        const events = await client.messages.create({
          model: 'm',
          max_tokens: 1,
          messages: [],
          stream: true,
        });
        const pipe = createChatChunkStream(contextOf(vector));
        const chunks: unknown[] = [];
        for await (const chunk of iterateThrough(events, pipe)) chunks.push(chunk);
        expect(chunks).toEqual(chunksIn(pushed(vector, [bytesOf(vector)])));
      }
    },
  );

  it('writes nothing after the end of its message', () => {
    const pipe = createChatChunkStream(contextOf(TEXT));
    const events = TEXT.upstream as readonly NativeEvent[];
    for (const event of [...events, ...events]) {
      const isOver = pipe.isFinished;
      const chunks = pipe.push(event);
      if (isOver) expect(chunks).toEqual([]);
    }
    expect(pipe.end()).toMatchObject({ outcome: 'complete', messageId: 'msg_1' });
  });

  it('does not accept an array as an event', () => {
    const pipe = createChatChunkStream(contextOf(TEXT));
    expect(pipe.push([])).toEqual([]);
    expect(pipe.isFinished).toBe(true);
    expect(pipe.end()).toMatchObject({ outcome: 'failed', cause: 'malformed' });
  });
});

describe('a source that is a stream of an SDK', () => {
  const ask = {
    model: 'm',
    max_tokens: 1,
    messages: [{ role: 'user' as const, content: 'Hi' }],
    stream: true as const,
  };

  it.each([
    ['the newest', (options: object) => new Anthropic(options).messages.create(ask)],
    ['an older one', (options: object) => new Anthropic0(options).messages.create(ask)],
  ])('keeps the type of an error event: %s', async (_, create) => {
    const error = { type: 'overloaded_error', message: 'Overloaded' };
    const bytes = [
      'event: message_start\ndata: {"type":"message_start","message":{"id":"msg_1"}}\n\n',
      `event: error\ndata: ${JSON.stringify({ type: 'error', error })}\n\n`,
    ].join('');
    const headers = { 'content-type': 'text/event-stream' };
    const source: AsyncIterable<object> = await create({
      apiKey: 'key',
      maxRetries: 0,
      fetch: () => Promise.resolve(new Response(bytes, { headers })),
    });
    const pipe = createChatChunkStream({
      model: 'm',
      includeUsage: false,
      legacyFunctions: false,
      created: 0,
    });
    const ends: unknown[] = [];
    const pieces: unknown[] = [];
    const read = async () => {
      const onEnd = (end: unknown) => void ends.push(end);
      for await (const piece of iterateThrough(source, pipe, { onEnd })) pieces.push(piece);
    };
    await expect(read()).rejects.toThrow();
    expect(ends).toMatchObject([{ outcome: 'failed', cause: 'error_event', error }]);
    expect(pieces.at(-1)).toMatchObject({ error });
  });
});

it('pipes name what they cannot take', () => {
  const context = { model: 'm', includeUsage: false, legacyFunctions: false, created: 0 };
  expect(() => createChatChunkStream(context).push(new Uint8Array(1))).toThrow(/objects of events/);
  expect(() => createChatStream(context).push({} as never)).toThrow(/takes bytes/);
  expect(() => createChatStream({ ...context, created: undefined } as never)).toThrow(/created/);
});
