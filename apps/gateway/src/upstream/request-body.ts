/**
 * The bytes of a request on their way upstream. Nobody holds them once they are sent: a thousand streams that
 * answer prompts of 1 MB would otherwise keep a gigabyte for as long as they take.
 */

/** The one reference to a body. Sending it takes it away. */
export class RequestBody {
  #bytes: Uint8Array | undefined;
  readonly #onSent: () => void;

  /** @param onSent - Called when a large body has been sent, so that its memory counts no more. */
  constructor(bytes: Uint8Array, onSent: () => void) {
    this.#bytes = bytes;
    this.#onSent = onSent;
  }

  /** @throws if it was taken before: a bug. */
  take(): Uint8Array {
    const bytes = this.#bytes;
    if (bytes === undefined) throw new Error('the body was sent already');
    this.#bytes = undefined;
    return bytes;
  }

  /** All bytes at once, released when they have been read: the client library would keep a buffer. */
  *pieces(): Generator<Uint8Array> {
    yield this.take();
    // Asked for more, the library has handed the bytes to the socket.
    this.#onSent();
  }

  get length(): number {
    return this.#bytes?.length ?? 0;
  }
}
