/**
 * Turns a {@link StreamPipe} into an async iterable with back-pressure: it reads from its source
 * only as fast as its own output is read, and has no buffer besides the pipe.
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
 * import { iterateThrough } from '@gateway/translator';
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
        pipe.sourceFailed?.(error);
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

/** The pieces of an output that is not empty. */
export function* piecesOf<Out extends Uint8Array | string | readonly unknown[]>(
  out: Out,
): Generator<PieceOf<Out>> {
  if (out.length === 0) return;
  if (out instanceof Uint8Array || typeof out === 'string') yield out as PieceOf<Out>;
  else for (const item of out as unknown as readonly PieceOf<Out>[]) yield item;
}
