/**
 * `tool_choice` in any form a client may send, to the native one. Used on both endpoints, so that a
 * choice means the same whichever format it came in.
 */

import type { RequestProblem } from './note.js';
import { isJsonObject, type JsonObject } from './raw-json.js';

export type NativeToolChoice =
  | { readonly type: 'auto' | 'any'; readonly disable_parallel_tool_use?: boolean }
  | { readonly type: 'tool'; readonly name: string; readonly disable_parallel_tool_use?: boolean }
  | { readonly type: 'none' };

export type ToolChoiceNormalization =
  /** Already a native object: leave it, and whatever else it holds, untouched. */
  | { readonly outcome: 'native' }
  | {
      readonly outcome: 'normalized';
      readonly toolChoice: NativeToolChoice;
      /** The tools that may be called, when the client named some. */
      readonly allowedTools?: readonly string[];
    }
  | { readonly outcome: 'refused'; readonly problem: RequestProblem };

/**
 * Reads a `tool_choice` that is present: the native objects, the strings `auto`, `none`, `required`
 * and `any`, and OpenAI's objects of type `function`, `required` and `allowed_tools` (of its chat
 * and of its responses format).
 *
 * `allowed_tools` becomes `auto` or `any` according to its mode, and `none` when the list is empty;
 * offering only the listed tools is up to the caller.
 *
 * @example
 * normalizeToolChoice('required'); // {outcome: 'normalized', toolChoice: {type: 'any'}}
 */
export function normalizeToolChoice(value: unknown): ToolChoiceNormalization {
  if (typeof value === 'string') {
    const toolChoice = ofWord(value);
    return toolChoice === undefined
      ? refused('tool_choice')
      : { outcome: 'normalized', toolChoice };
  }
  if (!isJsonObject(value)) return refused('tool_choice');
  switch (value['type']) {
    case 'auto':
    case 'any':
    case 'none':
      return { outcome: 'native' };
    case 'tool':
      return isName(value['name']) ? { outcome: 'native' } : refused('tool_choice.name');
    case 'required':
      return { outcome: 'normalized', toolChoice: { type: 'any' } };
    case 'function': {
      const name = functionName(value);
      return name === undefined
        ? refused('tool_choice.function.name')
        : { outcome: 'normalized', toolChoice: { type: 'tool', name } };
    }
    case 'allowed_tools':
      return ofAllowedTools(value);
    default:
      return refused('tool_choice.type');
  }
}

function ofWord(word: string): NativeToolChoice | undefined {
  switch (word) {
    case 'auto':
    case 'none':
    case 'any':
      return { type: word };
    case 'required':
      return { type: 'any' };
    default:
      return undefined;
  }
}

function ofAllowedTools(value: JsonObject): ToolChoiceNormalization {
  const nested = value['allowed_tools'];
  const { mode, tools } = isJsonObject(nested) ? nested : value;
  const path = isJsonObject(nested) ? 'tool_choice.allowed_tools' : 'tool_choice';
  if (mode !== 'auto' && mode !== 'required') return refused(`${path}.mode`);
  if (!Array.isArray(tools)) return refused(`${path}.tools`);
  const allowedTools: string[] = [];
  for (const [index, tool] of tools.entries()) {
    const name = isJsonObject(tool) && tool['type'] === 'function' ? functionName(tool) : undefined;
    if (name === undefined) return refused(`${path}.tools[${String(index)}]`);
    allowedTools.push(name);
  }
  if (allowedTools.length === 0) {
    return { outcome: 'normalized', toolChoice: { type: 'none' } };
  }
  const type = mode === 'required' ? 'any' : 'auto';
  return { outcome: 'normalized', toolChoice: { type }, allowedTools };
}

function functionName(value: JsonObject): string | undefined {
  const nested = value['function'];
  const name = isJsonObject(nested) ? nested['name'] : value['name'];
  return isName(name) ? name : undefined;
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

function refused(param: string): ToolChoiceNormalization {
  const message =
    `Invalid ${param}: tool_choice must be "auto", "none", "required", "any", an object of one of these types, ` +
    '{"type":"tool","name":...}, {"type":"function","function":{"name":...}} or {"type":"allowed_tools",...}.';
  return { outcome: 'refused', problem: { message, param, code: 'invalid_value' } };
}
