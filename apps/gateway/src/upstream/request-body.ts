/**
 * The bytes of a request on their way upstream. Nobody holds them once they are sent: a thousand streams that
 * answer prompts of 1 MB would otherwise keep a gigabyte for as long as they take.
 */

/** Whoever sends the bytes takes them. */
export class RequestBody {
  #bytes: Uint8Array | undefined;

  constructor(content: Uint8Array | string) {
    this.#bytes = typeof content === 'string' ? Buffer.from(content) : content;
  }

  /** @throws when they were taken: a bug. */
  peek(): Uint8Array {
    if (this.#bytes === undefined) throw new Error('the body was sent already');
    return this.#bytes;
  }

  take(): Uint8Array {
    const bytes = this.peek();
    this.#bytes = undefined;
    return bytes;
  }
}

/** All bytes at once, forgotten as they are read: a buffer would be kept by the client library. */
export class HandedOverBody implements Iterable<Uint8Array> {
  readonly #body: RequestBody;

  constructor(bytes: Uint8Array) {
    this.#body = new RequestBody(bytes);
  }

  *[Symbol.iterator](): Generator<Uint8Array> {
    yield this.#body.take();
  }
}
