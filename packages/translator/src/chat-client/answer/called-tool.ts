/** Reads the calls in a native message. */

import { type JsonObject, objectOf, parseObject, stringOf } from '../../wire/raw-json.js';

/** A tool call in the chat format. */
export interface CalledTool {
  readonly id: string;
  readonly name: string;
}

/** The id and the name of a `tool_use` block; undefined unless both are non-empty strings. */
export function calledTool({ id, name }: JsonObject): CalledTool | undefined {
  const called = { id: stringOf(id), name: stringOf(name) };
  return called.id && called.name ? called : undefined;
}

/** The arguments of a call. A null or absent input is an empty object. */
export function argumentsOf(input: string | undefined): string {
  return input === undefined || input === 'null' ? '{}' : input;
}

/**
 * The text of a call of a custom tool, which the model wrote as the only argument of a function.
 * Arguments of any other form are passed on as they are.
 */
export function customInput(json: string): string {
  const { input } = objectOf(parseObject(json));
  return typeof input === 'string' ? input : json;
}
