/**
 * What the translators of a request's parts share: where they tell what could not be carried, and
 * how they refuse. One object per request, never shared between requests.
 */

import type { CacheControl } from './native-request.js';
import type { Note, RequestProblem } from './note.js';
import { isJsonObject, type JsonObject } from './raw-json.js';

export interface Translation {
  readonly notes: NoteTaker;
  /** Where the client wrote each cache point that was accepted so far. */
  readonly cachePaths: Map<CacheControl, string>;
}

export function createTranslation(): Translation {
  return { notes: new NoteTaker(), cachePaths: new Map() };
}

/** The words of OpenAI's own `error.code` for bad requests. */
export type ProblemCode =
  'missing_required_parameter' | 'invalid_type' | 'invalid_value' | 'unsupported_value';

/**
 * Thrown by any part of the translation to refuse the whole, and turned into a value by
 * `translateRequest`: it never leaves this package.
 */
export class RefusedRequestError extends Error {
  readonly problem: RequestProblem;

  constructor(problem: RequestProblem) {
    super(problem.message);
    this.name = 'RefusedRequestError';
    this.problem = problem;
  }
}

/** Refuses the request because of one field. The message starts with the field's path. */
export function refuse(param: string, code: ProblemCode, complaint: string): never {
  throw new RefusedRequestError({ message: `${param}: ${complaint}`, param, code });
}

export function refuseType(param: string, expected: string, value: unknown): never {
  const code = value == null ? 'missing_required_parameter' : 'invalid_type';
  refuse(param, code, `must be ${expected}, got ${quote(value)}`);
}

export function readObject(value: unknown, path: string): JsonObject {
  return isJsonObject(value) ? value : refuseType(path, 'an object', value);
}

export function readArray(value: unknown, path: string): readonly unknown[] {
  return Array.isArray(value) ? value : refuseType(path, 'an array', value);
}

export function readString(value: unknown, path: string): string {
  return typeof value === 'string' ? value : refuseType(path, 'a string', value);
}

export function readBoolean(value: unknown, path: string): boolean {
  return typeof value === 'boolean' ? value : refuseType(path, 'a boolean', value);
}

const MAX_NOTES = 100;

/** Collects notes up to a limit; beyond it, one last note says how many more there were. */
class NoteTaker {
  readonly #notes: Note[] = [];
  #leftOut = 0;

  take(path: string, reason: Note['reason'], detail: string): void {
    if (this.#notes.length < MAX_NOTES) this.#notes.push({ path, reason, detail });
    else this.#leftOut += 1;
  }

  finish(): readonly Note[] {
    if (this.#leftOut === 0) return this.#notes;
    const detail = `${String(this.#leftOut)} more notes were left out`;
    return [...this.#notes, { path: '', reason: 'dropped', detail }];
  }
}

/**
 * Tells of members that nothing reads. Null counts as absent, as everywhere in the chat format, and
 * so does an empty list, which clients that replay whole answers send a lot of (`annotations: []`).
 */
export function noteUnknownMembers(
  { notes }: Translation,
  object: JsonObject,
  known: ReadonlySet<string>,
  path: string,
): void {
  for (const key of Object.keys(object)) {
    const value = object[key];
    if (known.has(key) || value == null || (Array.isArray(value) && value.length === 0)) continue;
    notes.take(memberPath(path, key), 'ignored', 'no upstream equivalent');
  }
}

const PLAIN_KEY = /^\w{1,64}$/;

/**
 * `path.key`, or `path["key"]` with odd keys quoted and cut, so that no key can garble a log line.
 */
export function memberPath(path: string, key: string): string {
  if (!PLAIN_KEY.test(key)) return `${path}[${JSON.stringify(key.slice(0, 64))}]`;
  return path === '' ? key : `${path}.${key}`;
}

/** A value of the client's, quoted for a message: short, and on one line. */
export function quote(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, 64));
  if (Array.isArray(value)) return 'an array';
  return typeof value === 'object' && value !== null ? 'an object' : String(value);
}
