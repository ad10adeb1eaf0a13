/**
 * Native tools and `tool_choice`, to those of the chat format.
 * https://platform.claude.com/docs/en/agents-and-tools/tool-use/implement-tool-use
 */

import type { JsonObject } from '../raw-json.js';
import { isAllowedToken } from '../tool-ids.js';
import {
  noteUnknownMembers,
  quote,
  readArray,
  readBoolean,
  readObject,
  readString,
  refuse,
} from '../translation.js';
import type { ChatTool, ChatToolChoice } from './chat-request.js';
import { cacheMembers, type NativeTranslation } from './native-source.js';

export interface ChatToolUse {
  readonly tools?: readonly ChatTool[];
  readonly tool_choice?: ChatToolChoice;
  readonly parallel_tool_calls?: false;
}

const TOOL_MEMBERS = new Set([
  'type',
  'name',
  'description',
  'input_schema',
  'strict',
  'cache_control',
]);
/** Tools of the provider's own carry the date of their version, but for a few aliases. */
const PROVIDER_TOOL = /_\d{8}$|^tool_search_tool_|^mcp_toolset$/;
const CHOICE_MEMBERS = new Set(['type', 'name', 'disable_parallel_tool_use']);

/**
 * Tools that the provider runs itself, or whose schema only its models know, are left out and told; a
 * choice that demands one of them, or anything while none is left, is refused.
 */
export function translateToolUse(t: NativeTranslation, native: JsonObject): ChatToolUse {
  const names = new Set<string>();
  const tools: ChatTool[] = [];
  readArray(native['tools'] ?? [], 'tools').forEach((value, index) => {
    const path = `tools[${String(index)}]`;
    const tool = readTool(t, readObject(value, path), path);
    if (tool === undefined) return;
    const { name } = tool.function;
    if (names.has(name))
      refuse(`${path}.name`, 'invalid_value', `there are two tools named ${name}`);
    names.add(name);
    tools.push(tool);
  });
  const choice = native['tool_choice'];
  return {
    ...(tools.length > 0 ? { tools } : {}),
    ...(choice == null ? {} : readChoice(t, choice, names)),
  };
}

function readTool(t: NativeTranslation, tool: JsonObject, path: string): ChatTool | undefined {
  const { type, name, description, strict } = tool;
  if (type != null && type !== 'custom') {
    if (typeof type !== 'string' || !PROVIDER_TOOL.test(type)) {
      refuse(`${path}.type`, 'unsupported_value', `${quote(type)} is no type of tool`);
    }
    t.notes.take(path, 'dropped', `a tool of type ${quote(type)} has no chat equivalent`);
    return undefined;
  }
  if (typeof name !== 'string' || !isAllowedToken(name)) {
    const code = name == null ? 'missing_required_parameter' : 'invalid_value';
    refuse(`${path}.name`, code, `must be 1 to 64 letters, digits, _ or -, got ${quote(name)}`);
  }
  noteUnknownMembers(t, tool, TOOL_MEMBERS, path);
  const text = readString(description ?? '', `${path}.description`);
  const isStrict = readBoolean(strict ?? false, `${path}.strict`);
  return {
    type: 'function',
    function: {
      name,
      ...(text === '' ? {} : { description: text }),
      parameters: { json: t.rawObject(`${path}.input_schema`) },
      ...(isStrict ? { strict: true } : {}),
    },
    ...cacheMembers(t, tool, path),
  };
}

function readChoice(
  t: NativeTranslation,
  value: unknown,
  names: ReadonlySet<string>,
): Omit<ChatToolUse, 'tools'> {
  const choice = readObject(value, 'tool_choice');
  noteUnknownMembers(t, choice, CHOICE_MEMBERS, 'tool_choice');
  const { type, name, disable_parallel_tool_use: isSerial } = choice;
  const serial = readBoolean(isSerial ?? false, 'tool_choice.disable_parallel_tool_use');
  const parallel = serial && type !== 'none' ? { parallel_tool_calls: false as const } : {};
  if (type === 'tool') {
    const wanted = readString(name, 'tool_choice.name');
    if (!names.has(wanted)) {
      refuse('tool_choice.name', 'invalid_value', `${quote(wanted)} is not among the tools`);
    }
    return { tool_choice: { type: 'function', function: { name: wanted } }, ...parallel };
  }
  if (type !== 'auto' && type !== 'any' && type !== 'none') {
    const complaint = `must be "auto", "any", "tool" or "none", got ${quote(type)}`;
    refuse('tool_choice.type', 'invalid_value', complaint);
  }
  if (names.size > 0) return { tool_choice: type === 'any' ? 'required' : type, ...parallel };
  if (type === 'any') {
    refuse('tool_choice', 'invalid_value', 'demands a call, but there are no tools');
  }
  t.notes.take('tool_choice', 'dropped', 'there are no tools to choose from');
  return {};
}
