/**
 * Translates tools, and the choice of those that the model may or must call.
 * https://platform.claude.com/docs/en/agents-and-tools/tool-use/implement-tool-use
 */

import { type Place, quote } from '../../reading/place.js';
import { RefusedRequestError } from '../../reading/refusal.js';
import { type NativeToolChoice, normalizeToolChoice } from '../../reading/tool-choice.js';
import type { SchemaReader } from '../../reading/strict-schema-reading.js';
import { MAX_TOOL_NAME, isAllowedToken } from '../../reading/tool-ids.js';
import { listed } from '../../wire/lists.js';
import { objectOf, stringOf } from '../../wire/raw-json.js';
import { finishReading } from './cache-points.js';
import type { NativeTool, OfferedTool } from './native-request.js';
import { emptySchema, inputSchema } from './root-schema.js';
import type { ModelTraits } from './traits.js';

export interface ToolUse {
  /** Empty when the model gets no tools. */
  readonly tools: OfferedTool[];
  readonly toolChoice?: NativeToolChoice | undefined;
  /**
   * A sentence for the system prompt that asks for a call, if the model refuses forced calls.
   */
  readonly instruction?: string;
  /** Whether the tools came as `functions`. Calls then go back as `function_call`. */
  readonly isLegacy: boolean;
  /** The names of tools of type `custom`. */
  readonly customTools?: readonly string[] | undefined;
}

export interface ToolOptions {
  readonly traits: ModelTraits;
  readonly calledTools: ReadonlySet<string>;
  /** If undefined, `strict` is dropped. */
  readonly schemas: SchemaReader | undefined;
}

/**
 * Reads `tools`, `tool_choice` and `parallel_tool_calls`, or the old `functions` and
 * `function_call`.
 */
export function translateTools(
  chat: Place,
  { traits, calledTools, schemas }: ToolOptions,
): ToolUse {
  const list = chat.givenEither('tools', 'functions');
  const custom: string[] = [];
  const offered = list ? readTools(list, custom, schemas) : [];
  const field = chat.givenEither('tool_choice', 'function_call');
  const use = chooseTools({ chat, list, offered, field }, traits, calledTools);
  return { ...use, customTools: listed(custom) };
}

export interface OfferedTools {
  /** The request. */
  readonly chat: Place;
  /** The list of tools, if there is one. */
  readonly list: Place | undefined;
  readonly offered: OfferedTool[];
  /** The choice among them, if there is one. */
  readonly field: Place | undefined;
}

/** Applies `tool_choice` and `parallel_tool_calls` to the tools that were read. */
export function chooseTools(
  { chat, list, offered, field }: OfferedTools,
  { forcedToolChoice }: ModelTraits,
  calledTools: ReadonlySet<string>,
): ToolUse {
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
  // The model refuses a forced choice. Offer only the demanded tool and ask for it. The model then
  // probably calls it, but this is not certain.
  field?.note('rewritten', 'the model is asked, not forced');
  const { name } = toolChoice;
  return {
    tools: tools.filter((tool) => !name || tool.name === name),
    toolChoice: withSerial({ type: 'auto' }, isSerial),
    instruction: `In this reply you must call ${name ? `the tool ${name}` : 'at least one of the provided tools'}.`,
    isLegacy,
  };
}

/** @param custom - Gets the names of the tools of type `custom`. */
function readTools(list: Place, custom: string[], schemas: SchemaReader | undefined): NativeTool[] {
  const names = new Set<string>();
  const unserved: Place[] = [];
  const tools = list.items((item) => {
    const definition = list.path === 'functions' ? item : definitionOf(item);
    if (!definition) {
      unserved.push(item);
      return undefined;
    }
    const isCustom = definition !== item && item.at('type').value === 'custom';
    const tool = isCustom ? customTool(definition) : readFunction(definition, schemas);
    if (isCustom) custom.push(tool.name);
    if (names.has(tool.name)) {
      definition.at('name').mustBe('unique', 'invalid_value');
    }
    names.add(tool.name);
    finishReading(item, tool);
    if (definition !== item) finishReading(definition, tool);
    return tool;
  });
  leaveOut(unserved, tools, 'function or custom');
  return tools;
}

