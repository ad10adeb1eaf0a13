/**
 * A place is a value in the client's request, together with its path. Translation code reads places
 * only, so that each note and each refusal names the client's own path.
 */

import { isJsonObject, objectOf } from '../wire/raw-json.js';
import type { CacheControl } from './cache-point.js';
import { isNeutral } from './neutral-values.js';
import type { Note, ProblemCode } from './note.js';
import { RefusedRequestError } from './refusal.js';

const MAX_NOTES = 100;
export const NO_EQUIVALENT = 'no upstream equivalent';

/** The state that all places of one request share. */
export interface Translation {
  readonly notes: Note[];
  /** How many notes did not fit into `notes`. */
  notesLeftOut: number;
  /**
   * The work spent so far on flattening tool schemas with a union or combination at the root,
   * roughly in characters. `root-schema.ts` limits it.
   */
  schemaWork: number;
  /** Where the client wrote each cache point that was accepted so far. */
  readonly cachePlaces: Map<CacheControl, Place>;
}

export class Place {
  readonly t: Translation;
  /** `undefined` where the client wrote nothing. */
  readonly value: unknown;
  readonly #parent: Place | undefined;
  readonly #key: string | number;
  /** The names of the members that were read. */
  #read: string[] | undefined;

  constructor(t: Translation, value: unknown, parent?: Place, key: string | number = '') {
    this.t = t;
    this.value = value;
    this.#parent = parent;
    this.#key = key;
  }

  /**
   * The path of the value, such as `messages[2].content`; empty for the request itself. Unusual
   * keys are quoted and shortened, as in `metadata["odd key"]`, so that they cannot garble a log
   * line.
   */
  get path(): string {
    if (!this.#parent) return '';
    const key = this.#key;
    const { path } = this.#parent;
    if (typeof key === 'number') return `${path}[${key}]`;
    if (!/^\w{1,64}$/.test(key)) return `${path}[${JSON.stringify(key.slice(0, 64))}]`;
    return path === '' ? key : `${path}.${key}`;
  }

  /** A member. A value that is not an object has no members, so all of them are absent. */
  at(name: string): Place {
    (this.#read ??= []).push(name);
    return new Place(this.t, objectOf(this.value)[name], this, name);
  }

  /** A member that the client gave. Null counts as absent. */
  given(name: string): Place | undefined {
    return objectOf(this.value)[name] == null ? undefined : this.at(name);
  }

  /**
   * The newer of two members with the same meaning, or else the older one. If both are given and
   * differ, the older one is noted.
   */
  givenEither(newer: string, older: string): Place | undefined {
    const preferred = this.given(newer);
    const other = this.given(older);
    if (preferred && other && other.value !== preferred.value) {
      other.note('ignored', `${newer} is used`);
    }
    return preferred ?? other;
  }

  object(): this {
    return isJsonObject(this.value) ? this : this.mustBe('an object');
  }

  /**
   * Reads each item of an array. Items that are read as undefined are left out.
   *
   * @param expected - The accepted forms, for the error about a value that is not an array.
   */
  items<Read>(
    read: (item: Place, index: number) => Read | undefined,
    expected = 'an array',
  ): Read[] {
    const { value } = this;
    if (!Array.isArray(value)) return this.mustBe(expected);
    const results: Read[] = [];
    value.forEach((item, index) => {
      const result = read(new Place(this.t, item, this, index), index);
      if (result !== undefined) results.push(result);
    });
    return results;
  }

  /** @param absent - The value for null or an absent member. Without it, both are refused. */
  string(absent?: string): string {
    const value = this.value ?? absent;
    return typeof value === 'string' ? value : this.mustBe('a string');
  }

  nonEmptyString(): string {
    return this.value === '' ? this.mustBe('a non-empty string') : this.string();
  }

  /** @param absent - The value for null or an absent member. Without it, both are refused. */
  boolean(absent?: boolean): boolean {
    const value = this.value ?? absent;
    return typeof value === 'boolean' ? value : this.mustBe('a boolean');
  }

  note(reason: Note['reason'], detail: string): void {
    const { t } = this;
    if (t.notes.length < MAX_NOTES) t.notes.push({ path: this.path, reason, detail });
    else t.notesLeftOut += 1;
  }

  /**
   * Notes the members that nothing has read. Call it last, when all members that the translation
   * uses were read. Null counts as absent, as everywhere in the chat format. So does an empty list,
   * unless it is a direct member of the request, because clients that replay whole answers send
   * many of them (`annotations: []`).
   */
  noteUnread(): void {
    const members = objectOf(this.value);
    for (const name of Object.keys(members)) {
      if (this.#read?.includes(name)) continue;
      const value = members[name];
      const isEmpty = this.#parent && Array.isArray(value) && value.length === 0;
      if (value == null || isEmpty || isNeutral(name, value)) continue;
      new Place(this.t, value, this, name).note('ignored', NO_EQUIVALENT);
    }
  }

  /** Refuses the request because of this value. */
  refuse(complaint: string, code: ProblemCode = 'invalid_value'): never {
    const { path } = this;
    const message = `${path || 'the body'}: ${complaint}`;
    throw new RefusedRequestError({ message, param: path || null, code });
  }

  /** Refuses a value that is absent or not as expected. */
  mustBe(expected: string, code: ProblemCode = 'invalid_type'): never {
    const { value } = this;
    const isMissing = value == null && this.#parent;
    const complaint = `must be ${expected}, got ${quote(value)}`;
    return this.refuse(complaint, isMissing ? 'missing_required_parameter' : code);
  }
}

/** Quotes a client's value for a message, short and on one line. */
export function quote(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, 64));
  if (Array.isArray(value)) return 'an array';
  return isJsonObject(value) ? 'an object' : String(value);
}
