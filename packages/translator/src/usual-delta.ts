/**
 * The event that nearly all of a stream consists of, read without parsing it: the JSON text of its string goes
 * into the chunk as it is.
 */

export interface UsualDelta {
  readonly kind: 'text' | 'json';
  /** Of the content block. */
  readonly index: number;
  /** What stands between the quotes, escapes included. */
  readonly json: string;
}

const HEAD = 'event: content_block_delta\ndata: {"type":"content_block_delta","index":';
const KINDS = [
  ['text', ',"delta":{"type":"text_delta","text":"'],
  ['json', ',"delta":{"type":"input_json_delta","partial_json":"'],
] as const;
// JSON has no control characters within strings.
/* eslint-disable no-control-regex */
const NEEDS_A_LOOK = /["\\\u0000-\u001f]/;
/** Only what `JSON.stringify` would write the same way, so that it does not matter who reads the event. */
const STRING_BODY = /^(?:[^"\\\u0000-\u001f]|\\["\\bfnrt])*$/;
/* eslint-enable no-control-regex */

/**
 * Reads the event that stands in `text` from `from` to `end`, where its blank line ends. Undefined for every
 * event that is anything but usual: it is to be parsed.
 */
export function readUsualDelta(text: string, from: number, end: number): UsualDelta | undefined {
  if (!text.startsWith(HEAD, from)) return undefined;
  let at = from + HEAD.length;
  let index = 0;
  for (let digit = digitAt(text, at); digit >= 0 && at < from + 90; digit = digitAt(text, ++at)) {
    index = index * 10 + digit;
  }
  for (const [kind, head] of KINDS) {
    if (!text.startsWith(head, at)) continue;
    const start = at + head.length;
    const stop = stringEnd(text, end - 2);
    if (stop < start) return undefined;
    const json = text.slice(start, stop);
    return NEEDS_A_LOOK.test(json) && !STRING_BODY.test(json) ? undefined : { kind, index, json };
  }
  return undefined;
}

/** Where the string ends that `"}}` closes, or -1. The upstream pads between the braces. */
function stringEnd(text: string, end: number): number {
  let at = end - 1;
  if (text[at] !== '}') return -1;
  do at -= 1;
  while (text[at] === ' ');
  return text[at] === '}' && text[at - 1] === '"' ? at - 1 : -1;
}

function digitAt(text: string, at: number): number {
  const digit = text.charCodeAt(at) - 48;
  return digit <= 9 ? digit : -1;
}
