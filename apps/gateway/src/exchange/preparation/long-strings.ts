/**
 * JSON text of values with long strings, in little memory.
 *
 * For a long string with a character beyond Latin-1, `JSON.stringify` takes at least four bytes for
 * each character: two in its buffer and two in the result. V8 doubles that buffer as often as
 * necessary.
 */

import { randomUUID } from 'node:crypto';

/** Characters of a string, or of a piece of it, that `JSON.stringify` may write at once. */
const PIECE_LENGTH = 0x40000;

/** Does the same as `JSON.stringify`, but writes long strings in pieces. */
export function writeJson(value: unknown): string {
  if (!hasLongString(value)) return JSON.stringify(value);
  const long: string[] = [];
  // No client can guess this text, so it occurs only where a long string was replaced by it.
  const mark = randomUUID();
  const parts = JSON.stringify(value, (_name, member: unknown) => {
    if (!isLong(member)) return member;
    long.push(member);
    return mark;
  }).split(`"${mark}"`);
  return parts.reduce((text, part, index) => `${text}"${inPieces(long[index - 1] ?? '')}"${part}`);
}

function inPieces(text: string): string {
  let json = '';
  let start = 0;
  while (start < text.length) {
    let end = start + PIECE_LENGTH;
    // A surrogate pair stays in one piece. Each half alone would be escaped.
    if (/[\uD800-\uDBFF]/.test(text.charAt(end - 1))) end += 1;
    json += JSON.stringify(text.slice(start, end)).slice(1, -1);
    start = end;
  }
  return json;
}

/** Recursive, because the value has at most some 200 levels. */
function hasLongString(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return isLong(value);
  return Object.values(value).some(hasLongString);
}

function isLong(value: unknown): value is string {
  return typeof value === 'string' && value.length > PIECE_LENGTH;
}
