/**
 * JSON text that is passed on as text, and careful reading of parsed JSON.
 *
 * Arguments that a model wrote earlier are sent back to it with every digit and key unchanged. A
 * parsed copy would round integers beyond 2^53 and could change the prompt's cached prefix.
 */

import { isObjectText } from './object-text.js';

/** A parsed JSON object with members of unknown type. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** Valid JSON text that is spliced into a document unchanged. */
export interface JsonText {
  readonly json: string;
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value if it is an object, otherwise an empty object. */
export function objectOf(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}

/** The value if it is a string, otherwise the empty string. */
export function stringOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** The objects of a list; none when the value is not a list. */
export function objectsOf(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

/** The most levels of nested arrays and objects that are passed on. */
const MAX_DEPTH = 200;

/**
 * Whether a value is nested more than 200 levels deep. On a value with many thousand levels,
 * `JSON.stringify` and every other recursion without a limit would exhaust the stack.
 *
 * @param levels - How many the value may have.
 */
export function isTooDeep(value: unknown, levels = MAX_DEPTH): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (levels === 0) return true;
  const items: readonly unknown[] = Array.isArray(value) ? value : Object.values(value);
  return items.some((item) => isTooDeep(item, levels - 1));
}

/** The value of JSON text; undefined when the text is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The value of JSON text when it is an object; otherwise undefined. */
export function parseObject(text: string): JsonObject | undefined {
  const value = parseJson(text);
  return isJsonObject(value) ? value : undefined;
}

/** Longer text is checked without `JSON.parse`, whose values would take too much memory. */
const QUICK_LENGTH = 0x10000;
/** Escaped pairs, single escaped surrogates, and other escapes, so that each is read whole. */
const ESCAPES = /\\(ud[89ab]..\\ud[c-f]..|ud[89a-f]..|.)/gi;
const REPLACEMENT = '\ufffd';

/**
 * The arguments of a call, as the JSON object that the upstream takes: the same text without the
 * white space around it. Blank text and `null` become `{}`. Unpaired surrogates become U+FFFD,
 * because UTF-8 cannot carry them. Undefined if the arguments are not a JSON object, or one of more
 * than 200 levels, as models sometimes write them: such text is {@link wrapped}.
 */
export function objectText(text: string): string | undefined {
  const written = /^\s*(null\s*)?$/.test(text) ? '{}' : text.trim();
  const value = written.length > QUICK_LENGTH ? isObjectText(written) && {} : parseJson(written);
  return isJsonObject(value) && !isTooDeep(value) ? written.toWellFormed() : undefined;
}

/** What the upstream takes in place of arguments that are not an object: `_raw` keeps the text. */
export function wrapped(text: string): JsonObject {
  return { _raw: text };
}

/** Long texts are read and written in pieces of this length. */
export const PIECE_LENGTH = 0x8000;

/**
 * The JSON text with U+FFFD in place of each escape of an unpaired surrogate, in pieces. The
 * upstream refuses a body that contains one.
 *
 * Each piece can be encoded by itself. Long text has several, because `replace` keeps memory for
 * each match until it is done.
 *
 * @param pieceLength - Smaller in tests.
 */
export function wellFormed(json: string, pieceLength = PIECE_LENGTH): string[] {
  const pieces: string[] = [];
  for (let at = 0, end; at < json.length; at = end) {
    end = endOfPiece(json, at, at + pieceLength);
    const piece = end - at === json.length ? json : json.slice(at, end);
    pieces.push(
      /\\ud/i.test(piece)
        ? piece.replace(ESCAPES, (escape) => (escape.length === 6 ? REPLACEMENT : escape))
        : piece,
    );
  }
  return pieces;
}

const ESCAPE_LENGTH = '\\ud83d'.length;

/** @returns a place shortly before `end` that is inside no escape and no pair, escaped or not */
function endOfPiece(json: string, from: number, end: number): number {
  if (end >= json.length) return json.length;
  if (isPair(json, end - 1)) return end - 1;
  // An escape that begins earlier has ended.
  const near = end - ESCAPE_LENGTH + 1;
  const last = near + json.slice(near, end).lastIndexOf('\\');
  const start = isEscape(json, from, last) ? last : end;
  const before = start - ESCAPE_LENGTH;
  const isFirst = isEscape(json, from, before) && /^\\ud[89ab]/i.test(json.slice(before, start));
  return isFirst ? before : start;
}

function isPair(text: string, at: number): boolean {
  return (text.codePointAt(at) ?? 0) > 0xffff;
}

/** Whether the backslash at this place begins an escape: it may end one, as in `\\\\`. */
function isEscape(json: string, from: number, at: number): boolean {
  let start = at;
  while (start >= from && json[start] === '\\') start -= 1;
  return (at - start) % 2 === 1;
}
