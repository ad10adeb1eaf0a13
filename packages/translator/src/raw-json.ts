/**
 * JSON text that is passed on as text. What a model once wrote as the arguments of a call goes back
 * to it digit for digit and key by key: a parsed copy would round integers beyond 2^53 and could
 * change the prompt's cached prefix.
 */

/** A parsed JSON object whose members are still unknown. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** A piece of valid JSON, to be spliced into a document as it is. */
export interface JsonText {
  readonly json: string;
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const LONE_SURROGATES = /\p{Surrogate}/gu;

/**
 * The given text when it is one JSON object, without the white space around it; otherwise
 * undefined. Unpaired surrogates, which UTF-8 cannot carry, become `\u` escapes: the same JSON
 * value.
 */
export function asObjectText(text: string): JsonText | undefined {
  const trimmed = text.trim();
  if (!trimmed.startsWith('{')) return undefined;
  try {
    JSON.parse(trimmed);
  } catch {
    return undefined;
  }
  return { json: trimmed.replace(LONE_SURROGATES, escapeCodeUnit) };
}

/**
 * The arguments of a call, as the object that upstream takes. Models do write arguments that are no
 * JSON object: such text is kept, under the key `_raw`. Blank text and `null` are no arguments.
 */
export function inputText(text: string): { readonly input: JsonText; readonly isWrapped: boolean } {
  if (!/\S/.test(text) || text.trim() === 'null')
    return { input: { json: '{}' }, isWrapped: false };
  const object = asObjectText(text);
  if (object !== undefined) return { input: object, isWrapped: false };
  return { input: { json: JSON.stringify({ _raw: text }) }, isWrapped: true };
}

function escapeCodeUnit(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16)}`;
}
