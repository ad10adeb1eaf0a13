/**
 * Turns a `tool_choice` of any form into the native one. All three endpoints use this function, so
 * that a choice has the same meaning in each format. There is one exception: the native endpoint
 * offers all tools, even if `allowed_tools` names only some of them. An empty list forbids all
 * calls on every endpoint.
 */

import { isJsonObject, type JsonObject, objectOf } from '../wire/raw-json.js';
import type { RequestProblem } from './note.js';

export type NativeToolChoice =
  | { readonly type: 'auto' | 'any'; readonly disable_parallel_tool_use?: boolean | undefined }
  | {
      readonly type: 'tool';
      readonly name: string;
      readonly disable_parallel_tool_use?: boolean | undefined;
    }
  | { readonly type: 'none' };

export type ToolChoiceNormalization =
  /** Already a native object: leave it and all its members unchanged. */
  | { readonly outcome: 'native' }
  | {
      readonly outcome: 'normalized';
      readonly toolChoice: NativeToolChoice;
      /** The names of the tools that may be called, if the client listed some. */
      readonly allowedTools?: readonly string[];
    }
  | { readonly outcome: 'refused'; readonly problem: RequestProblem };

/**
 * Reads a `tool_choice` that is present. Accepts the native objects, the strings `auto`, `none`,
 * `required` and `any`, and OpenAI's objects of type `function`, `custom`, `required` and
 * `allowed_tools`, as its chat format and its responses format spell them.
 *
 * `allowed_tools` becomes `auto` or `any` according to its mode, and `none` when the list is empty.
 * The caller has to offer only the listed tools.
 *
 * @example
 * normalizeToolChoice('required'); // {outcome: 'normalized', toolChoice: {type: 'any'}}
 */
export function normalizeToolChoice(value: unknown): ToolChoiceNormalization {
  if (isNativeWord(value)) return normalized({ type: value });
  const choice = objectOf(value);
  if (value === 'required' || choice['type'] === 'required') return normalized({ type: 'any' });
  if (isNativeWord(choice['type'])) return { outcome: 'native' };
  switch (choice['type']) {
    case 'tool':
      return isName(choice['name']) ? { outcome: 'native' } : refused('.name');
    case 'function':
    case 'custom': {
      const name = toolName(choice);
      return isName(name) ? normalized({ type: 'tool', name }) : refused(`.${choice['type']}.name`);
    }
    case 'allowed_tools':
      return ofAllowedTools(choice);
    default:
      return refused(isJsonObject(value) ? '.type' : '', ANY_CHOICE);
  }
}

function isNativeWord(word: unknown): word is 'auto' | 'any' | 'none' {
  return word === 'auto' || word === 'any' || word === 'none';
}

function ofAllowedTools(value: JsonObject): ToolChoiceNormalization {
  const nested = value['allowed_tools'];
  const [{ mode, tools }, path] = isJsonObject(nested) ? [nested, '.allowed_tools'] : [value, ''];
  if (mode !== 'auto' && mode !== 'required') return refused(`${path}.mode`);
  if (!Array.isArray(tools)) return refused(`${path}.tools`);
  const names = tools.map((tool) => (isJsonObject(tool) ? toolName(tool) : undefined));
  if (!names.every(isName)) {
    const member = `${path}.tools[${names.findIndex((name) => !isName(name))}]`;
    return refused(member, 'must be a function or custom tool with a name');
  }
  if (names.length === 0) return normalized({ type: 'none' });
  return normalized({ type: mode === 'required' ? 'any' : 'auto' }, names);
}

/** The name in a choice of type `function` or `custom`; undefined for other types. */
function toolName(value: JsonObject): unknown {
  const { type } = value;
  if (type !== 'function' && type !== 'custom') return undefined;
  const nested = value[type];
  return isJsonObject(nested) ? nested['name'] : value['name'];
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

function normalized(
  toolChoice: NativeToolChoice,
  allowedTools?: readonly string[],
): ToolChoiceNormalization {
  return { outcome: 'normalized', toolChoice, ...(allowedTools && { allowedTools }) };
}

const ANY_CHOICE =
  'must be "auto", "none", "any", "required" ' +
  'or an object of type tool, function, custom or allowed_tools';

function refused(member: string, complaint = 'is not valid'): ToolChoiceNormalization {
  const param = `tool_choice${member}`;
  const message = `${param}: ${complaint}`;
  return { outcome: 'refused', problem: { message, param, code: 'invalid_value' } };
}
