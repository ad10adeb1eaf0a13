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

  /**
   * Calls `onEvent` with the bytes of each event that the chunk completes, blank line included.
   * Concatenated they are the stream; an LF that was cut off from its CR comes as a piece of its own.
   * Answers false when an event grew beyond the bound, and tells nothing more then.
   */
  push(chunk: Uint8Array, onEvent: (event: Uint8Array) => void): boolean {
    let from = this.#pending.length === 0 ? this.#boundaries.skipLineFeed(chunk, 0) : 0;
    if (from > 0) onEvent(chunk.subarray(0, from));
    while (from < chunk.length) {
      const end = this.#boundaries.findEnd(chunk, from);
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
}
