/**
 * Matches a text delta, the most frequent event of a stream, so that it needs no parsing. The
 * groups are the index of its block, and the JSON of its string, which goes into the chunk
 * unchanged. The string may contain only escapes that `JSON.stringify` writes identically, so this
 * path and the parser give the same bytes. The upstream pads events between the closing braces.
 * The pattern is sticky: it matches at `lastIndex` and consumes one whole event.
 */
export const TEXT_DELTA_EVENT =
  // eslint-disable-next-line no-control-regex -- JSON strings have none
  /event: .+\ndata: {"type":"content_block_delta","index":(\d+),"delta":{"type":"text_delta","text":("(?:[^"\\\0-\x1f]|\\["\\bfnrt])+")} *}\n\n/y;

/**
 * The longest text to run {@link TEXT_DELTA_EVENT} on. V8 pushes a backtracking entry for each
 * character of the string that it matches, so a longer one could overflow its stack.
 */
export const MAX_SEARCHED_LENGTH = 100_000;
