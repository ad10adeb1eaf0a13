/**
 * Translates tools, and the choice of those that the model may or must call.
 * https://platform.claude.com/docs/en/agents-and-tools/tool-use/implement-tool-use
 */

import { type Place, quote } from '../../reading/place.js';
import { RefusedRequestError } from '../../reading/refusal.js';
import { type NativeToolChoice, normalizeToolChoice } from '../../reading/tool-choice.js';
import { isAllowedToken } from '../../reading/tool-ids.js';
import { objectOf } from '../../wire/raw-json.js';
import { finishReading } from './cache-points.js';
import type { InputSchema, NativeTool } from './native-request.js';
import type { ModelTraits } from './traits.js';

export interface ToolUse {
  /** Empty when the model gets no tools. */
  readonly tools: NativeTool[];
  readonly toolChoice?: NativeToolChoice | undefined;
  /**
   * A sentence for the system prompt, when the model refuses the `tool_choice` that would say it.
   */
  readonly instruction?: string;
  /** Whether the tools came as `functions`. Calls then go back as `function_call`. */
  readonly isLegacy: boolean;
}

/**
 * Reads `tools`, `tool_choice` and `parallel_tool_calls`, or the old `functions` and
 * `function_call`.
 */
export function translateTools(
  chat: Place,
  { forcedToolChoice }: ModelTraits,
  calledTools: ReadonlySet<string>,
): ToolUse {
  const list = chat.givenEither('tools', 'functions');
  const offered = list ? readTools(list) : [];
  const field = chat.givenEither('tool_choice', 'function_call');
  const parallel = chat.at('parallel_tool_calls');
  const choice: Choice = field ? readChoice(field, offered) : {};
  if (!list || offered.length === 0) return historyOnly(chat.at('tools'), calledTools);

  const isLegacy = list.path === 'functions';
  const tools = allowedOnly(list, offered, choice.allowedTools);
  const { toolChoice } = choice;
  const isSerial =
    !parallel.boolean(true) ||
    // `function_call` holds a single call.
    isLegacy ||
    field?.at('disable_parallel_tool_use').value === true;
  if (forcedToolChoice === 'accepted' || !isForced(toolChoice)) {
    return { tools, toolChoice: withSerial(toolChoice, isSerial), isLegacy };
  }
  // The model refuses a forced choice. Offer only the demanded tool and ask for it: likely, not
  // certain.
  field?.note('rewritten', 'the model is asked, not forced');
  const { name } = toolChoice;
  return {
    tools: tools.filter((tool) => !name || tool.name === name),
    toolChoice: withSerial({ type: 'auto' }, isSerial),
    instruction: `In this reply you must call ${name ? `the tool ${name}` : 'at least one of the provided tools'}.`,
    isLegacy,
  };
}

function readTools(list: Place): NativeTool[] {
  const names = new Set<string>();
  return list.items((item) => {
    const definition = list.path === 'functions' ? item : functionOf(item);
    const tool = readFunction(definition);
    if (names.has(tool.name)) {
      definition.at('name').mustBe('unique', 'invalid_value');
    }
    names.add(tool.name);
    finishReading(item, tool);
    if (definition !== item) finishReading(definition, tool);
    return tool;
  });
}

function functionOf(item: Place): Place {
  const type = item.object().at('type');
  if (type.value !== 'function') type.mustBe('"function"', 'unsupported_value');
  return item.at('function');
}

function readFunction(place: Place): NativeTool {
  const name = place.object().at('name');
  if (typeof name.value !== 'string' || !isAllowedToken(name.value)) {
    return name.mustBe('1 to 64 letters, digits, _ or -', 'invalid_value');
  }
  const strict = place.at('strict');
  if (strict.value === true) {
    strict.note('dropped', 'upstream refuses some strict schemas');
  }
  return {
    name: name.value,
    description: place.at('description').string('') || undefined,
    input_schema: inputSchema(place.given('parameters')),
  };
}

/** The client's schema, its keys in order, with the `type` that the upstream demands. */
function inputSchema(parameters: Place | undefined): InputSchema {
  if (!parameters) return emptySchema();
  const type = parameters.object().at('type');
  if ((type.value ?? 'object') !== 'object') type.mustBe('"object"', 'invalid_value');
  const schema = objectOf(parameters.value);
  return Object.keys(schema).length > 0 ? { ...schema, type: 'object' } : emptySchema();
}

function emptySchema(): InputSchema {
  return { type: 'object', properties: {} };
}

interface Choice {
  readonly toolChoice?: NativeToolChoice;
  /** The names of the tools that may be called, if the client listed some. */
  readonly allowedTools?: readonly string[];
}

function readChoice(field: Place, tools: readonly NativeTool[]): Choice {
  const choice = field.path === 'function_call' ? fromFunctionCall(field) : fromToolChoice(field);
  const { toolChoice, allowedTools = [] } = choice;
  const named = toolChoice.type === 'tool' ? [toolChoice.name] : allowedTools;
  const names = new Set(tools.map((tool) => tool.name));
  const unknown = named.find((name) => !names.has(name));
  if (unknown !== undefined) field.refuse(`${quote(unknown)} is not among the tools`);
  if (tools.length > 0) return choice;
  if (isForced(toolChoice)) field.refuse('there are no tools');
  field.note('dropped', 'there are no tools');
  return {};
}

function fromToolChoice(field: Place): Choice & { toolChoice: NativeToolChoice } {
  const normalized = normalizeToolChoice(field.value);
  if (normalized.outcome === 'refused') throw new RefusedRequestError(normalized.problem);
  if (normalized.outcome === 'normalized') return normalized;
  // Only the known members of a native choice are sent, because the upstream refuses others.
  const type = field.at('type');
  const name = field.at('name');
  field.at('disable_parallel_tool_use');
  field.noteUnread();
  if (type.value !== 'tool') return fromToolChoice(type);
  return { toolChoice: { type: 'tool', name: name.string() } };
}

function fromFunctionCall(field: Place): Choice & { toolChoice: NativeToolChoice } {
  const { value } = field;
  if (value === 'none' || value === 'auto') return { toolChoice: { type: value } };
  const { value: name } = field.at('name');
  if (typeof name === 'string') return { toolChoice: { type: 'tool', name } };
  return field.mustBe('"none", "auto" or {"name": ...}', 'invalid_value');
}

function isForced(
  choice: NativeToolChoice | undefined,
): choice is NativeToolChoice & { type: 'any' | 'tool'; name?: string } {
  return choice?.type === 'any' || choice?.type === 'tool';
}

/** The upstream wants definitions of the tools in past calls, even if no tool may be called now. */
function historyOnly(field: Place, calledTools: ReadonlySet<string>): ToolUse {
  if (calledTools.size === 0) return { tools: [], isLegacy: false };
  field.note('rewritten', 'defined for past calls only');
  const tools = [...calledTools].map((name) => ({ name, input_schema: emptySchema() }));
  return { tools, toolChoice: { type: 'none' }, isLegacy: false };
}

function allowedOnly(
  field: Place,
  tools: NativeTool[],
  allowed: readonly string[] | undefined,
): NativeTool[] {
  if (!allowed) return tools;
  const names = new Set(allowed);
  const kept = tools.filter((tool) => names.has(tool.name));
  if (kept.length < tools.length) {
    field.note('dropped', 'not allowed by tool_choice');
  }
  return kept;
}

function withSerial(
  choice: NativeToolChoice | undefined,
  isSerial: boolean,
): NativeToolChoice | undefined {
  if (!isSerial || choice?.type === 'none') return choice;
  return { ...(choice ?? { type: 'auto' }), disable_parallel_tool_use: true };
}
