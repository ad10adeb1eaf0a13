/**
 * Translates tools, and the choice of those that the model may or must call.
 * https://platform.claude.com/docs/en/agents-and-tools/tool-use/implement-tool-use
 */

import { emptySchema } from '../../reading/empty-schema.js';
import { type Place, quote } from '../../reading/place.js';
import { RefusedRequestError } from '../../reading/refusal.js';
import { type NativeToolChoice, normalizeToolChoice } from '../../reading/tool-choice.js';
import type { SchemaReader } from '../../reading/strict-schema-reading.js';
import { MAX_TOOL_NAME, toAllowedToken } from '../../reading/tool-ids.js';
import type { CalledAs } from '../../wire/called-as.js';
import { finishReading } from './cache-points.js';
import type { NativeTool, OfferedTool } from './native-request.js';
import { renameArguments } from './renamed-arguments.js';
import { inputSchema } from './root-schema.js';
import type { ModelTraits } from './traits.js';

export interface ToolUse {
  /** Empty when the model gets no tools. */
  readonly tools: OfferedTool[];
  readonly toolChoice?: NativeToolChoice | undefined;
  /** Sentences that ask the model for what the request cannot demand of it. */
  readonly instructions: readonly string[];
  /** Whether the tools came as `functions`. Calls then go back as `function_call`. */
  readonly isLegacy: boolean;
}

/** The tools of a chat request. */
export interface ChatToolUse extends ToolUse {
  readonly calledAs: ReadonlyMap<string, CalledAs>;
}

export interface ToolOptions extends Pick<OfferedTools, 'keepsAll'> {
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
  { traits, calledTools, schemas, keepsAll }: ToolOptions,
): ChatToolUse {
  const list = chat.givenEither('tools', 'functions');
  const calledAs = new Map<string, CalledAs>();
  const offered = list ? readTools(list, calledAs, schemas) : [];
  const field = chat.givenEither('tool_choice', 'function_call');
  const use = chooseTools({ chat, list, offered, field, keepsAll }, traits, calledTools);
  return { ...use, calledAs };
}

export interface OfferedTools {
  /** The request. */
  readonly chat: Place;
  /** The list of tools, if there is one. */
  readonly list: Place | undefined;
  readonly offered: OfferedTool[];
  /** The choice among them, if there is one. */
  readonly field: Place | undefined;
  /**
   * Whether all tools are offered, and the model is asked to call only those that the choice names.
   * Otherwise only these are offered.
   */
  readonly keepsAll: boolean;
}

/** Applies `tool_choice` and `parallel_tool_calls` to the tools that were read. */
export function chooseTools(
  { chat, list, offered, field, keepsAll }: OfferedTools,
  { forcedToolChoice }: ModelTraits,
  calledTools: ReadonlySet<string>,
): ToolUse {
  const parallel = chat.at('parallel_tool_calls');
  const choice: Choice = field ? readChoice(field, offered) : {};
  if (!list || offered.length === 0) return historyOnly(chat.at('tools'), calledTools);

  const isLegacy = list.path === 'functions';
  const { toolChoice } = choice;
  const allowed = choice.allowedTools && new Set(choice.allowedTools);
  const tools = allowed && !keepsAll ? allowedOnly(list, offered, allowed) : offered;
  const instructions: string[] = [];
  if (allowed && tools.some(({ name }) => !allowed.has(name))) {
    field?.note('rewritten', 'the model is asked, not restricted');
    instructions.push(`Call no other tools than ${[...allowed].join(', ')}.`);
  }
  const isSerial =
    !parallel.boolean(true) ||
    // `function_call` holds a single call.
    isLegacy ||
    field?.at('disable_parallel_tool_use').value === true;
  if (forcedToolChoice === 'accepted' || !isForced(toolChoice)) {
    return { tools, toolChoice: withSerial(toolChoice, isSerial), instructions, isLegacy };
  }
  // The model refuses a forced choice, so it is asked for the call. It then probably makes it, but
  // this is not certain.
  field?.note('rewritten', 'the model is asked, not forced');
  const { name } = toolChoice;
  const demanded = name ? `the tool ${name}` : 'at least one of the provided tools';
  instructions.push(`In this reply you must call ${demanded}.`);
  return {
    tools: tools.filter((tool) => keepsAll || !name || tool.name === name),
    toolChoice: withSerial({ type: 'auto' }, isSerial),
    instructions,
    isLegacy,
  };
}

