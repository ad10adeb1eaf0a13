/** Byte buffers that work wherever there is a `Uint8Array`. */

export const NO_BYTES = /* @__PURE__ */ new Uint8Array(0);

const encoder = /* @__PURE__ */ new TextEncoder();
const decoder = /* @__PURE__ */ new TextDecoder();

export function encodeUtf8(text: string): Uint8Array {
  return encoder.encode(text);
}

/** Decodes a complete text: a byte order mark at its start is dropped, broken UTF-8 becomes U+FFFD. */
export function decodeUtf8(bytes: Uint8Array): string {
  return decoder.decode(bytes);
}

/** Bytes that wait, in pieces. Joined once when they are taken, however many pieces there were. */
export class ByteQueue {
  #pieces: Uint8Array[] = [];
  #length = 0;

  get length(): number {
    return this.#length;
  }

  append(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    this.#pieces.push(bytes);
    this.#length += bytes.length;
  }

  /** Everything that was appended, in order. The queue is empty afterwards. */
  take(): Uint8Array {
    const [only = NO_BYTES] = this.#pieces;
    const joined =
      this.#pieces.length <= 1 ? only : concatenate(this.#pieces, { length: this.#length });
    this.#pieces = [];
    this.#length = 0;
    return joined;
  }
}

export function concatenate(
  pieces: readonly Uint8Array[],
  { length }: { readonly length: number },
): Uint8Array {
  const joined = new Uint8Array(length);
  let at = 0;
  for (const piece of pieces) {
    joined.set(piece, at);
    at += piece.length;
  }
  return joined;
}

const SLAB_BYTES = 4096;

/**
 * Builds many short outputs without an allocation for each: they are cut from one slab until it is
 * used up. Bytes that were taken are never written again.
 */
export class ByteWriter {
  #slab = NO_BYTES;
  #start = 0;
  #end = 0;

  writeBytes(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    this.#slab.set(bytes, this.#end);
    this.#end += bytes.length;
  }

  /** Copies `source[from, to)` byte by byte: quicker than a view for the few bytes of a token. */
  writeSlice(source: Uint8Array, from: number, to: number): void {
    const length = to - from;
    this.#reserve(length);
    if (length > 64) {
      this.#slab.set(source.subarray(from, to), this.#end);
    } else {
      const slab = this.#slab;
      for (let i = 0; i < length; i += 1) slab[this.#end + i] = source[from + i] ?? 0;
    }
    this.#end += length;
  }

  writeText(text: string): void {
    // A UTF-16 code unit takes at most three bytes in UTF-8.
    this.#reserve(text.length * 3);
    this.#end += encoder.encodeInto(text, this.#slab.subarray(this.#end)).written;
  }

  /** What was written since the last call. */
  take(): Uint8Array {
    if (this.#start === this.#end) return NO_BYTES;
    const taken = this.#slab.subarray(this.#start, this.#end);
    this.#start = this.#end;
    return taken;
  }

  #reserve(length: number): void {
    if (this.#slab.length - this.#end >= length) return;
    const unfinished = this.#slab.subarray(this.#start, this.#end);
    const slab = new Uint8Array(Math.max(SLAB_BYTES, (unfinished.length + length) * 2));
    slab.set(unfinished);
    this.#slab = slab;
    this.#start = 0;
    this.#end = unfinished.length;
  }
}
