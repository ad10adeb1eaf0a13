/**
 * Tools, and which of them the model may or must call.
 * https://platform.claude.com/docs/en/agents-and-tools/tool-use/implement-tool-use
 */

import { CACHE_MEMBERS, readCacheControl } from './cache-control.js';
import type { InputSchema, NativeTool } from './native-request.js';
import { isJsonObject, type JsonObject } from './raw-json.js';
import { normalizeToolChoice, type NativeToolChoice } from './tool-choice.js';
import { isAllowedToken } from './tool-ids.js';
import type { ModelTraits } from './traits.js';
import {
  noteUnknownMembers,
  quote,
  readArray,
  readBoolean,
  readObject,
  readString,
  refuse,
  RefusedRequestError,
  type Translation,
} from './translation.js';

export interface ToolUse {
  /** Empty when the model is offered none. */
  readonly tools: NativeTool[];
  readonly toolChoice: NativeToolChoice | undefined;
  /** What the system prompt has to say where `tool_choice` cannot. */
  readonly instruction: string | undefined;
  /** The tools came as `functions`: calls go back as `function_call`. */
  readonly isLegacy: boolean;
}

const TOOL_MEMBERS = new Set(['type', 'function', ...CACHE_MEMBERS]);
const FUNCTION_MEMBERS = new Set(['name', 'description', 'parameters', 'strict', ...CACHE_MEMBERS]);

/**
 * Reads `tools`, `tool_choice` and `parallel_tool_calls`, or the old `functions` and
 * `function_call`.
 */
export function translateTools(
  t: Translation,
  chat: JsonObject,
  traits: ModelTraits,
  calledTools: ReadonlySet<string>,
): ToolUse {
  const { tools: offered, isLegacy } = readTools(t, chat);
  const choice = readChoice(t, chat, offered);
  if (offered.length === 0) return { ...historyOnly(t, calledTools), isLegacy };

  const tools = allowedOnly(t, offered, choice?.allowedTools);
  const wanted = withoutParallelCalls(choice?.toolChoice, isSerial(chat, isLegacy));
  if (traits.forcedToolChoice === 'accepted' || wanted === undefined || !isForced(wanted)) {
    return { tools, toolChoice: wanted, instruction: undefined, isLegacy };
  }
  return { ...persuade(t, tools, wanted, choiceField(chat)), isLegacy };
}

function readTools(t: Translation, chat: JsonObject): { tools: NativeTool[]; isLegacy: boolean } {
  const { tools, functions } = chat;
  if (tools != null) {
    if (functions != null) t.notes.take('functions', 'ignored', 'tools are used');
    return { tools: readList(t, tools, 'tools', readTool), isLegacy: false };
  }
  if (functions == null) return { tools: [], isLegacy: false };
  const read = readList(t, functions, 'functions', readFunction);
  return { tools: read, isLegacy: read.length > 0 };
}

type ReadTool = (t: Translation, value: unknown, path: string) => { tool: NativeTool; at: string };

function readList(t: Translation, value: unknown, path: string, readOne: ReadTool): NativeTool[] {
  const names = new Set<string>();
  return readArray(value, path).map((item, index) => {
    const { tool, at } = readOne(t, item, `${path}[${String(index)}]`);
    if (names.has(tool.name)) {
      refuse(`${at}.name`, 'invalid_value', `there are two tools named ${tool.name}`);
    }
    names.add(tool.name);
    return tool;
  });
}

function readTool(t: Translation, value: unknown, path: string): { tool: NativeTool; at: string } {
  const written = readObject(value, path);
  const { type } = written;
  if (type !== 'function') {
    const complaint = `tool type ${quote(type)} is not supported, only "function"`;
    refuse(`${path}.type`, 'unsupported_value', complaint);
  }
  noteUnknownMembers(t, written, TOOL_MEMBERS, path);
  const { tool, at } = readFunction(t, written['function'], `${path}.function`);
  const control = readCacheControl(t, written, path);
  if (control !== undefined) tool.cache_control = control;
  return { tool, at };
}

function readFunction(
  t: Translation,
  value: unknown,
  path: string,
): { tool: NativeTool; at: string } {
  const written = readObject(value, path);
  const { name, strict } = written;
  if (typeof name !== 'string' || !isAllowedToken(name)) {
    const code = name == null ? 'missing_required_parameter' : 'invalid_value';
    refuse(`${path}.name`, code, `must be 1 to 64 letters, digits, _ or -, got ${quote(name)}`);
  }
  const description = readString(written['description'] ?? '', `${path}.description`);
  if (strict === true) {
    t.notes.take(`${path}.strict`, 'dropped', 'upstream refuses schemas that strict mode allows');
  }
  noteUnknownMembers(t, written, FUNCTION_MEMBERS, path);
  const tool: NativeTool = {
    name,
    ...(description === '' ? {} : { description }),
    input_schema: inputSchema(written['parameters'], `${path}.parameters`),
  };
  const control = readCacheControl(t, written, path);
  if (control !== undefined) tool.cache_control = control;
  return { tool, at: path };
}

/** The schema itself, its keys in the client's order, with the `type` that upstream demands. */
function inputSchema(parameters: unknown, path: string): InputSchema {
  if (parameters == null) return emptySchema();
  const schema = readObject(parameters, path);
  const { type } = schema;
  if (type == null) {
    return Object.keys(schema).length === 0 ? emptySchema() : { ...schema, type: 'object' };
  }
  if (type !== 'object') {
    refuse(`${path}.type`, 'invalid_value', `must be "object", got ${quote(type)}`);
  }
  return { ...schema, type };
}

