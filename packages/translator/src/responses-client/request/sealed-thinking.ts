/** Reads the thinking in a reasoning item: `encrypted_content` is the JSON text of its block. */

import { closingQuote } from '../../wire/json-strings.js';
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
