/**
 * Translates the chunks of a chat completion to native events.
 *
 * https://platform.claude.com/docs/en/build-with-claude/streaming
 */

import { decodeUtf8, encodeUtf8, joined, NO_BYTES } from '../../wire/bytes.js';
import { EventSplitter } from '../../wire/event-splitter.js';
import { MESSAGE_KEEP_ALIVE, messageErrorEvent } from '../../wire/native-events.js';
import { isJsonObject, parseObject } from '../../wire/raw-json.js';
import { isEventStream, MAX_EVENT_BYTES, readEvent } from '../../wire/sse.js';
import type { StreamEnd, StreamPipe } from '../../wire/stream-pipe.js';
import type { MessageContext } from '../context/message-context.js';
import { createEventWriter } from './event-writer.js';
import type { NativeEvent } from './message.js';

export interface MessageStreamOptions {
  /**
   * The stream fails if an event is larger than this, or if more characters than this wait for an
   * earlier block to end. Default: 32 MiB.
   */
  readonly maxEventBytes?: number;
}

const PING = /* @__PURE__ */ decodeUtf8(MESSAGE_KEEP_ALIVE);
const COLON = 0x3a;

/**
 * Translates a chat stream, split anywhere, to native events.
 *
 * `message_start` comes with the first chunk that has a choice. Unless the upstream has reported
 * usage by then, `input_tokens` is 0 and the other counts are null. Blocks come one after the
 * other. The deltas of the first unfinished block are sent as they arrive. Thinking, text and calls
 * that arrive before the arguments of a call are complete are held until that call ends, see
 * `BlockQueue`. Comments become `ping`, even before `message_start`.
 *
 * The `tail` ends with `message_delta`, which has the stop reason and all counts, and
 * `message_stop`. Before them it ends all blocks that are open or held. A stream with a finish
 * reason is complete, with or without `[DONE]`; a stream without one is `truncated`. An error
 * object, a finish reason that means a failure, or data that is not JSON ends the stream with a
 * native `error` event.
 */
export function createMessageStream(
  context: MessageContext,
  options: MessageStreamOptions = {},
): StreamPipe {
  const maxEventBytes = options.maxEventBytes ?? MAX_EVENT_BYTES;
  const splitter = new EventSplitter(maxEventBytes);
  let ready = '';
  let hasEvents = false;
  const writer = createEventWriter({
    context,
    maxHeld: maxEventBytes,
    write(event) {
      ready += `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
    },
  });

  function onEvent(bytes: Uint8Array): void {
    if (writer.isFinished()) return;
    const { data, event: name } = readEvent(bytes);
    if (data === '') {
      if (bytes[0] === COLON) ready += PING;
      return;
    }
    hasEvents = true;
    if (data.trim() === '[DONE]') {
      writer.onDone();
      return;
    }
    const chunk = parseObject(data);
    if (chunk === undefined) writer.fail('malformed');
    else if (name === 'error' && chunk['error'] == null) writer.onChunk({ error: chunk });
    else writer.onChunk(chunk);
  }

  /**
   * Reads the bytes after the last whole event. An event that lacks only its blank line is read
   * like a whole one.
   */
  function judgeRest(rest: Uint8Array): void {
    const { data } = readEvent(rest);
    if (data.trim() === '[DONE]' || parseObject(data) !== undefined) onEvent(rest);
    else if (rest.length > 0 && !hasEvents && !isEventStream(rest)) {
      writer.fail('malformed');
    }
  }

  const pipe = {
    isFinished: false,
    push(chunk: Uint8Array) {
      if (pipe.isFinished) return NO_BYTES;
      ready = '';
      const isWithinBounds = splitter.push(chunk, (bytes, from, to) => {
        onEvent(bytes.subarray(from, to));
      });
      if (!isWithinBounds) writer.fail('too_large');
      pipe.isFinished = writer.isFinished();
      return ready === '' ? NO_BYTES : encodeUtf8(ready);
    },
    end() {
      ready = '';
      if (!pipe.isFinished) judgeRest(splitter.takeRest());
      const end = writer.end();
      const tail = encodeUtf8(ready);
      return end.outcome === 'complete'
        ? { ...end, tail }
        : { ...end, tail: joined([tail, messageErrorEvent(end.error)]) };
    },
  };
  return pipe;
}

/**
 * {@link createMessageStream} for objects: it takes chunks as an SDK returns them, and returns
 * native event objects. The `tail` of a failed stream ends with its `error` event. `isFinished`
 * becomes true only when the stream fails, because a usage chunk may come until the source ends.
 *
 * A value that is not an object fails the stream as `malformed`.
 */
export function createMessageEventStream(
  context: MessageContext,
  options: { readonly maxHeld?: number } = {},
): StreamPipe<object, readonly NativeEvent[]> {
  let ready: NativeEvent[] = [];
  const writer = createEventWriter({
    context,
    maxHeld: options.maxHeld ?? MAX_EVENT_BYTES,
    write(event) {
      ready.push(event);
    },
  });
  const pipe = {
    isFinished: false,
    push(chunk: object) {
      ready = [];
      if (isJsonObject(chunk)) writer.onChunk(chunk);
      else writer.fail('malformed');
      pipe.isFinished = writer.isFinished();
      return ready;
    },
    end(): StreamEnd<readonly NativeEvent[]> {
      ready = [];
      const end = writer.end();
      if (end.outcome === 'failed') {
        return { ...end, tail: [...ready, { type: 'error', error: end.error }] };
      }
      return { ...end, tail: ready };
    },
  };
  return pipe;
}
