/**
 * Bytes that arrive in pieces, as whole server-sent events.
 *
 * An event ends with a blank line; lines end with LF, CRLF or CR, even mixed within one stream. A raw
 * line break cannot occur inside JSON, so no text of a model can imitate a boundary.
 * https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream
 */

import { ByteQueue, part } from './bytes.js';

export const LF = 10;
const CR = 13;

/** Is told an event, blank line included, as `bytes` from `from` to before `to`. */
export type OnEventBytes = (bytes: Uint8Array, from: number, to: number) => void;
/** Deals with whole events of a chunk from `from` on, as many as it knows, and answers where they end. */
export type PassKnownEvents = (from: number) => number;

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
   * Tells each event that the chunk completes: where it stands in the chunk, or, of one that an earlier
   * chunk began, bytes of its own. Concatenated they are the stream; an LF that was cut off from its CR
   * comes as a piece of its own. Answers false when an event grew beyond the bound, and tells nothing
   * more then.
   *
   * @param passKnown - Is asked wherever an event begins in a chunk without CR; what it deals with is not told.
   */
  push(chunk: Uint8Array, onEvent: OnEventBytes, passKnown?: PassKnownEvents): boolean {
    let from = this.#pending.length === 0 ? this.#skipLineFeed(chunk, 0) : 0;
    if (from > 0) onEvent(chunk, 0, from);
    const hasCr = this.#afterCr || chunk.includes(CR);
    while (from < chunk.length) {
      if (passKnown && !hasCr && this.#pending.length === 0) {
        const known = passKnown(from);
        if (known > from) {
          from = known;
          continue;
        }
      }
      const end = hasCr ? this.#findEnd(chunk, from) : this.#findLfEnd(chunk, from);
      if (end === -1) {
        this.#pending.append(part(chunk, from, chunk.length));
        return this.#pending.length <= this.#maxEventBytes;
      }
      if (this.#pending.length + end - from > this.#maxEventBytes) return false;
      if (this.#pending.length === 0) {
        onEvent(chunk, from, end);
      } else {
        this.#pending.append(part(chunk, from, end));
        const event = this.#pending.take();
        onEvent(event, 0, event.length);
      }
      from = end;
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
    for (let at = this.#skipLineFeed(chunk, from); at < chunk.length; at += 1) {
      const wasAtLineStart = this.#atLineStart;
      this.#atLineStart = isLineBreak(chunk[at]);
      if (!this.#atLineStart) continue;
      if (wasAtLineStart) return this.#endAfter(chunk, at);
      if (chunk[at] === CR && chunk[at + 1] === LF) at += 1;
    }
    this.#afterCr = chunk.at(-1) === CR;
    return -1;
  }

  /** As {@link #findEnd}, where no CR occurs: what searches for one byte looks at many at a time. */
  #findLfEnd(chunk: Uint8Array, from: number): number {
    if (this.#atLineStart && chunk[from] === LF) return from + 1;
    for (let at = chunk.indexOf(LF, from); at !== -1; at = chunk.indexOf(LF, at + 2)) {
      if (chunk[at + 1] !== LF) continue;
      this.#atLineStart = true;
      return at + 2;
    }
    this.#atLineStart = chunk.at(-1) === LF;
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
