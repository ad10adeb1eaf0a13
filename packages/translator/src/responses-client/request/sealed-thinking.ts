/** Reads the thinking in a reasoning item: `encrypted_content` is the JSON text of its block. */

import { type JsonObject, parseObject } from '../../wire/raw-json.js';

/**
 * The object in the text; undefined when there is none, or one with nested values. A client can
 * write anything here, and `JSON.parse` takes long and much memory for a megabyte of brackets.
 */
export function readSealed(text: string): JsonObject | undefined {
  return isFlat(text) ? parseObject(text) : undefined;
}

/** Whether the text starts with `{` and has no other opening bracket outside of strings. */
function isFlat(text: string): boolean {
  if (!text.startsWith('{')) return false;
  for (let at = 1; ;) {
    const opening = text.indexOf('"', at);
    const between = text.slice(at, opening === -1 ? text.length : opening);
    if (/[[{]/.test(between)) return false;
    if (opening === -1) return true;
    const closing = closingQuote(text, opening);
    if (closing === -1) return false;
    at = closing + 1;
  }
}

function closingQuote(text: string, opening: number): number {
  for (let at = text.indexOf('"', opening + 1); at !== -1; at = text.indexOf('"', at + 1)) {
    let escape = at;
    while (text[escape - 1] === '\\') escape -= 1;
    if ((at - escape) % 2 === 0) return at;
  }
  return -1;
}