function emptySchema(): InputSchema {
  return { type: 'object', properties: {} };
}

interface Choice {
  readonly toolChoice: NativeToolChoice;
  readonly allowedTools?: readonly string[];
}

function readChoice(
  t: Translation,
  chat: JsonObject,
  tools: readonly NativeTool[],
): Choice | undefined {
  const path = choiceField(chat);
  const value = chat[path];
  if (value == null) return undefined;
  if (path === 'tool_choice' && chat['function_call'] != null) {
    t.notes.take('function_call', 'ignored', 'tool_choice is used');
  }
  const choice = path === 'tool_choice' ? fromToolChoice(t, value) : fromFunctionCall(value);
  const { toolChoice, allowedTools } = choice;
  const named = toolChoice.type === 'tool' ? [toolChoice.name] : (allowedTools ?? []);
  const names = new Set(tools.map((tool) => tool.name));
  const unknown = named.find((name) => !names.has(name));
  if (unknown !== undefined) {
    refuse(path, 'invalid_value', `names ${quote(unknown)}, which is not among the tools`);
  }
  if (tools.length > 0) return choice;
  if (isForced(toolChoice)) {
    refuse(path, 'invalid_value', 'demands a call, but there are no tools');
  }
  t.notes.take(path, 'dropped', 'there are no tools to choose from');
  return undefined;
}

function choiceField(chat: JsonObject): 'tool_choice' | 'function_call' {
  return chat['tool_choice'] == null ? 'function_call' : 'tool_choice';
}

function fromToolChoice(t: Translation, value: unknown): Choice {
  const normalized = normalizeToolChoice(value);
  if (normalized.outcome === 'refused') throw new RefusedRequestError(normalized.problem);
  return normalized.outcome === 'native' ? { toolChoice: copyNative(t, value) } : normalized;
}

const NATIVE_CHOICE_MEMBERS = new Set(['type', 'name', 'disable_parallel_tool_use']);

/** A native choice with only the members that are known: upstream refuses others. */
function copyNative(t: Translation, value: unknown): NativeToolChoice {
  const choice = readObject(value, 'tool_choice');
  noteUnknownMembers(t, choice, NATIVE_CHOICE_MEMBERS, 'tool_choice');
  const { type, name, disable_parallel_tool_use: isSerial } = choice;
  if (type === 'none') return { type };
  const rest = isSerial === true ? { disable_parallel_tool_use: true } : {};
  return type === 'tool' && typeof name === 'string'
    ? { type, name, ...rest }
    : { type: type === 'any' ? 'any' : 'auto', ...rest };
}

function fromFunctionCall(value: unknown): Choice {
  if (value === 'none' || value === 'auto') return { toolChoice: { type: value } };
  const name = isJsonObject(value) ? value['name'] : undefined;
  if (typeof name !== 'string') {
    refuse('function_call', 'invalid_value', 'must be "none", "auto" or {"name": ...}');
  }
  return { toolChoice: { type: 'tool', name } };
}

function isForced(choice: NativeToolChoice): boolean {
  return choice.type === 'any' || choice.type === 'tool';
}

/** Past calls need definitions of what they called, even when the model may call nothing now. */
function historyOnly(t: Translation, calledTools: ReadonlySet<string>): Omit<ToolUse, 'isLegacy'> {
  if (calledTools.size === 0) return { tools: [], toolChoice: undefined, instruction: undefined };
  t.notes.take('tools', 'rewritten', 'defined what past calls name, for none to be called');
  const tools = [...calledTools].map((name) => ({ name, input_schema: emptySchema() }));
  return { tools, toolChoice: { type: 'none' }, instruction: undefined };
}

function allowedOnly(
  t: Translation,
  tools: NativeTool[],
  allowed: readonly string[] | undefined,
): NativeTool[] {
  if (allowed === undefined) return tools;
  const names = new Set(allowed);
  const kept = tools.filter((tool) => names.has(tool.name));
  if (kept.length < tools.length) {
    t.notes.take('tools', 'dropped', 'only the tools that tool_choice allows are sent');
  }
  return kept;
}

/** Whether at most one call is wanted. The old format has room for one. */
function isSerial(chat: JsonObject, isLegacy: boolean): boolean {
  return !readBoolean(chat['parallel_tool_calls'] ?? true, 'parallel_tool_calls') || isLegacy;
}

function withoutParallelCalls(
  choice: NativeToolChoice | undefined,
  isSerialWanted: boolean,
): NativeToolChoice | undefined {
  if (!isSerialWanted || choice?.type === 'none') return choice;
  return { ...(choice ?? { type: 'auto' }), disable_parallel_tool_use: true };
}

/**
 * For models that refuse a forced choice: offer only what is demanded, and say so. Not a guarantee.
 */
function persuade(
  t: Translation,
  tools: NativeTool[],
  choice: NativeToolChoice,
  path: string,
): Omit<ToolUse, 'isLegacy'> {
  t.notes.take(path, 'rewritten', 'asked for in the system prompt: the model cannot be forced');
  const toolChoice: NativeToolChoice = {
    type: 'auto',
    ...('disable_parallel_tool_use' in choice && choice.disable_parallel_tool_use === true
      ? { disable_parallel_tool_use: true }
      : {}),
  };
  if (choice.type !== 'tool') {
    const instruction = 'In this reply you must call at least one of the provided tools.';
    return { tools, toolChoice, instruction };
  }
  return {
    tools: tools.filter((tool) => tool.name === choice.name),
    toolChoice,
    instruction: `In this reply you must call the tool ${choice.name}.`,
  };
}
