/**
 * The tap in a native stream. It passes the bytes on to a native client unchanged, reads the usage
 * from them, and keeps back the bytes that carry the final usage.
 */

import { decodeUtf8, encodeUtf8, joined, part } from '../wire/bytes.js';
import { EventSplitter, LF, type LargeEventSink } from '../wire/event-splitter.js';
import { LargeEventReader } from '../wire/large-event.js';
import { failureOf } from '../wire/message-state.js';
import { messageErrorEvent } from '../wire/native-events.js';
import { MAX_EVENT_BYTES } from '../wire/sse.js';
import type { MessageEnd, StreamEnd, StreamPipe } from '../wire/stream-pipe.js';
import { ByteGate } from './byte-gate.js';
import { MessageWatch } from './message-watch.js';

export interface TapOptions {
  /**
   * At most this many bytes are kept back. Content events may be larger, because they are passed on
   * as they arrive. If another event is larger, or more bytes would be kept back, the client's
   * stream ends with an error, and the rest is read for its usage only. Default: 32 MiB.
   */
  readonly maxEventBytes?: number;
}

/**
 * Passes a native stream on in whole events. The event with the final usage (usually the first
 * `message_delta` that carries usage), and everything after it, is kept back. Of a content event of
 * more than a mebibyte, parts are passed on as they arrive. For a complete stream without `error`,
 * the bytes that {@link StreamPipe.push} returned and the final `tail` are together exactly
 * the bytes that came in, up to the end of `message_stop`.
 */
export function createMessageStreamTap(options?: TapOptions): StreamPipe {
  return tapOf(options, joined);
}

/**
 * {@link createMessageStreamTap} for callers that write bytes piece by piece: it returns parts of
 * the chunks that came in, in order. Of the bytes that `push` returns, only an event that was split
 * between chunks is copied, so long streams cost far less memory.
 */
export function createMessagePieceTap(
  options?: TapOptions,
): StreamPipe<Uint8Array, readonly Uint8Array[]> {
  return tapOf(options, (pieces) => pieces);
}

function tapOf<Out>(
  { maxEventBytes = MAX_EVENT_BYTES }: TapOptions = {},
  written: (pieces: readonly Uint8Array[]) => Out,
): StreamPipe<Uint8Array, Out> {
  const splitter = new EventSplitter(Math.max(MIN_EVENT_BYTES, maxEventBytes), {
    isPassed,
    open: openLarge,
  });
  const watch = new MessageWatch();
  const gate = new ByteGate();
  /** Bytes that were too many to keep are missing, so no later ones are passed on. */
  let isCut = false;
  /** The LF of the line break that ended the last event may be the first byte of this chunk. */
  let isLineFeedDue = false;
  function onEvent(bytes: Uint8Array, from: number, to: number): void {
    if (watch.hasFailed) return;
    // The API sends nothing after `message_stop`. How much of what follows arrives before the
    // stream is closed depends on packets, so none of it is passed on.
    if (watch.isFinished && !(isLineFeedDue && from === 0 && to === 1)) return;
    if (isContentOrPing(bytes, from, to)) {
      watch.hasEvents = true;
      readContent(watch, bytes, from, to);
    } else watch.onEvent(part(bytes, from, to));
    if (isCut) return;
    if (watch.isHolding) hold(bytes, from, to);
    else gate.pass(bytes, from, to);
  }

  function hold(bytes: Uint8Array, from: number, to: number): void {
    if (isCut) return;
    gate.hold(bytes, from, to);
    if (gate.heldLength <= maxEventBytes) return;
    isCut = true;
    gate.dropHeld();
  }

  function isPassed(beginning: Uint8Array): boolean {
    return !isCut && !watch.isHolding && isLargeContent(beginning);
  }

  function openLarge(beginning: Uint8Array): LargeEventSink {
    if (isPassed(beginning)) return passedEvent(beginning, { watch, gate, pipe });
    isCut = true;
    gate.dropHeld();
    return largeEventReader(watch);
  }

  /**
   * Lets content events and pings pass from `from` on, and returns where the last of them ends. To
   * pass them one by one takes 10 µs more in 300 events.
   */
  function passContent(from: number): number {
    if (watch.isHolding || isCut) return from;
    const { chunk } = gate;
    let to = from;
    for (;;) {
      const end = endOfContent(chunk, to);
      if (end === -1) break;
      readContent(watch, chunk, to, end);
      to = end;
    }
    if (to > from) {
      watch.hasEvents = true;
      gate.pass(chunk, from, to);
    }
    return to;
  }

  function countHeld(): void {
    pipe.heldBytes = splitter.pendingBytes + gate.heldLength;
  }

  const pipe = {
    isFinished: false,
    isWithinEvent: false,
    heldBytes: 0,
    push(chunk: Uint8Array) {
      if (watch.hasFailed) return written([]);
      gate.begin(chunk);
      isLineFeedDue = splitter.awaitsLineFeed;
      const isWithinBounds = splitter.push(chunk, onEvent, passContent);
      if (!isWithinBounds) watch.fail('too_large');
      // After a CR, the LF of the same line break may still arrive, and must not be lost.
      pipe.isFinished = watch.hasFailed || (watch.isFinished && !splitter.awaitsLineFeed);
      const ready = gate.takeReady();
      countHeld();
      return written(ready);
    },
    passEarly() {
      splitter.passEarly();
      countHeld();
    },
    cut() {
      // What is kept back cannot be sent without what follows, which there is no memory for.
      if (watch.isHolding) {
        isCut = true;
        gate.dropHeld();
      }
      splitter.cutEvent();
      countHeld();
    },
    end(): StreamEnd<Out> {
      const rest = splitter.takeRest();
      if (!watch.isFinished && rest.length > 0 && watch.onRest(rest) && watch.isHolding) {
        hold(rest, 0, rest.length);
      }
      const end = watch.end();
      if (end.outcome === 'complete' && !isCut) return { ...end, tail: written([gate.takeHeld()]) };
      // The bytes that are kept back carry a usage that will not be charged, or other bytes before
      // them are missing, so they must not be sent.
      const { error, event } = errorAt(end, watch);
      return { ...end, error, tail: written(pipe.isWithinEvent ? [EVENT_END, event] : [event]) };
    },
  };

  return pipe;
}

