/** Reads the arguments of calls whose text the client gets in another form. */

import { argumentsOf, customInput } from '../../message/called-tool.js';
import type { CalledAs } from '../../wire/called-as.js';
import { parseJson, stringOf } from '../../wire/raw-json.js';

const BEGINNING = /^\s*\{\s*"input"\s*:\s*"/;
/**
 * If the text has not begun within this length, the object has another form, and it is read when it
 * is complete.
 */
const MAX_BEGINNING = 64;
/** The first half of a character (a surrogate), whose other half may follow. */
const HALF_CHARACTER = /^\\ud[89ab]/i;

/**
 * Reads the text of a custom tool's call while the model still writes it. The model writes the JSON
 * object `{"input": "..."}`, and the client gets the text.
 */
export class CustomInputReader {
  /**
   * All of the JSON text. After the beginning it is only appended to until the end, because reading
   * a character would make V8 copy all of it with every delta.
   */
  #json = '';
  /** The text that was returned so far. */
  #text = '';
  /** The unread part of the text; undefined before the text, and after it. */
  #rest: string | undefined;
  #isSearching = true;

  /** Takes more of the JSON text. @returns more of the input's text */
  push(json: string): string {
    this.#json += json;
    if (this.#rest !== undefined) this.#rest += json;
    else if (this.#isSearching) this.#search();
    if (this.#rest === undefined) return '';
    const { end, isClosed } = scan(this.#rest);
    const read: unknown = parseJson(`"${this.#rest.slice(0, end)}"`);
    // This text may be invalid, for instance because of an unescaped line break. The whole text is
    // checked at the end.
    const isReadable = typeof read === 'string';
    this.#rest = isReadable && !isClosed ? this.#rest.slice(end) : undefined;
    const text = stringOf(read);
    this.#text += text;
    return text;
  }

  /** @returns the rest of the text. If the JSON text was cut off, there is none. */
  end(): string {
    if (parseJson(this.#json) === undefined) return '';
    const whole = customInput(this.#json);
    return whole.startsWith(this.#text) ? whole.slice(this.#text.length) : '';
  }

  #search(): void {
    const length = BEGINNING.exec(this.#json)?.[0].length;
    if (length !== undefined) this.#rest = this.#json.slice(length);
    this.#isSearching = length === undefined && this.#json.length < MAX_BEGINNING;
  }
}

/**
 * Scans the content of a JSON string. `end` is where its closing quote is, or else where its last
 * complete character ends.
 */
function scan(json: string): { readonly end: number; readonly isClosed: boolean } {
  let [end, length] = [0, 0];
  while (end < json.length) {
    const code = json[end];
    if (code === '"') return { end, isClosed: true };
    const next = code !== '\\' ? 1 : json[end + 1] === 'u' ? 6 : 2;
    if (end + next > json.length) break;
    end += next;
    length = next;
  }
  const isHalf = length === 6 && HALF_CHARACTER.test(json.slice(end - length, end));
  return { end: isHalf ? end - length : end, isClosed: false };
}

/** Collects the arguments of a call, some of which have other names at the client. */
export class RenamedInputReader {
  readonly #members: CalledAs['members'];
  #json = '';

  constructor(members: CalledAs['members']) {
    this.#members = members;
  }

  /** Takes more of the JSON text. @returns nothing: a name can be split anywhere */
  push(json: string): string {
    this.#json += json;
    return '';
  }

  /** @returns the arguments with the client's names */
  end(): string {
    return argumentsOf(this.#json, this.#members);
  }
}
