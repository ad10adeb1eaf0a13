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

/** The text of a body, which callers hold as text or as bytes. */
export function asText(body: string | Uint8Array): string {
  return typeof body === 'string' ? body : decodeUtf8(body);
}

/** {@link decodeUtf8}, but undefined when the bytes are not UTF-8. */
export function decodeStrictly(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
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
    const pieces = this.#pieces;
    this.#pieces = [];
    this.#length = 0;
    return joined(pieces);
  }
}

/** A part of `bytes`, without a copy; the very same where it is all of them. */
export function part(bytes: Uint8Array, from: number, to: number): Uint8Array {
  return from === 0 && to === bytes.length ? bytes : bytes.subarray(from, to);
}

/** Pieces as one: the very piece where there is only one. */
export function joined(pieces: readonly Uint8Array[]): Uint8Array {
  const [only = NO_BYTES] = pieces;
  if (pieces.length <= 1) return only;
  const whole = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}
