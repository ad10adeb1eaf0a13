/**
 * Reads a file of JSON lines. Lines that do not begin an object are skipped, because the gateway
 * prints its addresses into the same output as its log when it starts.
 */

import { createReadStream } from 'node:fs';
import { reasonOf } from '../base/error-code.js';
import { parseJson } from '../base/parse-json.js';
import { invalidInput } from '../endpoints/operation-error.js';

export interface JsonLine {
  /** The file and the number of the line, for error texts. */
  readonly place: string;
  /** `undefined` for a line that begins an object but is not JSON. */
  readonly json: unknown;
}

/** @throws {OperationError} The file cannot be read. */
export async function* readJsonLines(path: string): AsyncGenerator<JsonLine, undefined> {
  let number = 0;
  for await (const text of readLines(path)) {
    number += 1;
    if (!text.trimStart().startsWith('{')) continue;
    yield { place: `${path}:${String(number)}`, json: parseJson(text) };
  }
  return undefined;
}

/** Whether a line is one of the gateway's log. */
export function isLogLine(json: unknown): boolean {
  return typeof json === 'object' && json !== null && 'level' in json && 'msg' in json;
}

/**
 * Does not use `readline`: in Node 24 it also ends a line at U+2028, which JSON text may contain.
 */
async function* readLines(path: string): AsyncGenerator<string, undefined> {
  let rest = '';
  const chunks = createReadStream(path, 'utf8')[Symbol.asyncIterator]() as AsyncIterator<string>;
  for (;;) {
    const chunk = await chunks.next().catch((error: unknown) => {
      const reason = reasonOf(error);
      throw invalidInput(`${path}: ${reason}`);
    });
    if (chunk.done === true) break;
    const lines = (rest + chunk.value).split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
  yield rest;
  return undefined;
}
