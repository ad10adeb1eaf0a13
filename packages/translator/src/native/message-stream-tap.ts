/**
 * The native stream on its way to a native client: bytes pass untouched, the usage is read on the way
 * past, and the bytes that tell it finally are kept back.
 */

import { ByteQueue, NO_BYTES, concatenate } from '../bytes.js';
import { EventSplitter } from '../event-splitter.js';
import { MessageState, failureOf, type StreamFailure } from '../message-state.js';
import { parseObject } from '../raw-json.js';
import { MAX_EVENT_BYTES, isEventStream, readEvent } from '../sse.js';
import type { FailureCause, StreamPipe } from '../stream-pipe.js';
import { errorEventOf, messageErrorEvent } from './events.js';
import { readNativeUsage } from './usage.js';

export interface TapOptions {
  /**
   * Larger events end the stream as failed, and so does more than that after the first event that
   * is kept back. Default: 32 MiB.
   */
  readonly maxEventBytes?: number;
}

/**
 * Passes a native stream on, event by whole event. Kept back, from its first byte on, is the first
 * `message_delta` that carries usage and everything after it. For a complete stream, what
 * {@link StreamPipe.push} returned and the final `tail` are together exactly what came in.
 */
export function createMessageStreamTap(options: TapOptions = {}): StreamPipe {
  const maxEventBytes = options.maxEventBytes ?? MAX_EVENT_BYTES;
  const splitter = new EventSplitter(maxEventBytes);
  const state = new MessageState();
  const held = new ByteQueue();
  let isHolding = false;
  let isFinished = false;
  let hasEvents = false;
  let failure: StreamFailure | undefined;
  /** The upstream's own error event, as the client gets it. */
  let errorEvent: Uint8Array = NO_BYTES;
  let ready: Uint8Array[] = [];

  function onEvent(event: Uint8Array): void {
    if (failure !== undefined) return;
    if (isOfNoInterest(event)) hasEvents = true;
    else if (!isFinished) judge(event);
    if (isHolding) hold(event);
    else ready.push(event);
  }

  function hold(bytes: Uint8Array): void {
    held.append(bytes);
    if (held.length > maxEventBytes) fail('too_large');
  }

  function judge(bytes: Uint8Array): void {
    const { event: name, data } = readEvent(bytes);
    if (data === '') return;
    hasEvents = true;
    const event = parseObject(data);
    if (event === undefined) {
      if (name === '' || !/^(message_|error)/.test(name)) return;
      fail('malformed');
      return;
    }
    const type = typeof event['type'] === 'string' ? event['type'] : name;
    switch (type) {
      case 'message_start':
        state.start(event);
        return;
      case 'message_delta':
        state.delta(event);
        if (event['usage'] != null) isHolding = true;
        return;
      case 'message_stop':
        isHolding = true;
        isFinished = true;
        return;
      case 'error':
        // SDKs drop events that have no name.
        errorEvent = name === 'error' ? bytes : errorEventOf(event);
        fail('error_event', event['error']);
        return;
    }
  }

  /** The event that the upstream broke off, or that only lacks its blank line. */
  function judgeRest(rest: Uint8Array): void {
    const { data } = readEvent(rest);
    const event = parseObject(data);
    if (event !== undefined) {
      onEvent(rest);
      // SDKs drop events that lack their blank line.
      if (errorEvent === rest) errorEvent = errorEventOf(event);
    } else if (!hasEvents && !isEventStream(rest)) {
      fail('malformed');
    }
  }

  function fail(cause: FailureCause, told?: unknown): void {
    failure = failureOf(cause, told);
    isFinished = true;
    isHolding = true;
  }

  return {
    get isFinished() {
      // The last byte of a CRLF may still be on its way, and must not be lost.
      return failure !== undefined || (isFinished && !splitter.awaitsLineFeed);
    },
    push(chunk) {
      if (failure !== undefined) return NO_BYTES;
      ready = [];
      if (!splitter.push(chunk, onEvent)) fail('too_large');
      return joinReady(ready, chunk);
    },
    end() {
      const rest = splitter.takeRest();
      if (isFinished) held.append(rest);
      else if (rest.length > 0) judgeRest(rest);
      const { messageId, stopReason } = state;
      if (isFinished && failure === undefined) {
        return {
          outcome: 'complete',
          usage: state.usage(readNativeUsage),
          tail: held.take(),
          messageId,
          stopReason,
        };
      }
      const { cause, error } = failure ?? failureOf('truncated');
      // What was kept back tells a usage that will not be charged, so it must not leave.
      const tail = cause === 'error_event' ? errorEvent : messageErrorEvent(error);
      return { outcome: 'failed', error, cause, tail, messageId };
    },
  };
}

/**
 * Content events and pings are the bulk of a stream and tell nothing of the whole: their name is
 * enough. Anything else, and any event that does not begin with its name, is looked at closely.
 */
function isOfNoInterest(event: Uint8Array): boolean {
  // `event:` and a blank, then `c` of content_block_… or `p` of ping.
  return (
    event[0] === 0x65 &&
    event[5] === 0x3a &&
    event[6] === 0x20 &&
    ((event[7] === 0x63 && event[14] === 0x5f) || (event[7] === 0x70 && event[8] === 0x69))
  );
}

/**
 * Events that stand side by side in the chunk are one view of it; nothing is copied then. An event that an
 * earlier chunk began comes first and stands elsewhere: it is joined with the others as a whole.
 */
function joinReady(events: readonly Uint8Array[], chunk: Uint8Array): Uint8Array {
  const [first, second] = events;
  const last = events.at(-1);
  if (first === undefined || last === undefined) return NO_BYTES;
  if (second === undefined) return first;
  const viewFrom = (event: Uint8Array): Uint8Array => {
    const length = last.byteOffset + last.length - event.byteOffset;
    return chunk.subarray(event.byteOffset - chunk.byteOffset).subarray(0, length);
  };
  if (first.buffer === chunk.buffer) return viewFrom(first);
  const others = viewFrom(second);
  return concatenate([first, others], { length: first.length + others.length });
}
