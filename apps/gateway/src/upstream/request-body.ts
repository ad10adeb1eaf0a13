/**
 * The body of a request on its way upstream. A `RequestBody` drops its reference to a large body
 * once it is sent. Otherwise a thousand streams with prompts of 1 MB would keep a gigabyte until
 * they end.
 */

/** A body that is sent once, whole or in pieces. */
export interface SendableBody {
  readonly length: number;
  take(): Uint8Array;
  /** What it consists of, without releasing it. */
  view(): Iterable<Uint8Array>;
  pieces(): Generator<Uint8Array>;
}

/** Holds the bytes of a body until they are sent. */
export class RequestBody implements SendableBody {
  #bytes: Uint8Array | undefined;
  readonly #onSent: () => void;

  /**
   * @param onSent - Called when a large body has been sent, or any body was dropped, so that its
   * memory is no longer counted.
   */
  constructor(bytes: Uint8Array, onSent: () => void) {
    this.#bytes = bytes;
    this.#onSent = onSent;
  }

  /** @throws if it was taken before, which is a bug */
  take(): Uint8Array {
    const bytes = this.#bytes;
    if (bytes === undefined) throw new Error('the body was sent already');
    this.#bytes = undefined;
    return bytes;
  }

  /**
   * Yields all bytes at once, then releases them. Given a buffer, undici would keep it until the
   * response ends.
   */
  *pieces(): Generator<Uint8Array> {
    yield this.take();
    // When undici asks for the next piece, it has passed these bytes to the socket.
    this.#onSent();
  }

  /** Returns the bytes without removing the reference. Call {@link RequestBody.drop} afterwards. */
  peek(): Uint8Array {
    if (this.#bytes === undefined) throw new Error('the body was sent already');
    return this.#bytes;
  }

  view(): Iterable<Uint8Array> {
    return [this.peek()];
  }

  /** The same bytes. Sending the copy releases nothing, so this body can be sent once more. */
  copy(): RequestBody {
    return new RequestBody(this.peek(), () => undefined);
  }

  /** Removes the reference, as sending the body does. */
  drop(): void {
    this.#bytes = undefined;
    this.#onSent();
  }

  get length(): number {
    return this.#bytes?.length ?? 0;
  }
}
