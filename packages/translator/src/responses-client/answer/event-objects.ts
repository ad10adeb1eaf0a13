/** Translates native events, given as objects, to the event objects of a response. */

import { isJsonObject, isTooDeep } from '../../wire/raw-json.js';
import type { StreamError } from '../../wire/stream-pipe.js';
import { createResponseEventWriter } from './event-writer.js';
import { type ResponseEvent, responseEvent } from './response-object.js';
import type { TranslateMessageContext } from './response-text.js';
import type { ResponseStreamPipe } from './stream.js';

/**
 * `createResponseStream` for objects: it takes native events as an SDK returns them, and returns
 * the objects of the events that the stream would have. The `tail` of a failed stream ends with its
 * `error` and `response.failed`.
 *
 * A value that is not an object, one that is nested more than 200 levels deep, or an event of a
 * message before its `message_start` fails the stream as `malformed`.
 */
export function createResponseEventStream(
  context: TranslateMessageContext,
): ResponseStreamPipe<readonly ResponseEvent[], object> {
  let ready: ResponseEvent[] = [];
  const writer = createResponseEventWriter(context, (event) => {
    ready.push(responseEvent(event));
  });
  const pipe = {
    isFinished: false,
    push(event: object) {
      ready = [];
      if (!isJsonObject(event) || isTooDeep(event)) writer.fail('malformed');
      else writer.onEvent(event, '', () => JSON.stringify(event));
      pipe.isFinished = writer.isFinished();
      return ready;
    },
    end() {
      ready = [];
      const end = writer.end();
      return { ...end, tail: ready };
    },
    failInstead(error: StreamError) {
      ready = [];
      writer.failInstead(error);
      return ready;
    },
  };
  return pipe;
}
