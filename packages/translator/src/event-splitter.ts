/** Bytes that arrive in pieces, as whole server-sent events. */

import { ByteQueue } from './bytes.js';
import { EventBoundaries } from './event-boundaries.js';

export class EventSplitter {
  readonly #boundaries = new EventBoundaries();
  readonly #pending = new ByteQueue();
  readonly #maxEventBytes: number;

  constructor(maxEventBytes: number) {
    this.#maxEventBytes = maxEventBytes;
  }

  /** Whether an LF that comes next would still belong to the event that just ended. */
  get awaitsLineFeed(): boolean {
    return this.#boundaries.awaitsLineFeed;
  }

  /** Whether the next byte begins an event. */
  get isBetweenEvents(): boolean {
    return this.#pending.length === 0 && !this.awaitsLineFeed;
  }

  /**
   * Calls `onEvent` with the bytes of each event that the chunk completes, blank line included.
   * Concatenated they are the stream; an LF that was cut off from its CR comes as a piece of its own.
   * Answers false when an event grew beyond the bound, and tells nothing more then.
   */
  push(chunk: Uint8Array, onEvent: (event: Uint8Array) => void): boolean {
    for (let from = 0; from < chunk.length;) {
      const next = this.pushOne(chunk, from, onEvent);
      if (next === undefined) return false;
      from = next;
    }
    return true;
  }

  /** As {@link push}, for the first event from `from` on. Answers where it ends, or undefined for too large. */
  pushOne(
    chunk: Uint8Array,
    start: number,
    onEvent: (event: Uint8Array) => void,
  ): number | undefined {
    let from = start;
    if (this.#pending.length === 0) {
      from = this.#boundaries.skipLineFeed(chunk, start);
      if (from > start) {
        onEvent(chunk.subarray(start, from));
        return from;
      }
    }
    const end = this.#boundaries.findEnd(chunk, from);
    const until = end === -1 ? chunk.length : end;
    const isWhole = from === 0 && until === chunk.length;
    const piece = isWhole ? chunk : chunk.subarray(from, until);
    if (this.#pending.length + piece.length > this.#maxEventBytes) return undefined;
    if (end === -1) {
      this.#pending.append(piece);
      return chunk.length;
    }
    if (this.#pending.length === 0) {
      onEvent(piece);
    } else {
      this.#pending.append(piece);
      onEvent(this.#pending.take());
    }
    return end;
  }

  /** What came after the last complete event. */
  takeRest(): Uint8Array {
    return this.#pending.take();
  }
}
