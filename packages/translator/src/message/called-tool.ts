/** Reads the calls in a native message. */

import type { CalledAs } from '../wire/called-as.js';
import { renameMembers } from '../wire/member-names.js';
import { type JsonObject, objectOf, parseObject, stringOf } from '../wire/raw-json.js';

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

/** How a call is returned to the client. */
export function calledAs(
  { name }: CalledTool,
  tools: ReadonlyMap<string, CalledAs> | undefined,
): CalledAs {
  return tools?.get(name) ?? { type: 'function', name };
}

/**
 * The arguments of a call. A null or absent input is an empty object.
 *
 * @param members - The client's names of arguments, if they have other names upstream.
 */
export function argumentsOf(input: string | undefined, members?: CalledAs['members']): string {
  const text = input === undefined || input === 'null' ? '{}' : input;
  return members ? renameMembers(text, members) : text;
}

/**
 * The text of a call of a custom tool, which the model wrote as the only argument of a function.
 * Arguments of any other form are passed on as they are.
 */
export function customInput(json: string): string {
  const { input } = objectOf(parseObject(json));
  return typeof input === 'string' ? input : json;
}
