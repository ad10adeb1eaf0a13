/** Bytes that are written one after another, into memory that grows. */

import { encodeInto, NO_BYTES } from './bytes.js';

const LEAST_BYTES = 256;
/** UTF-8 takes at most three bytes for each unit of a string. */
const MOST_BYTES_PER_UNIT = 3;

export class ByteWriter {
  #bytes = NO_BYTES;
  #length = 0;
  #expected = LEAST_BYTES;

  get length(): number {
    return this.#length;
  }

  /** Says how many bytes will probably be written, so that their memory is allocated once. */
  expect(bytes: number): void {
    this.#expected = Math.max(LEAST_BYTES, bytes);
  }

  append(bytes: Uint8Array): void {
    this.#makeRoom(bytes.length);
    this.#bytes.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  /** Appends a short part of `bytes`, for which a loop takes less time than `subarray`. */
  appendPart(bytes: Uint8Array, from: number, to: number): void {
    this.#makeRoom(to - from);
    const target = this.#bytes;
    let length = this.#length;
    for (let at = from; at < to; at += 1) target[length++] = bytes[at] as number;
    this.#length = length;
  }

  appendText(text: string): void {
    this.#makeRoom(text.length * MOST_BYTES_PER_UNIT);
    this.#length += encodeInto(text, this.#bytes.subarray(this.#length));
  }

  /** Appends the decimal digits of a whole number. */
  appendNumber(number: number): void {
    const digits = String(number);
    this.#makeRoom(digits.length);
    for (let at = 0; at < digits.length; at += 1) {
      this.#bytes[this.#length++] = digits.charCodeAt(at);
    }
  }

  /** Returns everything that was written, in memory of its own, and starts anew. */
  take(): Uint8Array {
    if (this.#length === 0) return NO_BYTES;
    const written = this.#bytes.subarray(0, this.#length);
    this.#bytes = NO_BYTES;
    this.#length = 0;
    return written;
  }

  #makeRoom(more: number): void {
    const needed = this.#length + more;
    if (needed <= this.#bytes.length) return;
    const grown = new Uint8Array(Math.max(needed, this.#expected, 2 * this.#bytes.length));
    grown.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = grown;
  }
}