/** @param calledAs - Gets the tools whose calls are not returned as they are. */
function readTools(
  list: Place,
  calledAs: Map<string, CalledAs>,
  schemas: SchemaReader | undefined,
): NativeTool[] {
  const names = new Set<string>();
  const unserved: Place[] = [];
  const tools = list.items((item) => {
    const definition = list.path === 'functions' ? item : definitionOf(item);
    if (!definition) {
      unserved.push(item);
      return undefined;
    }
    const isCustom = definition !== item && item.at('type').value === 'custom';
    const reading = isCustom ? customTool(definition) : readFunction(definition, schemas);
    const { tool } = reading;
    noteCalledAs(calledAs, reading);
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

/** A tool, and how its calls go back. */
export interface ToolReading {
  readonly tool: NativeTool;
  readonly calledAs: CalledAs;
}

/** Adds a tool to those whose calls are returned under other names, or as another type. */
export function noteCalledAs(
  calledAs: Map<string, CalledAs>,
  { tool, calledAs: as }: ToolReading,
): void {
  const isSame = as.type === 'function' && as.name === tool.name && !as.namespace;
  if (!isSame || as.members) calledAs.set(tool.name, as);
}

export function readFunction(place: Place, schemas: SchemaReader | undefined): ToolReading {
  const { name, sent } = toolName(place);
  const strict = place.at('strict');
  const description = place.at('description').string('') || undefined;
  const parameters = place.givenEither('parameters', 'input_schema');
  const { schema, members } = renameArguments(inputSchema(parameters), parameters);
  const calledAs: CalledAs = { type: 'function', name, members };
  const tool = { name: sent, description, input_schema: schema };
  if (strict.value !== true) return { tool, calledAs };
  if (!schemas) strict.note('dropped', 'no schema support');
  const guaranteed = schemas?.tool(schema, strict);
  if (!guaranteed) return { tool, calledAs };
  const input_schema = { ...guaranteed, type: 'object' } as const;
  return { tool: { ...tool, input_schema, strict: true }, calledAs };
}

/** The client's name, and the name that is sent upstream, which takes fewer characters. */
function toolName(place: Place): { readonly name: string; readonly sent: string } {
  const field = place.object().at('name');
  const name = field.nonEmptyString();
  const sent = toAllowedToken(name, MAX_TOOL_NAME);
  if (sent !== name) field.note('rewritten', `sent as ${sent}`);
  return { name, sent };
}

/** A function whose only argument is the text that the model writes for the tool. */
function customTool(place: Place): ToolReading {
  const { name, sent } = toolName(place);
  const description = place.at('description').string('') || undefined;
  const format = place.given('format');
  const input = { type: 'string', description: describeFormat(format, format?.given('grammar')) };
  const schema = { type: 'object' as const, properties: { input }, required: ['input'] };
  const tool = { name: sent, description, input_schema: schema };
  return { tool, calledAs: { type: 'custom', name } };
}

/**
 * Describes the text of a custom tool to the model.
 *
 * @param grammar - What has the grammar, if it is not the format itself.
 */
export function describeFormat(
  format: Place | undefined,
  grammar: Place | undefined = format,
): string | undefined {
  const type = format?.object().at('type');
  if (!format || !grammar || !type || type.value === 'text') return undefined;
  if (type.value !== 'grammar') return type.mustBe('"text" or "grammar"', 'unsupported_value');
  const syntax = grammar.object().at('syntax').string();
  const definition = grammar.at('definition').string();
  format.note('rewritten', 'the grammar is described, not enforced');
  return `Must match this ${syntax} grammar:\n${definition}`;
}

interface Choice {
  readonly toolChoice?: NativeToolChoice;
  /** The names of the tools that may be called, if the client listed some. */
  readonly allowedTools?: readonly string[];
}

function readChoice(field: Place, tools: readonly OfferedTool[]): Choice {
  const choice = field.path === 'function_call' ? fromFunctionCall(field) : fromToolChoice(field);
  const { toolChoice, allowedTools } = choice;
  const names = new Set(tools.map((tool) => tool.name));
  const upstreamName = (name: string): string => {
    const sent = toAllowedToken(name, MAX_TOOL_NAME);
    return names.has(sent) ? sent : field.refuse(`${quote(name)} is not among the tools`);
  };
  const chosen = {
    toolChoice:
      toolChoice.type === 'tool'
        ? { ...toolChoice, name: upstreamName(toolChoice.name) }
        : toolChoice,
    ...(allowedTools && { allowedTools: allowedTools.map(upstreamName) }),
  };
  if (tools.length > 0) return chosen;
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
  if (calledTools.size === 0) return { tools: [], instructions: [], isLegacy: false };
  field.note('rewritten', 'defined for past calls only');
  const tools = [...calledTools].map((name) => ({ name, input_schema: emptySchema() }));
  return { tools, toolChoice: { type: 'none' }, instructions: [], isLegacy: false };
}

function allowedOnly(
  field: Place,
  tools: OfferedTool[],
  allowed: ReadonlySet<string>,
): OfferedTool[] {
  const kept = tools.filter((tool) => allowed.has(tool.name));
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
