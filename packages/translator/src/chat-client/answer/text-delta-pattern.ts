/**
 * The event that most of a stream consists of, read without parsing it: the index of its block, and the JSON of its
 * string, which goes into the chunk as it is. Only escapes that `JSON.stringify` would write the same way: it must not
 * matter who reads the event. The upstream pads between the closing braces. Sticky: it begins where one looks, and
 * ends with the event.
 */
export const TEXT_DELTA_EVENT =
  // eslint-disable-next-line no-control-regex -- JSON has none within strings
  /event: .+\ndata: {"type":"content_block_delta","index":(\d+),"delta":{"type":"text_delta","text":("(?:[^"\\\0-\x1f]|\\["\\bfnrt])+")} *}\n\n/y;

/** Of the text that it is looked for in: for each character of a string it takes room on a stack, which is limited. */
export const MAX_SEARCHED_LENGTH = 100_000;
