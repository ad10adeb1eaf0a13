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
   * Concatenated they are the stream. Answers false when an event grew beyond the bound.
   */
  push(chunk: Uint8Array, onEvent: (event: Uint8Array) => void): boolean {
    let from = 0;
    while (from < chunk.length) {
      const end = this.#boundaries.findEnd(chunk, from);
      if (end === -1) {
        this.#pending.append(from === 0 ? chunk : chunk.subarray(from));
        return this.#pending.length <= this.#maxEventBytes;
      }
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
