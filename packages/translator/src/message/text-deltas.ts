/**
 * The fast path for text deltas, the most frequent events of a stream: they are passed on as the
 * JSON text of their strings.
 */

/**
 * Matches a text delta, so that it needs no parsing. The groups are the index of its block, and the
 * JSON of its string. The string may contain only escapes that `JSON.stringify` writes identically,
 * so this path and the parser give the same bytes. The upstream pads events between the closing
 * braces. The pattern is sticky: it matches at `lastIndex` and consumes one whole event.
 */
export const TEXT_DELTA_EVENT =
  // eslint-disable-next-line no-control-regex -- JSON strings have none
  /event: .+\ndata: {"type":"content_block_delta","index":(\d+),"delta":{"type":"text_delta","text":("(?:[^"\\\0-\x1f]|\\["\\bfnrt])+")} *}\n\n/y;

/**
 * The longest text to run {@link TEXT_DELTA_EVENT} on. V8 pushes a backtracking entry for each
 * character of the string that it matches, so a longer one could overflow its stack.
 */
export const MAX_SEARCHED_LENGTH = 100_000;

/** A text that stands for another one in a sample of an event. */
export const SAMPLE_TEXT = '\0';

/** The JSON text of an object before and after the last {@link SAMPLE_TEXT} in it. */
export function aroundSample(sample: object): readonly [before: string, after: string] {
  const json = JSON.stringify(sample);
  const text = JSON.stringify(SAMPLE_TEXT);
  const at = json.lastIndexOf(text);
  return [json.slice(0, at), json.slice(at + text.length)];
}
