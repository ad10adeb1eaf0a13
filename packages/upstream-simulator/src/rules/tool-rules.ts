/** Rules for `tools` and `tool_choice`. */

import { KNOWN_TOOL_TYPES } from '../models/known-names.js';
import { asArray, asObject } from '../message/message.js';
import type { JsonObject } from '../message/message.js';
import { formatSchemaProblem } from '../schemas/output-format.js';
import { strictToolsProblem } from '../schemas/schema-limits.js';
import type { Rule } from './rule.js';

const TOOL_NAME = /^[a-zA-Z0-9_-]{1,128}$/;
const PROPERTY_KEY = /^[a-zA-Z0-9_.-]{1,64}$/;
const CHOICES = ['auto', 'any', 'tool', 'none'];

/**
 * Types of tools that a model does not have. Such a model has the toolset of the same name instead.
 * https://platform.claude.com/docs/en/models/opus-5-5/migration-guide
 */
const WITHOUT_TOOLS = new Map([
  ['claude-opus-5-5', ['computer_20251124']],
  ['claude-sonnet-5-5', ['computer_20251124']],
]);

export const toolTypes: Rule = ({ tools }) => {
  for (const [index, value] of asArray(tools).entries()) {
    const { type } = asObject(value);
    if (type === undefined || KNOWN_TOOL_TYPES.some((known) => known === type)) continue;
    const expected = KNOWN_TOOL_TYPES.map((known) => `'${known}'`).join(', ');
    return `tools.${String(index)}: Input tag '${textOf(type)}' found using 'type' does not match any of the expected tags: ${expected}`;
  }
  return undefined;
};

export const modelTools: Rule = ({ tools }, { model }) => {
  const lacks = WITHOUT_TOOLS.get(model) ?? [];
  const types = asArray(tools).map((tool) => String(asObject(tool)['type']));
  const refused = lacks.filter((type) => types.includes(type));
  if (refused.length === 0) return undefined;
  const others = KNOWN_TOOL_TYPES.filter((type) => !lacks.includes(type));
  return `'${model}' does not support tool types: ${refused.join(', ')}. Did you mean one of ${others.join(', ')}?`;
};

/** The definitions of the client's own tools. */
export const toolDefinitions: Rule = ({ tools }) => {
  for (const [index, value] of asArray(tools).entries()) {
    const problem = definitionProblem(asObject(value));
    if (problem !== undefined) return `tools.${String(index)}.custom.${problem}`;
  }
  return undefined;
};

export const uniqueTools: Rule = ({ tools }) => {
  const names = namesOf(tools);
  return new Set(names).size < names.length ? 'tools: Tool names must be unique.' : undefined;
};

export const strictTools: Rule = ({ tools }) => strictToolsProblem(asArray(tools));

export const toolChoice: Rule = ({ tools, tool_choice: choice }) => {
  const { type, name } = asObject(choice);
  const names = namesOf(tools);
  if (choice !== undefined && !CHOICES.includes(String(type))) {
    const expected = CHOICES.map((kind) => `'${kind}'`).join(', ');
    return `tool_choice: Input tag does not match any of the expected tags: ${expected}`;
  }
  if (type !== undefined && names.length === 0) {
    return 'tool_choice: tool_choice may only be specified while providing tools';
  }
  return type === 'tool' && !names.includes(String(name))
    ? `tool_choice: Tool '${String(name)}' not found in provided tools`
    : undefined;
};

/** Models that cannot be forced to call a tool. */
export const forcedTools: Rule = ({ tool_choice: choice }, { traits }) => {
  const { type } = asObject(choice);
  return (type === 'any' || type === 'tool') && traits?.forcedToolChoice === 'refused'
    ? 'tool_choice: type "tool" and "any" are not supported for this model.'
    : undefined;
};

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function namesOf(tools: unknown): readonly string[] {
  return asArray(tools).map((tool) => String(asObject(tool)['name']));
}

function definitionProblem(tool: JsonObject): string | undefined {
  const { type, name } = tool;
  if (type !== undefined && type !== 'custom') return undefined;
  if (!TOOL_NAME.test(String(name))) {
    return `name: String should match pattern '${TOOL_NAME.source}'`;
  }
  if (asObject(tool['input_schema'])['type'] !== 'object') {
    return 'input_schema.type: Field required';
  }
  const problem = inputSchemaProblem(tool);
  return problem === undefined ? undefined : `input_schema: ${problem}`;
}

/**
 * The API guarantees the schema of a strict tool, so it applies the rules for schemas of output
 * formats.
 */
function inputSchemaProblem(tool: JsonObject): string | undefined {
  const schema = asObject(tool['input_schema']);
  if (['oneOf', 'allOf', 'anyOf'].some((name) => schema[name] !== undefined)) {
    return 'input_schema does not support oneOf, allOf, or anyOf at the top level';
  }
  // The API checks only the names at the root.
  if (!Object.keys(asObject(schema['properties'])).every((name) => PROPERTY_KEY.test(name))) {
    return `properties: Property keys should match pattern '${PROPERTY_KEY.source}'`;
  }
  return tool['strict'] === true ? formatSchemaProblem(schema) : undefined;
}
