/**
 * JSON text that is passed on as text. What a model once wrote as the arguments of a call goes back
 * to it digit for digit and key by key: a parsed copy would round integers beyond 2^53 and could
 * change the prompt's cached prefix.
 */

import { isObjectText } from './object-text.js';

/** A parsed JSON object whose members are still unknown. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** A piece of valid JSON, to be spliced into a document as it is. */
export interface JsonText {
  readonly json: string;
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The object itself; an empty one in place of anything else. */
export function objectOf(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}

/** The string itself; the empty one in place of anything else. */
export function stringOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** The objects of a list; none when the value is not a list. */
export function objectsOf(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
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

/** What `JSON.parse` makes of a text of this length is soon garbage again. */
const QUICK_LENGTH = 0x10000;
const LONE_SURROGATES = /\p{Surrogate}/gu;

/**
 * The arguments of a call, as the object that upstream takes: the very text, without the white space
 * around it. Models do write arguments that are no JSON object: such text is kept, under the key
 * `_raw`. Blank text and `null` are no arguments. Unpaired surrogates, which UTF-8 cannot carry,
 * become `\u` escapes: the same JSON value.
 */
export function inputText(text: string): { readonly input: JsonText; readonly isWrapped: boolean } {
  const written = /^\s*(null\s*)?$/.test(text) ? '{}' : text.trim();
  const isObject = written.length > QUICK_LENGTH ? isObjectText(written) : parseObject(written);
  const isWrapped = !isObject;
  const json = isWrapped ? JSON.stringify({ _raw: text }) : written;
  return { input: { json: json.replace(LONE_SURROGATES, escapeCodeUnit) }, isWrapped };
}

function escapeCodeUnit(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16)}`;
}
