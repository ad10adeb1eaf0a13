/**
 * The tap in a native stream. It passes the bytes on to a native client unchanged, reads the usage
 * from them, and keeps back the bytes that carry the final usage.
 */

import { joined, part } from '../wire/bytes.js';
import { EventSplitter, LF } from '../wire/event-splitter.js';
import { messageErrorEvent } from '../wire/native-events.js';
import { MAX_EVENT_BYTES } from '../wire/sse.js';
import type { MessageEnd, StreamEnd, StreamPipe } from '../wire/stream-pipe.js';
import { ByteGate } from './byte-gate.js';
import { MessageWatch } from './message-watch.js';

export interface TapOptions {
  /**
   * The stream fails if an event is larger than this, or if more bytes than this are kept back.
   * Default: 32 MiB.
   */
  readonly maxEventBytes?: number;
}

/**
 * Passes a native stream on in whole events. The event with the final usage (usually the first
 * `message_delta` that carries usage), and everything after it, is kept back. For a complete
 * stream, the bytes that {@link StreamPipe.push} returned and the final `tail` are together exactly
 * the bytes that came in.
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
  const splitter = new EventSplitter(maxEventBytes);
  const watch = new MessageWatch();
  const gate = new ByteGate();

  function onEvent(bytes: Uint8Array, from: number, to: number): void {
    if (watch.hasFailed) return;
    if (isContentOrPing(bytes, from, to)) watch.hasEvents = true;
    else if (!watch.isFinished) watch.onEvent(part(bytes, from, to));
    if (watch.isHolding) hold(bytes, from, to);
    else gate.pass(bytes, from, to);
  }

  function hold(bytes: Uint8Array, from: number, to: number): void {
    gate.hold(bytes, from, to);
    if (gate.heldLength > maxEventBytes) watch.fail('too_large');
  }

  /** Lets content events and pings pass from `from` on, and returns where the last of them ends. */
  function passContent(from: number): number {
    if (watch.isHolding) return from;
    const { chunk } = gate;
    let to = from;
    for (;;) {
      const end = endOfContent(chunk, to);
      if (end === -1 || end - to > maxEventBytes) break;
      to = end;
    }
    if (to > from) {
      watch.hasEvents = true;
      gate.pass(chunk, from, to);
    }
    return to;
  }

  const pipe = {
    isFinished: false,
    push(chunk: Uint8Array) {
      if (watch.hasFailed) return written([]);
      gate.begin(chunk);
      const isWithinBounds = splitter.push(chunk, onEvent, passContent);
      if (!isWithinBounds) watch.fail('too_large');
      // After a CR, the LF of the same line break may still arrive, and must not be lost.
      pipe.isFinished = watch.hasFailed || (watch.isFinished && !splitter.awaitsLineFeed);
      return written(gate.takeReady());
    },
    end(): StreamEnd<Out> {
      const rest = splitter.takeRest();
      if (watch.isFinished) gate.hold(rest, 0, rest.length);
      else if (rest.length > 0 && watch.onRest(rest) && watch.isHolding) hold(rest, 0, rest.length);
      const end = watch.end();
      return { ...end, tail: written([tailOf(end)]) };
    },
  };

  function tailOf(end: MessageEnd): Uint8Array {
    if (end.outcome === 'complete') return gate.takeHeld();
    // The bytes that are kept back carry a usage that will not be charged, so they must not be
    // sent.
    return end.cause === 'error_event' ? watch.errorEvent : messageErrorEvent(end.error);
  }

  return pipe;
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
  // Names are short, so a loop costs less than a call of `indexOf`.
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
