/**
 * The fast path for the most frequent events of a stream: deltas whose only content is a string.
 * Its JSON text is passed on as bytes, without decoding or parsing it and without making objects
 * (docs/decisions/0074).
 */

import { encodeUtf8 } from '../wire/bytes.js';
import { characterLength } from '../wire/utf8.js';

/** A text that stands in every delta. It is compared by words, in a third of the time of bytes. */
interface Literal {
  readonly words: Int32Array;
  readonly length: number;
}

const BEGINNING = /* @__PURE__ */ literal(
  'event: content_block_delta\ndata: {"type":"content_block_delta","index":',
);
/** What stands between the index and the string, by the type of the delta. */
const KINDS = /* @__PURE__ */ (
  [
    ['text_delta', 'text'],
    ['input_json_delta', 'partial_json'],
    ['thinking_delta', 'thinking'],
  ] as const
).map(([type, member]) => ({ type, before: literal(`,"delta":{"type":"${type}","${member}":`) }));

const LF = 0x0a;
const SPACE = 0x20;
const QUOTE = 0x22;
const ZERO = 0x30;
const NINE = 0x39;
const BACKSLASH = 0x5c;
const CLOSE_BRACE = 0x7d;

/**
 * Reads the deltas that stand one after another in a chunk. Its members describe the delta that was
 * read last.
 */
export class StringDeltaReader {
  /** The index of the block. */
  index = 0;
  type = '';
  /** Where the JSON text of the string begins and ends, quotes included. */
  from = 0;
  to = 0;
  /** The number of code units of the string. */
  units = 0;
  /** Where the event ends. */
  end = 0;

  /**
   * Whether a whole delta begins at `start`, in the form that the upstream uses. Its string is not
   * empty, is valid UTF-8, and contains only escapes that `JSON.stringify` writes identically, so
   * this path and the parser give the same bytes.
   *
   * @param view - of `bytes`
   */
  read(bytes: Uint8Array, view: DataView, start: number): boolean {
    if (!startsAt(view, start, BEGINNING)) return false;
    const digits = start + BEGINNING.length;
    let at = digits;
    let index = 0;
    for (; isDigit(bytes[at]); at += 1) index = 10 * index + (bytes[at] as number) - ZERO;
    if (at === digits) return false;
    const kind = kindAt(view, at);
    if (!kind) return false;
    const from = at + kind.before.length;
    const to = this.#endOfString(bytes, from);
    if (to === -1 || bytes[to] !== CLOSE_BRACE) return false;
    // The upstream pads events between the closing braces.
    at = to + 1;
    while (bytes[at] === SPACE) at += 1;
    if (bytes[at] !== CLOSE_BRACE || bytes[at + 1] !== LF || bytes[at + 2] !== LF) return false;
    this.index = index;
    this.type = kind.type;
    this.from = from;
    this.to = to;
    this.end = at + 3;
    return true;
  }

  /**
   * Where the JSON string that begins at `from` ends; -1 if the fast path does not take it. Sets
   * `units`, without work for plain ASCII.
   */
  #endOfString(bytes: Uint8Array, from: number): number {
    if (bytes[from] !== QUOTE || bytes[from + 1] === QUOTE) return -1;
    /** The bytes that are not code units: those of the quotes, escapes and longer characters. */
    let others = 2;
    for (let at = from + 1; ;) {
      const byte = bytes[at];
      if (byte === QUOTE) {
        this.units = at + 1 - from - others;
        return at + 1;
      }
      if (byte === undefined || byte < SPACE) return -1;
      let length = 1;
      if (byte === BACKSLASH || byte >= 0x80) {
        length = byte === BACKSLASH ? escapeLength(bytes[at + 1]) : characterLength(bytes, at);
        if (length === 0) return -1;
        // A character of four bytes is a pair of surrogates.
        others += length === 4 ? 2 : length - 1;
      }
      at += length;
    }
  }
}

function kindAt(view: DataView, at: number): (typeof KINDS)[number] | undefined {
  for (const kind of KINDS) if (startsAt(view, at, kind.before)) return kind;
  return undefined;
}

/** @param text - ASCII */
function literal(text: string): Literal {
  const { buffer, byteOffset, length } = encodeUtf8(text);
  const view = new DataView(buffer, byteOffset, length);
  // The last word may overlap the one before it.
  const words = Int32Array.from({ length: Math.ceil(length / 4) }, (_, i) =>
    view.getInt32(wordAt(i, length)),
  );
  return { words, length };
}

function startsAt(view: DataView, at: number, { words, length }: Literal): boolean {
  if (at + length > view.byteLength) return false;
  for (let i = 0; i < words.length; i += 1) {
    if (view.getInt32(at + wordAt(i, length)) !== words[i]) return false;
  }
  return true;
}

function wordAt(index: number, length: number): number {
  return Math.min(4 * index, length - 4);
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= ZERO && byte <= NINE;
}

/** 0 for an escape that `JSON.stringify` may write in another way. */
function escapeLength(kind: number | undefined): 0 | 2 {
  switch (kind) {
    case QUOTE:
    case BACKSLASH:
    case 0x62: // b
    case 0x66: // f
    case 0x6e: // n
    case 0x72: // r
    case 0x74: // t
      return 2;
    default:
      return 0;
  }
}

/**
 * Writes a delta, whose string has its JSON text in `bytes` between `from` and `to`.
 *
 * @param units - The number of code units of the string.
 */
export type WriteString = (bytes: Uint8Array, from: number, to: number, units: number) => void;

/** A string that stands for another one in a sample of an event. */
export const SAMPLE = '\0';

/** The JSON text of an object before and after the last {@link SAMPLE} in it. */
export function aroundSample(sample: object): readonly [before: string, after: string] {
  const json = JSON.stringify(sample);
  const text = JSON.stringify(SAMPLE);
  const at = json.lastIndexOf(text);
  return [json.slice(0, at), json.slice(at + text.length)];
}
