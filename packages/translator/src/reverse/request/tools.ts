/**
 * Translates native tools and `tool_choice` to those of the chat format.
 * https://platform.claude.com/docs/en/agents-and-tools/tool-use/implement-tool-use
 */

import { type Place, quote } from '../../reading/place.js';
import {
  isAllowedToken,
  MAX_CALL_ID,
  MAX_TOOL_NAME,
  toAllowedToken,
} from '../../reading/tool-ids.js';
import type { ChatTool, ChatToolChoice } from './chat-request.js';
import { chatSchema } from './chat-schema.js';
import { cacheMembers, type NativeTranslation } from './native-source.js';
import { isStrictSchema, NOT_STRICT } from './strict-schema.js';

export interface ChatToolUse {
  readonly tools?: readonly ChatTool[];
  readonly tool_choice?: ChatToolChoice;
  readonly parallel_tool_calls?: false;
}

export interface ToolUseTranslation {
  readonly request: ChatToolUse;
  /** The client's names of the tools whose names are too long for the chat format. */
  readonly toolNames: ReadonlyMap<string, string>;
}

/** The types of the provider's own tools end with the date of their version, except for a few. */
const PROVIDER_TOOL = /_\d{8}$|^tool_search_tool_|^mcp_toolset$/;

/**
 * Leaves out, with a note, tools that the provider runs itself or whose schema only its models
 * know. Refuses a choice that demands one of them, or that demands a call when no tools are left.
 */
export function translateToolUse(t: NativeTranslation, native: Place): ToolUseTranslation {
  const names = new Set<string>();
  const toolNames = new Map<string, string>();
  const tools = native.given('tools')?.items((place) => {
    const tool = readTool(t, place.object());
    if (tool === undefined) return undefined;
    const { name } = tool.function;
    if (names.has(name)) place.at('name').mustBe('unique', 'invalid_value');
    names.add(name);
    const written = place.at('name').string();
    if (written !== name) toolNames.set(name, written);
    return tool;
  });
  const choice = native.given('tool_choice');
  const request = {
    ...(tools && tools.length > 0 ? { tools } : {}),
    ...(choice ? readChoice(choice, names) : {}),
  };
  return { request, toolNames };
}

/**
 * The name of a tool as the chat format takes it, which allows half as many characters as the
 * native one. It depends only on the client's name, so past calls, the tool and a choice agree.
 */
export function chatToolName(place: Place): string {
  const name = place.nonEmptyString();
  const sent = toAllowedToken(name, MAX_CALL_ID);
  if (sent !== name) place.note('rewritten', `sent as ${sent}`);
  return sent;
}

function readTool(t: NativeTranslation, tool: Place): ChatTool | undefined {
  const type = tool.at('type');
  if (type.value != null && type.value !== 'custom') {
    if (typeof type.value !== 'string' || !PROVIDER_TOOL.test(type.value)) {
      type.refuse(`${quote(type.value)} is not a type of tool`, 'unsupported_value');
    }
    tool.note('dropped', `a tool of type ${quote(type.value)} has no chat equivalent`);
    return undefined;
  }
  const { value: written } = tool.at('name');
  if (typeof written !== 'string' || !isAllowedToken(written, MAX_TOOL_NAME)) {
    const form = `1 to ${MAX_TOOL_NAME} letters, digits, _ or -`;
    return tool.at('name').mustBe(form, 'invalid_value');
  }
  const name = chatToolName(tool.at('name'));
  const description = tool.at('description').string('');
  const strict = tool.at('strict');
  const schema = tool.at('input_schema');
  const parameters = { json: chatSchema(t.rawObject(schema), 'arguments') };
  const isStrict = strict.boolean(false) && isStrictSchema(schema.value);
  if (strict.value === true && !isStrict) strict.note('dropped', NOT_STRICT);
  const cached = cacheMembers(t, tool);
  tool.noteUnread();
  return {
    type: 'function',
    function: {
      name,
      ...(description === '' ? {} : { description }),
      parameters,
      ...(isStrict ? { strict: true } : {}),
    },
    ...cached,
  };
}

function readChoice(choice: Place, names: ReadonlySet<string>): Omit<ChatToolUse, 'tools'> {
  const type = choice.object().at('type');
  const name = choice.at('name');
  const isSerial = choice.at('disable_parallel_tool_use').boolean(false);
  choice.noteUnread();
  const parallel = isSerial && type.value !== 'none' ? { parallel_tool_calls: false as const } : {};
  if (type.value === 'tool') {
    const wanted = name.string();
    const sent = toAllowedToken(wanted, MAX_CALL_ID);
    if (!names.has(sent)) name.refuse(`${quote(wanted)} is not among the tools`);
    return { tool_choice: { type: 'function', function: { name: sent } }, ...parallel };
  }
  if (type.value !== 'auto' && type.value !== 'any' && type.value !== 'none') {
    return type.mustBe('"auto", "any", "tool" or "none"', 'invalid_value');
  }
  if (names.size > 0) {
    return { tool_choice: type.value === 'any' ? 'required' : type.value, ...parallel };
  }
  if (type.value === 'any') choice.refuse('demands a call, but there are no tools');
  choice.note('dropped', 'there are no tools to choose from');
  return {};
}
