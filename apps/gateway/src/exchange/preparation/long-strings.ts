/**
 * JSON text of values with long strings, in little memory.
 *
 * For a long string with a character beyond Latin-1, `JSON.stringify` takes at least four bytes for
 * each character: two in its buffer and two in the result. V8 doubles that buffer as often as
 * necessary.
 */

import { randomUUID } from 'node:crypto';

/**
 * Characters of a string, or of a piece of it, that `JSON.stringify` may write at once. Larger
 * pieces would be large objects for V8 (over 128 KB), which a minor GC does not free as early.
 */
const PIECE_LENGTH = 0x8000;

/** The text that `JSON.stringify` writes, in pieces that follow each other. */
export function* writeJson(value: unknown): Generator<string> {
  if (!hasLongString(value)) {
    yield JSON.stringify(value);
    return;
  }
  const long: string[] = [];
  // No client can guess this text, so it occurs only where a long string was replaced by it.
  const mark = randomUUID();
  const [first = '', ...others] = JSON.stringify(value, (_name, member: unknown) => {
    if (!isLong(member)) return member;
    long.push(member);
    return mark;
  }).split(`"${mark}"`);
  yield first;
  for (const [index, part] of others.entries()) {
    yield '"';
    yield* inPieces(long[index] ?? '');
    yield `"${part}`;
  }
}

function* inPieces(text: string): Generator<string> {
  let start = 0;
  while (start < text.length) {
    let end = start + PIECE_LENGTH;
    // A surrogate pair stays in one piece. Each half alone would be escaped.
    if (/[\uD800-\uDBFF]/.test(text.charAt(end - 1))) end += 1;
    yield JSON.stringify(text.slice(start, end)).slice(1, -1);
    start = end;
  }
}

/**
 * Encodes each piece before the next one is written.
 *
 * @param expectedBytes - If there are more, some are copied.
 */
export function encodePieces(pieces: Iterable<string>, expectedBytes: number): Uint8Array {
  let bytes = Buffer.from(new ArrayBuffer(expectedBytes));
  let length = 0;
  for (const piece of pieces) {
    const end = length + Buffer.byteLength(piece);
    if (end > bytes.length) bytes = Buffer.from(bytes.buffer.transfer(2 * end));
    length += bytes.write(piece, length);
  }
  return new Uint8Array(bytes.buffer.transfer(length));
}

/** Recursive, because the value has at most some 200 levels. */
function hasLongString(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return isLong(value);
  return Object.values(value).some(hasLongString);
}

function isLong(value: unknown): value is string {
  return typeof value === 'string' && value.length > PIECE_LENGTH;
}
