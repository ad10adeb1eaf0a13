/** Functions on bytes that need no Node modules, so that they run on every platform. */

export const NO_BYTES = /* @__PURE__ */ new Uint8Array(0);

const encoder = /* @__PURE__ */ new TextEncoder();
const decoder = /* @__PURE__ */ new TextDecoder();

export function encodeUtf8(text: string): Uint8Array {
  return encoder.encode(text);
}

/** Encodes `text` at the beginning of `target`. @returns how many bytes it took */
export function encodeInto(text: string, target: Uint8Array): number {
  return encoder.encodeInto(text, target).written;
}

/**
 * Decodes a complete text. Drops a byte order mark at its start, and turns broken UTF-8 into
 * U+FFFD.
 */
export function decodeUtf8(bytes: Uint8Array): string {
  return decoder.decode(bytes);
}

/** The text of a body, which callers hold as text or as bytes. */
export function asText(body: string | Uint8Array): string {
  return typeof body === 'string' ? body : decodeUtf8(body);
}

/** {@link decodeUtf8}, but undefined when the bytes are not valid UTF-8. */
export function decodeStrictly(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/**
 * A queue of bytes in pieces. It joins them once, when they are taken, so appending stays linear.
 */
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

  /** Returns everything that was appended, in order, and empties the queue. */
  take(): Uint8Array {
    const pieces = this.#pieces;
    this.#pieces = [];
    this.#length = 0;
    return joined(pieces);
  }
}

/** A part of `bytes` without a copy. Returns `bytes` itself when the part covers all of it. */
export function part(bytes: Uint8Array, from: number, to: number): Uint8Array {
  return from === 0 && to === bytes.length ? bytes : bytes.subarray(from, to);
}

/** Joins pieces into one. Returns the piece itself when there is only one. */
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
