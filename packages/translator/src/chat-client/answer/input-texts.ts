/** Cuts the inputs of calls out of a message's text. A parsed copy would round big integers. */

/**
 * The text of each block's `input`, by the index of the block. `json` must be the text of a message
 * that `JSON.parse` has accepted. If a member is given twice, the last one counts, as in
 * `JSON.parse`.
 */
export function inputTexts(json: string): ReadonlyMap<unknown, string> {
  const texts = new Map<unknown, string>();
  /** The path of the current value, such as `['content', 2, 'input']`. */
  const path: unknown[] = [];
  let quote = 0;
  let start = 0;
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
        if (path.length > 3) break;
        path[path.length - 1] = JSON.parse(json.slice(quote, at));
        start = at + 1;
        break;
      case ',':
      case '}':
      case ']':
        if (path.length === 3 && path[0] === 'content' && path[2] === 'input') {
          texts.set(path[1], json.slice(start, at).trim());
        }
        if (json[at] !== ',') path.pop();
        else if (typeof path.at(-1) === 'number') path.push(Number(path.pop()) + 1);
        break;
    }
  }
  return texts;
}

function closingQuote(json: string, opening: number): number {
  for (let at = opening; ;) {
    at = json.indexOf('"', at + 1);
    let escape = at;
    while (json[escape - 1] === '\\') escape -= 1;
    if ((at - escape) % 2 === 0) return at;
  }
}