interface PassingParts {
  readonly watch: MessageWatch;
  readonly gate: ByteGate;
  readonly pipe: { isWithinEvent: boolean };
}

/** Passes the bytes of a content event on. */
function passedEvent(beginning: Uint8Array, { watch, gate, pipe }: PassingParts): LargeEventSink {
  watch.hasEvents = true;
  watch.onContent();
  // The name line is enough. Without it, the data may turn out to be another event.
  const reader = isContentOrPing(beginning, 0, beginning.length)
    ? undefined
    : largeEventReader(watch);
  return {
    push(bytes, from, to) {
      if (watch.hasFailed) return;
      pipe.isWithinEvent = true;
      gate.pass(bytes, from, to);
      reader?.push(bytes, from, to);
    },
    end() {
      pipe.isWithinEvent = false;
      reader?.end();
    },
  };
}

/** Reads an event without keeping it. */
function largeEventReader(watch: MessageWatch): LargeEventSink {
  return new LargeEventReader((event) => {
    if (event === undefined || watch.hasFailed || watch.isFinished) return;
    watch.hasEvents = true;
    watch.onMessageEvent(event.type, event.data);
  });
}

function errorAt(end: MessageEnd, watch: MessageWatch) {
  const { error } = end.outcome === 'complete' ? failureOf('too_large') : end;
  return { error, event: watch.hasErrorEvent ? watch.errorEvent : messageErrorEvent(error) };
}

/** Where the name of a content event says `delta`, `start` or `stop`. A ping has other bytes. */
const KIND_AT = 'event: content_block_'.length;
const [D, S, A] = [0x64, 0x73, 0x61];

/** Takes a content event or a ping. Only the beginning of a block is read. */
function readContent(watch: MessageWatch, bytes: Uint8Array, from: number, to: number): void {
  const letter = bytes[from + KIND_AT];
  if (letter === D) watch.onContent();
  else if (letter === S && bytes[from + KIND_AT + 2] === A) {
    watch.onBlockStart(part(bytes, from, to));
  }
}

/** Ends an event that broke off, so that the next event is read separately. */
const EVENT_END = /* @__PURE__ */ encodeUtf8('\n\n');

/** An event is recognised by fewer bytes than this. */
const MIN_EVENT_BYTES = 64;
/** The beginning of an event without a name line that is a content event or a ping. */
const CONTENT_DATA = /^data: ?\{\s*"type"\s*:\s*"(?:content_|ping")/;

/**
 * Whether an event whose end has not arrived is a content event or a ping, by its name line or by
 * the first member of its data. Events that carry usage have other names.
 */
function isLargeContent(beginning: Uint8Array): boolean {
  return (
    isContentOrPing(beginning, 0, beginning.length) ||
    CONTENT_DATA.test(decodeUtf8(beginning.subarray(0, MIN_EVENT_BYTES)))
  );
}

/**
 * Finds the end of the event at `from`, if it is a content event or a ping that consists of a name
 * line and one more line.
 *
 * @returns the position after the event; -1 for any other event.
 */
function endOfContent(bytes: Uint8Array, from: number): number {
  if (!isContentOrPing(bytes, from, bytes.length)) return -1;
  let nameEnd = from + 8;
  // Names are short, so a loop costs less than a call of `indexOf`: 8 µs in 300 events.
  while (bytes[nameEnd] !== LF) if (++nameEnd >= bytes.length) return -1;
  const end = 2 + bytes.indexOf(LF, nameEnd + 1);
  return end > 1 && bytes[end - 1] === LF ? end : -1;
}

/**
 * Most events of a stream are content events and pings, which contain nothing about the message as
 * a whole. They are recognised by their first bytes and not read. Every other event is read,
 * including one that does not begin with its name.
 */
function isContentOrPing(bytes: Uint8Array, from: number, to: number): boolean {
  // `event: `, then `c` and `_` of content_block_…, or `pi` of ping.
  return (
    to - from > 14 &&
    bytes[from] === 0x65 &&
    bytes[from + 5] === 0x3a &&
    bytes[from + 6] === 0x20 &&
    ((bytes[from + 7] === 0x63 && bytes[from + 14] === 0x5f) ||
      (bytes[from + 7] === 0x70 && bytes[from + 8] === 0x69))
  );
}
