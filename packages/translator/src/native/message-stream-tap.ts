/**
 * The native stream on its way to a native client: bytes pass untouched, the usage is read on the way
 * past, and the bytes that tell it finally are kept back.
 */

import { ByteQueue, joined, NO_BYTES, part } from '../wire/bytes.js';
import { EventSplitter, LF } from '../wire/event-splitter.js';
import { failureOf, MessageState, type StreamFailure } from '../wire/message-state.js';
import { errorEventOf, messageErrorEvent } from '../wire/native-events.js';
import { parseObject } from '../wire/raw-json.js';
import { isEventStream, MAX_EVENT_BYTES, readEvent } from '../wire/sse.js';
import type { FailureCause, StreamEnd, StreamPipe } from '../wire/stream-pipe.js';
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
export function createMessageStreamTap(options?: TapOptions): StreamPipe {
  return tapOf(options, joined);
}

/**
 * {@link createMessageStreamTap} for whoever writes bytes piece by piece: parts of what came in, in order.
 * Only an event that came in several chunks is copied, so long streams cost far less memory.
 */
export function createMessagePieceTap(
  options?: TapOptions,
): StreamPipe<Uint8Array, readonly Uint8Array[]> {
  return tapOf(options, (pieces) => pieces);
}

function tapOf<Out>(
  { maxEventBytes = MAX_EVENT_BYTES }: TapOptions = {},
  passed: (pieces: readonly Uint8Array[]) => Out,
): StreamPipe<Uint8Array, Out> {
  const splitter = new EventSplitter(maxEventBytes);
  const state = new MessageState();
  const held = new ByteQueue();
  let isHolding = false;
  let isFinished = false;
  let hasEvents = false;
  let failure: StreamFailure | undefined;
  /** The upstream's own error event, as the client gets it. */
  let errorEvent: Uint8Array = NO_BYTES;
  /** What may leave: an event that an earlier chunk began, and then a part of this chunk. */
  let begunEarlier: Uint8Array = NO_BYTES;
  let chunk: Uint8Array = NO_BYTES;
  let readyFrom = 0;
  let readyTo = 0;
  /** What is kept back of this chunk. */
  let heldFrom = 0;
  let heldTo = 0;

  function onEvent(bytes: Uint8Array, from: number, to: number): void {
    if (failure !== undefined) return;
    if (isOfNoInterest(bytes, from, to)) hasEvents = true;
    else if (!isFinished) judge(part(bytes, from, to));
    if (isHolding) {
      hold(bytes, from, to);
    } else if (bytes === chunk) {
      passReady(from, to);
    } else {
      begunEarlier = bytes;
    }
  }

  /** Lets events pass that are as most of a stream is, and answers where they end. */
  function passUsual(from: number): number {
    if (isHolding) return from;
    const bytes = chunk;
    let to = from;
    for (;;) {
      const end = endOfUsual(bytes, to);
      if (end === -1 || end - to > maxEventBytes) break;
      to = end;
    }
    if (to > from) {
      hasEvents = true;
      passReady(from, to);
    }
    return to;
  }

  function passReady(from: number, to: number): void {
    if (readyTo === 0) readyFrom = from;
    readyTo = to;
  }

  function takeReady(): readonly Uint8Array[] {
    const first = begunEarlier;
    const own = readyTo === 0 ? NO_BYTES : part(chunk, readyFrom, readyTo);
    if (heldTo > 0) held.append(part(chunk, heldFrom, heldTo));
    begunEarlier = NO_BYTES;
    // An open stream must not keep its last chunk in memory.
    chunk = NO_BYTES;
    readyFrom = 0;
    readyTo = 0;
    heldFrom = 0;
    heldTo = 0;
    if (first.length === 0) return own.length === 0 ? [] : [own];
    return own.length === 0 ? [first] : [first, own];
  }

  function hold(bytes: Uint8Array, from: number, to: number): void {
    if (bytes === chunk) {
      if (heldTo === 0) heldFrom = from;
      heldTo = to;
    } else {
      held.append(part(bytes, from, to));
    }
    if (held.length + heldTo - heldFrom > maxEventBytes) fail('too_large');
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
      onEvent(rest, 0, rest.length);
      // SDKs drop events that lack their blank line.
      if (errorEvent === rest) errorEvent = errorEventOf(event);
    } else if (!hasEvents && !isEventStream(rest)) {
      fail('malformed');
    }
  }

  function fail(cause: FailureCause, told?: unknown): void {
    failure ??= failureOf(cause, told);
    isFinished = true;
    isHolding = true;
  }

  const pipe = {
    isFinished: false,
    push(pushed: Uint8Array) {
      if (failure !== undefined) return passed([]);
      chunk = pushed;
      if (!splitter.push(chunk, onEvent, passUsual)) fail('too_large');
      // The last byte of a CRLF may still be on its way, and must not be lost.
      pipe.isFinished = failure !== undefined || (isFinished && !splitter.awaitsLineFeed);
      return passed(takeReady());
    },
    end(): StreamEnd<Out> {
      const rest = splitter.takeRest();
      if (isFinished) held.append(rest);
      else if (rest.length > 0) judgeRest(rest);
      const { messageId, stopReason } = state;
      if (isFinished && failure === undefined) {
        return {
          outcome: 'complete',
          usage: state.usage(readNativeUsage),
          tail: passed([held.take()]),
          messageId,
          stopReason,
        };
      }
      const { cause, error } = failure ?? failureOf('truncated');
      // What was kept back tells a usage that will not be charged, so it must not leave.
      const tail = cause === 'error_event' ? errorEvent : messageErrorEvent(error);
      return { outcome: 'failed', error, cause, tail: passed([tail]), messageId };
    },
  };
  return pipe;
}

/** Where the event ends that begins at `from`, if it is of no interest and has a name line and another one; or -1. */
function endOfUsual(bytes: Uint8Array, from: number): number {
  if (!isOfNoInterest(bytes, from, bytes.length)) return -1;
  let nameEnd = from + 8;
  // Names are short: to search would cost more than to look.
  while (bytes[nameEnd] !== LF) if (++nameEnd >= bytes.length) return -1;
  const end = 2 + bytes.indexOf(LF, nameEnd + 1);
  return end > 1 && bytes[end - 1] === LF ? end : -1;
}

/**
 * Content events and pings are the bulk of a stream and tell nothing of the whole: their name is
 * enough. Anything else, and any event that does not begin with its name, is looked at closely.
 */
function isOfNoInterest(bytes: Uint8Array, from: number, to: number): boolean {
  // `event:` and a blank, then `c` of content_block_… or `p` of ping.
  return (
    to - from > 14 &&
    bytes[from] === 0x65 &&
    bytes[from + 5] === 0x3a &&
    bytes[from + 6] === 0x20 &&
    ((bytes[from + 7] === 0x63 && bytes[from + 14] === 0x5f) ||
      (bytes[from + 7] === 0x70 && bytes[from + 8] === 0x69))
  );
}
