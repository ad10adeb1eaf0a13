/**
 * A {@link StreamPipe} in the shapes that streams come in: async iterables, and web streams. Both
 * take from their source only as fast as they are read, and hold nothing but what the pipe holds.
 */

import type { StreamEnd, StreamPipe } from '../wire/stream-pipe.js';

/** What a pipe hands out: bytes and text as they are, objects one by one. */
export type PieceOf<Out> = Out extends readonly (infer Item)[] ? Item : Out;

export interface PipeThroughOptions<Out> {
  /**
   * Told how the stream ended, and awaited before its last bytes leave: where usage is made durable
   * before the client learns of it. What it throws, the stream throws instead of those bytes.
   */
  readonly onEnd?: (end: StreamEnd<Out>) => void | Promise<void>;
}

/**
 * Iterates over what a pipe makes of a source.
 *
 * A stream that fails yields the error event that the pipe ends with, as a client should see it; the
 * outcome is told to `onEnd`. When the source itself throws, the error event comes first and then the
 * source's own error is thrown. The source is cancelled (`return()`) as soon as the pipe has enough,
 * and when the iteration is left early, even before it began; `onEnd` is not called then.
 *
 * @example
 * import { createChatStream } from '@gateway/translator';
 * import { iterateThrough } from '@gateway/translator/streams';
 *
 * const context = { model: 'm', includeUsage: false, legacyFunctions: false, created: 0 };
 * const { body } = new Response('data: {"type":"ping"}\n\n');
 * const chunks = iterateThrough(body!, createChatStream(context));
 * for await (const bytes of chunks) process.stdout.write(bytes);
 */
export function iterateThrough<In, Out extends Uint8Array | string | readonly unknown[]>(
  source: AsyncIterable<In>,
  pipe: StreamPipe<In, Out>,
  options: PipeThroughOptions<Out> = {},
): AsyncIterableIterator<PieceOf<Out>> {
  const pieces = generate(source, pipe, options);
  let hasBegun = false;
  return {
    next() {
      hasBegun = true;
      return pieces.next();
    },
    async return() {
      // A generator that never ran has not opened its source, which may hold a connection all the same.
      if (!hasBegun) await source[Symbol.asyncIterator]().return?.();
      hasBegun = true;
      return pieces.return(undefined);
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

async function* generate<In, Out extends Uint8Array | string | readonly unknown[]>(
  source: AsyncIterable<In>,
  pipe: StreamPipe<In, Out>,
  { onEnd }: PipeThroughOptions<Out>,
): AsyncGenerator<PieceOf<Out>, undefined> {
  let fault: { readonly error: unknown } | undefined;
  const input = source[Symbol.asyncIterator]();
  let isOpen = true;
  try {
    while (!pipe.isFinished) {
      let result: IteratorResult<In, unknown>;
      try {
        result = await input.next();
      } catch (error) {
        fault = { error };
        isOpen = false;
        break;
      }
      if (result.done === true) {
        isOpen = false;
        break;
      }
      yield* piecesOf(pipe.push(result.value));
    }
  } finally {
    if (isOpen) await input.return?.();
  }
  const end = pipe.end();
  await onEnd?.(end);
  yield* piecesOf(end.tail);
  if (fault !== undefined) throw fault.error;
}

/**
 * A web stream of what a pipe makes of the bytes, or objects, that are written to it.
 *
 * A stream that fails ends with the error event that the pipe ends with, and closes. A source that
 * errors, errors the readable side at once, as web streams do: nothing can be sent after that, and
 * `onEnd` is not called. Once the pipe has enough, the readable side closes and the source is
 * cancelled. Neither side queues more than one chunk.
 *
 * @example
 * import { createChatStream } from '@gateway/translator';
 * import { transformThrough } from '@gateway/translator/streams';
 *
 * const context = { model: 'm', includeUsage: false, legacyFunctions: false, created: 0 };
 * const { body } = new Response('data: {"type":"ping"}\n\n');
 * const chunks = body!.pipeThrough(transformThrough(createChatStream(context)));
 * await new Response(chunks).text();
 */
export function transformThrough<In, Out extends Uint8Array | string | readonly unknown[]>(
  pipe: StreamPipe<In, Out>,
  { onEnd }: PipeThroughOptions<Out> = {},
): TransformStream<In, PieceOf<Out>> {
  type Controller = TransformStreamDefaultController<PieceOf<Out>>;

  async function finish(controller: Controller): Promise<void> {
    const end = pipe.end();
    await onEnd?.(end);
    for (const piece of piecesOf(end.tail)) controller.enqueue(piece);
  }

  return new TransformStream<In, PieceOf<Out>>({
    async transform(chunk, controller) {
      for (const piece of piecesOf(pipe.push(chunk))) controller.enqueue(piece);
      if (!pipe.isFinished) return;
      await finish(controller);
      controller.terminate();
    },
    flush: finish,
  });
}

function* piecesOf<Out extends Uint8Array | string | readonly unknown[]>(
  out: Out,
): Generator<PieceOf<Out>> {
  if (out.length === 0) return;
  if (out instanceof Uint8Array || typeof out === 'string') yield out as PieceOf<Out>;
  else for (const item of out as unknown as readonly PieceOf<Out>[]) yield item;
}
