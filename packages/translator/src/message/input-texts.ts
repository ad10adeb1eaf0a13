/** Cuts the inputs of tool calls out of JSON text. `JSON.parse` would round large integers. */

import { closingQuote } from '../wire/json-strings.js';

/** The deepest `input`: `message.content[0].input` of a `message_start` event. */
const MAX_LEVELS = 4;

/**
 * The text of each member `input`, by the path of the object that contains it, such as `content/2`,
 * `content_block` or `message/content/0`. `json` must be text that `JSON.parse` has accepted. If a
 * member is given twice, the last one counts, as in `JSON.parse`.
 */
export function inputTexts(json: string): ReadonlyMap<string, string> {
  const texts = new Map<string, string>();
  /** The path of the current value, such as `['content', 2, 'input']`. */
  const path: unknown[] = [];
  let quote = 0;
  /** Where the current value begins, by its level. */
  const starts: number[] = [];
  for (let at = 0; at < json.length; at += 1) {
    switch (json.charAt(at)) {
      case '"':
        quote = at;
        at = closingQuote(json, at);
        break;
      case '{':
      case '[':
        path.push(0);
        break;
      case ':':
        if (path.length > MAX_LEVELS) break;
        path[path.length - 1] = JSON.parse(json.slice(quote, at));
        starts[path.length] = at + 1;
        break;
      case ',':
      case '}':
      case ']':
        if (path.length <= MAX_LEVELS && path.at(-1) === 'input') {
          texts.set(path.slice(0, -1).join('/'), json.slice(starts[path.length], at).trim());
        }
        if (json[at] !== ',') path.pop();
        else if (typeof path.at(-1) === 'number') path.push(Number(path.pop()) + 1);
        break;
    }
  }
  return texts;
}