/**
 * The member that defines the tool, or the item itself: some clients send `{name, input_schema}`,
 * as the native format has it, or `{type, name, parameters}`, as the Responses API has it.
 *
 * @returns `undefined` for a tool of a type that has no equivalent
 */
function definitionOf(item: Place): Place | undefined {
  const type = item.object().at('type');
  const { value = 'function' } = type;
  if (value === 'function' || value === 'custom') {
    const isFlat = item.given('name') && !item.given(value);
    if (isFlat) return item;
    if (type.value === value) return item.at(value);
  }
  if (typeof type.value === 'string') return undefined;
  return type.mustBe('"function" or "custom"', 'unsupported_value');
}

/**
 * Leaves out tools that have no equivalent, because the model can do without them if it has others.
 * If it has none, the request is refused: its client relies on these tools.
 */
export function leaveOut(
  unserved: readonly Place[],
  served: readonly unknown[],
  expected: string,
): void {
  for (const tool of unserved) {
    const type = tool.at('type');
    const complaint = `tools of type ${quote(type.value)} have no equivalent`;
    if (served.length === 0) type.refuse(`${complaint}: must be ${expected}`, 'unsupported_value');
    tool.note('dropped', complaint);
  }
}

export function readFunction(place: Place, schemas: SchemaReader | undefined): NativeTool {
  const name = toolName(place);
  const strict = place.at('strict');
  const description = place.at('description').string('') || undefined;
  const schema = inputSchema(place.givenEither('parameters', 'input_schema'));
  const tool = { name, description, input_schema: schema };
  if (strict.value !== true) return tool;
  if (!schemas) strict.note('dropped', 'no schema support');
  const guaranteed = schemas?.tool(schema, strict);
  if (!guaranteed) return tool;
  return { ...tool, input_schema: { ...guaranteed, type: 'object' }, strict: true };
}

function toolName(place: Place): string {
  const name = place.object().at('name');
  const { value } = name;
  if (typeof value === 'string' && isAllowedToken(value, MAX_TOOL_NAME)) return value;
  return name.mustBe(`1 to ${MAX_TOOL_NAME} letters, digits, _ or -`, 'invalid_value');
}

/** A function whose only argument is the text that the model writes for the tool. */
function customTool(place: Place): NativeTool {
  const name = toolName(place);
  const description = place.at('description').string('') || undefined;
  const format = place.at('format');
  const { definition } = objectOf(objectOf(format.value)['grammar']);
  if (definition) format.note('rewritten', 'not guaranteed');
  const grammar = definition ? `Grammar:\n${stringOf(definition)}` : undefined;
  const input = { type: 'string', description: grammar };
  const schema = { type: 'object' as const, properties: { input }, required: ['input'] };
  return { name, description, input_schema: schema };
}

interface Choice {
  readonly toolChoice?: NativeToolChoice;
  /** The names of the tools that may be called, if the client listed some. */
  readonly allowedTools?: readonly string[];
}

function readChoice(field: Place, tools: readonly OfferedTool[]): Choice {
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

/** Whether the model must call a tool. */
export function isForced(
  choice: NativeToolChoice | undefined,
): choice is NativeToolChoice & { type: 'any' | 'tool'; name?: string } {
  return choice?.type === 'any' || choice?.type === 'tool';
}

/**
 * The upstream requires definitions of the tools in past calls, even if no tool may be called now.
 */
function historyOnly(field: Place, calledTools: ReadonlySet<string>): ToolUse {
  if (calledTools.size === 0) return { tools: [], isLegacy: false };
  field.note('rewritten', 'defined for past calls only');
  const tools = [...calledTools].map((name) => ({ name, input_schema: emptySchema() }));
  return { tools, toolChoice: { type: 'none' }, isLegacy: false };
}

function allowedOnly(
  field: Place,
  tools: OfferedTool[],
  allowed: readonly string[] | undefined,
): OfferedTool[] {
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
