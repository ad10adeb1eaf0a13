/** Reads the inputs of tool calls that a user's text gives. */

import { isObject } from './message.js';
import type { JsonObject } from './message.js';

const LINE = /^tool:(\S+) (\{.*\})$/gm;

/**
 * Finds the line `tool:NAME {…}` of a tool. Its JSON object is the input that the tool is called
 * with.
 *
 * @returns `undefined` if there is no such line, or if its `{…}` is not JSON
 */
export function promptedInput(text: string, tool: string): JsonObject | undefined {
  const line = [...text.matchAll(LINE)].find(([, name]) => name === tool);
  try {
    const input: unknown = line?.[2] === undefined ? undefined : JSON.parse(line[2]);
    return isObject(input) ? input : undefined;
  } catch {
    return undefined;
  }
}
