import { ByteQueue, NO_BYTES, part } from '../wire/bytes.js';

/**
 * Separates the bytes of a stream into those that are sent with their chunk and those that are kept
 * back until the end of the stream. Bytes of the current chunk are kept as positions, so that
 * adjacent events are sent as one part of the chunk, without a copy.
 */
export class ByteGate {
  readonly #held = new ByteQueue();
  #chunk: Uint8Array = NO_BYTES;
  /** An event that began in an earlier chunk. It is sent before the part of this chunk. */
  #begunEarlier: Uint8Array = NO_BYTES;
  #readyFrom = 0;
  #readyTo = 0;
  #heldFrom = 0;
  #heldTo = 0;

  /** Bytes that are kept back. */
  get heldLength(): number {
    return this.#held.length + this.#heldTo - this.#heldFrom;
  }

  /** The current chunk. */
  get chunk(): Uint8Array {
    return this.#chunk;
  }

  begin(chunk: Uint8Array): void {
    this.#chunk = chunk;
  }

  /**
   * Releases an event: a part of the chunk, or bytes of its own if it began in an earlier chunk.
   */
  pass(bytes: Uint8Array, from: number, to: number): void {
    if (bytes !== this.#chunk) {
      this.#begunEarlier = bytes;
      return;
    }
    if (this.#readyTo === 0) this.#readyFrom = from;
    this.#readyTo = to;
  }

  /** Keeps an event back. */
  hold(bytes: Uint8Array, from: number, to: number): void {
    if (bytes !== this.#chunk) {
      this.#held.append(part(bytes, from, to));
      return;
    }
    if (this.#heldTo === 0) this.#heldFrom = from;
    this.#heldTo = to;
  }

  /** Ends the chunk. @returns the bytes to send, in order */
  takeReady(): readonly Uint8Array[] {
    const first = this.#begunEarlier;
    const own = this.#readyTo === 0 ? NO_BYTES : part(this.#chunk, this.#readyFrom, this.#readyTo);
    if (this.#heldTo > 0) this.#held.append(part(this.#chunk, this.#heldFrom, this.#heldTo));
    this.#begunEarlier = NO_BYTES;
    // A stream that waits for its next chunk must not keep the last one in memory.
    this.#chunk = NO_BYTES;
    this.#readyFrom = 0;
    this.#readyTo = 0;
    this.#heldFrom = 0;
    this.#heldTo = 0;
    if (first.length === 0) return own.length === 0 ? [] : [own];
    return own.length === 0 ? [first] : [first, own];
  }

  takeHeld(): Uint8Array {
    return this.#held.take();
  }
}
