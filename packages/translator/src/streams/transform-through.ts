/**
 * Turns a {@link StreamPipe} into a web stream with back-pressure. It queues at most one chunk and
 * the output of one.
 */

import type { StreamPipe } from '../wire/stream-pipe.js';
import { piecesOf, type PieceOf, type PipeThroughOptions } from './iterate-through.js';

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
 * import { transformThrough } from '@gateway/translator/fetch';
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
