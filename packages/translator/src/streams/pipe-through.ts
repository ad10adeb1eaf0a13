/**
 * Turns a {@link StreamPipe} into an async iterable or a web stream. Both apply back-pressure: they
 * read from their source only as fast as their own output is read. The iterable has no buffer
 * besides the pipe. The web stream also queues at most one chunk and the output of one.
 */

import type { StreamEnd, StreamPipe } from '../wire/stream-pipe.js';

/** The pieces that a pipe yields: bytes and text whole, objects one by one. */
export type PieceOf<Out> = Out extends readonly (infer Item)[] ? Item : Out;

export interface PipeThroughOptions<Out> {
  /**
   * Called with the end of the stream and awaited before its last bytes are sent, so that usage can
   * be made durable before the client sees it. If it throws, the stream throws the same error and
   * those bytes are not sent.
   */
  readonly onEnd?: (end: StreamEnd<Out>) => void | Promise<void>;
}

/**
 * Pumps a source through a pipe and iterates over the output.
 *
 * A stream that fails yields the pipe's error event for the client, and `onEnd` gets the outcome.
 * If the source itself throws, the error event comes first, and then the source's error is thrown.
 * The source is cancelled (`return()`) as soon as the pipe is finished. It is also cancelled when
 * the iteration is left early, even before it began; `onEnd` is not called then.
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
      // A generator that never ran has not opened its source, but the source may hold a connection.
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
 * Turns a pipe into a web `TransformStream`: write bytes or objects to it, and read the output.
 *
 * A stream that fails ends with the pipe's error event and closes. An error of the source errors
 * the readable side at once, as in every web stream: nothing can be sent after it, and `onEnd` is
 * not called. As soon as the pipe is finished, the readable side closes and the source is
 * cancelled. The writable side queues at most one chunk, and the readable side at most the output
 * of one.
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
