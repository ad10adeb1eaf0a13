/** Passes native events, given as objects, to a reader, and returns what its encoder wrote. */

import { isJsonObject, objectOf, stringOf } from '../wire/raw-json.js';
import type { MessageEnd, StreamPipe } from '../wire/stream-pipe.js';
import type { MessageReader } from './message-reader.js';

/** The encoder of a format, and the objects that it has written. */
export interface ObjectOutput<Item> {
  /** The objects that were written since the last call. */
  take(): Item[];
  /** Writes the end of the stream in the client's format. */
  end(end: MessageEnd): void;
}

/**
 * A value that is not an object, an event of a message before its `message_start`, or a call whose
 * input is nested more than 200 levels deep fails the stream as `malformed`.
 */
export function objectPipe<Item>(
  reader: MessageReader,
  output: ObjectOutput<Item>,
): StreamPipe<object, readonly Item[]> {
  const pipe = {
    isFinished: false,
    push(event: object) {
      if (ArrayBuffer.isView(event)) {
        throw new TypeError('this pipe takes the objects of events: bytes need createChatStream');
      }
      if (isJsonObject(event)) reader.read(event, '');
      else reader.fail('malformed');
      pipe.isFinished = reader.isFinished;
      return output.take();
    },
    /** SDKs turn an error event into an error that has the event as its `error`. */
    sourceFailed(error: unknown) {
      const reported = objectOf(objectOf(objectOf(error)['error'])['error']);
      if (stringOf(reported['type']) !== '') reader.fail('error_event', reported);
    },
    end() {
      const end = reader.end();
      output.end(end);
      return { ...end, tail: output.take() };
    },
  };
  return pipe;
}
