/**
 * Bytes that arrive in pieces, as whole server-sent events.
 *
 * An event ends with a blank line; lines end with LF, CRLF or CR, even mixed within one stream. A raw
 * line break cannot occur inside JSON, so no text of a model can imitate a boundary.
 * https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream
 */

import { ByteQueue } from './bytes.js';

const LF = 10;
const CR = 13;

export class EventSplitter {
  /** The bytes so far end with a line break, or with nothing at all. */
  #atLineStart = true;
  /** The last byte was a CR: an LF that follows belongs to the same line break. */
  #afterCr = false;
  readonly #pending = new ByteQueue();
  readonly #maxEventBytes: number;

  constructor(maxEventBytes: number) {
    this.#maxEventBytes = maxEventBytes;
  }

  /** Whether an LF that comes next would still belong to the event that just ended. */
  get awaitsLineFeed(): boolean {
    return this.#afterCr;
  }

  /**
   * Calls `onEvent` with the bytes of each event that the chunk completes, blank line included.
   * Concatenated they are the stream; an LF that was cut off from its CR comes as a piece of its own.
   * Answers false when an event grew beyond the bound, and tells nothing more then.
   */
  push(chunk: Uint8Array, onEvent: (event: Uint8Array) => void): boolean {
    let from = this.#pending.length === 0 ? this.#skipLineFeed(chunk, 0) : 0;
    if (from > 0) onEvent(chunk.subarray(0, from));
    while (from < chunk.length) {
      const end = this.#findEnd(chunk, from);
      if (end === -1) {
        this.#pending.append(from === 0 ? chunk : chunk.subarray(from));
        return this.#pending.length <= this.#maxEventBytes;
      }
      if (this.#pending.length + end - from > this.#maxEventBytes) return false;
      const rest = from === 0 && end === chunk.length ? chunk : chunk.subarray(from, end);
      from = end;
      if (this.#pending.length === 0) {
        onEvent(rest);
      } else {
        this.#pending.append(rest);
        onEvent(this.#pending.take());
      }
    }
    return true;
  }

  /** What came after the last complete event. */
  takeRest(): Uint8Array {
    return this.#pending.take();
  }

  /** Where an event may begin: steps over the LF of a CRLF that was split between chunks. */
  #skipLineFeed(chunk: Uint8Array, from: number): number {
    if (!this.#afterCr || from >= chunk.length) return from;
    this.#afterCr = false;
    return chunk[from] === LF ? from + 1 : from;
  }

  /**
   * Searches for the end of the event that begins at `from`, or that earlier chunks began.
   * Answers the position after its blank line, or -1 when the chunk ends before that.
   */
  #findEnd(chunk: Uint8Array, from: number): number {
    const length = chunk.length;
    let at = this.#skipLineFeed(chunk, from);
    if (at >= length) return -1;
    if (this.#atLineStart && isLineBreak(chunk[at])) return this.#endAfter(chunk, at);
    // Two line breaks in a row cover an even and an odd position: looking at every other byte finds them.
    for (at += 1; at < length; at += 2) {
      const byte = chunk[at] ?? 0;
      if (byte > CR || (byte !== LF && byte !== CR)) continue;
      const first = at - 1 >= from && isLineBreak(chunk[at - 1]) ? at - 1 : at;
      const next = first + (chunk[first] === CR && chunk[first + 1] === LF ? 2 : 1);
      if (isLineBreak(chunk[next])) return this.#endAfter(chunk, next);
      // The byte at `next` is none, so the first pair to look at begins after it.
      at = next;
    }
    const last = chunk[length - 1];
    this.#atLineStart = isLineBreak(last);
    this.#afterCr = last === CR;
    return -1;
  }

  /** The blank line's own break stands at `position`. */
  #endAfter(chunk: Uint8Array, position: number): number {
    this.#atLineStart = true;
    const isCr = chunk[position] === CR;
    if (isCr && chunk[position + 1] === LF) {
      this.#afterCr = false;
      return position + 2;
    }
    this.#afterCr = isCr && position + 1 === chunk.length;
    return position + 1;
  }
}

function isLineBreak(byte: number | undefined): boolean {
  return byte === LF || byte === CR;
}
