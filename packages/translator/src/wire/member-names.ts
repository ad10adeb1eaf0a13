/** Renames members of a JSON object in its text, so that every digit of their values is kept. */

import { closingQuote } from './json-strings.js';

/**
 * The text with other names for members of the object itself, not of objects in it. Text that ends
 * too early, as a call does that was cut off, is renamed as far as it goes.
 *
 * @param names - The new names, by the present ones.
 */
export function renameMembers(json: string, names: ReadonlyMap<string, string>): string {
  let renamed = '';
  let copied = 0;
  let depth = 0;
  let isName = false;
  for (let at = 0; at < json.length; at += 1) {
    switch (json.charAt(at)) {
      case '{':
      case '[':
        depth += 1;
        isName = depth === 1;
        break;
      case '}':
      case ']':
        depth -= 1;
        break;
      case ',':
        isName = depth === 1;
        break;
      case '"': {
        const closing = closingQuote(json, at);
        if (closing === -1) return renamed + json.slice(copied);
        const name = isName
          ? names.get(JSON.parse(json.slice(at, closing + 1)) as string)
          : undefined;
        if (name !== undefined) {
          renamed += json.slice(copied, at) + JSON.stringify(name);
          copied = closing + 1;
        }
        isName = false;
        at = closing;
        break;
      }
    }
  }
  return renamed + json.slice(copied);
}
