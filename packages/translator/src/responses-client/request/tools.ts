/**
 * Translates the tools of a Responses request, and the choice among them. A custom tool becomes a
 * function with one text as its argument, a tool that the client runs itself a function with a
 * fixed schema, and a namespace a prefix of its tools' names.
 */

import { finishReading } from '../../chat-client/request/cache-points.js';
import type { NativeTool, OfferedTool } from '../../chat-client/request/native-request.js';
import { inputSchema } from '../../chat-client/request/root-schema.js';
import {
  chooseTools,
  describeFormat,
  leaveOut,
  noteCalledAs,
  readFunction,
  type ToolOptions,
  type ToolUse,
} from '../../chat-client/request/tools.js';
import { NO_EQUIVALENT, Place } from '../../reading/place.js';
import type { SchemaReader } from '../../reading/strict-schema-reading.js';
import { MAX_TOOL_NAME } from '../../reading/tool-ids.js';
import type { ReadWebSearch, WebSearchTool } from '../../reading/web-search-reading.js';
import type { CalledAs } from '../../wire/called-as.js';
import { listed, listOf } from '../../wire/lists.js';
import { isLocalType, LOCAL_TOOLS, type LocalToolType } from '../../wire/local-tools.js';
import { objectOf, stringOf } from '../../wire/raw-json.js';
import type { ResponseSettings } from '../response-context.js';
import type { Conversation } from './items.js';
import { namespacedName } from './tool-names.js';

export interface ResponsesToolUse extends ToolUse {
  /**
   * Tools whose calls are returned to the client under another name or as another type, by upstream
   * name.
   */
  readonly calledAs: ReadonlyMap<string, CalledAs>;
  /** Whether the web search is among the tools. */
  readonly hasSearch: boolean;
}

interface Offer {
  readonly tools: NativeTool[];
  /** The upstream's names of the tools. */
  readonly names: Set<string>;
  readonly calledAs: Map<string, CalledAs>;
  readonly schemas: SchemaReader;
  /** Whether the tools are those that a search found, which may have been listed before. */
  isFound: boolean;
  /** The tools that the client runs itself. */
  readonly local: Place[];
  /** The tools of the type `web_search`. */
  readonly searches: Place[];
  /** The tools that have no equivalent. */
  readonly unserved: Place[];
}

interface ResponsesToolOptions extends Pick<ToolOptions, 'traits' | 'keepsAll'> {
  readonly schemas: SchemaReader;
  readonly webSearch: ReadWebSearch | undefined;
}

const FUNCTIONS = ['function', 'custom'];
/** With or without a date, such as `web_search_preview_2025_03_11`. */
const WEB_SEARCH = /^web_search(_|$)/;
const served = () =>
  `function, custom, namespace, ${Object.keys(LOCAL_TOOLS).join(', ')} or web_search`;

/**
 * Reads `tools`, the tools of `additional_tools` and `tool_search_output` items in `input`,
 * `tool_choice` and `parallel_tool_calls`.
 */
export function translateResponsesTools(
  request: Place,
  { traits, schemas, webSearch, keepsAll }: ResponsesToolOptions,
  {
    calledTools,
    addedTools,
    foundTools,
  }: Pick<Conversation, 'calledTools' | 'addedTools' | 'foundTools'>,
): ResponsesToolUse {
  const list = request.given('tools');
  const listed = list ?? addedTools[0];
  const offer: Offer = {
    tools: [],
    names: new Set(),
    calledAs: new Map(),
    schemas,
    isFound: false,
    local: [],
    searches: [],
    unserved: [],
  };
  const readTools = (tools: Place): void => {
    tools.items((item) => {
      readTool(item.object(), offer);
    });
  };
  [...listOf(list), ...addedTools].forEach(readTools);
  // A request that offers no tools, such as one for a summary, does not want the found ones.
  offer.isFound = true;
  if (offer.tools.length + offer.local.length > 0) foundTools.forEach(readTools);
  // These are added after all other tools, because one of them can have their names.
  offer.local.forEach((item) => {
    addLocalTool(item, offer);
  });
  const search = readSearches(offer, webSearch);
  const offered: OfferedTool[] = [...offer.tools, ...listOf(search)];
  leaveOut(offer.unserved, offered, served());
  const choice = request.given('tool_choice');
  const upstream = choice && upstreamChoice(choice.value, offer, search);
  const field = choice && new Place(request.t, upstream, request, 'tool_choice');
  const use = chooseTools(
    { chat: request, list: listed, offered, field, keepsAll },
    traits,
    calledTools,
  );
  return { ...use, calledAs: offer.calledAs, hasSearch: use.tools.some((tool) => tool === search) };
}

function readTool(item: Place, offer: Offer): void {
  const type = item.at('type');
  if (type.value === 'namespace') readNamespace(item, offer);
  else if (FUNCTIONS.includes(stringOf(type.value))) addTool(item, offer);
  else if (isLocal(item)) offer.local.push(item);
  else if (WEB_SEARCH.test(type.string())) offer.searches.push(item);
  else offer.unserved.push(item);
}

/** Whether the client runs a tool itself. OpenAI runs a shell in a container, for instance. */
function isLocal(item: Place): boolean {
  const { type, execution, environment } = objectOf(item.value);
  if (type === 'tool_search') return execution === 'client';
  if (type === 'shell') return (objectOf(environment)['type'] ?? 'local') === 'local';
  return isLocalType(type);
}

function addLocalTool(item: Place, { tools, names, calledAs }: Offer): void {
  const type = item.at('type').value as LocalToolType;
  if (names.has(type)) {
    item.note('dropped', 'a tool has its name');
    return;
  }
  const { description, properties, required } = LOCAL_TOOLS[type];
  const skills = item.at('environment').given('skills')?.items(describeSkill) ?? [];
  const parameters = item.given('parameters');
  for (const name of ['execution', 'allowed_callers']) item.at(name);
  const own = [item.at('description').string(description), ...skills].join('\n');
  const schema = { type: 'object', properties, required, additionalProperties: false } as const;
  const input_schema = parameters ? inputSchema(parameters) : schema;
  const tool: NativeTool = { name: type, description: own, input_schema };
  names.add(type);
  calledAs.set(type, { type, name: type });
  finishReading(item, tool);
  tools.push(tool);
}

function describeSkill(skill: Place): string {
  const [name, path, text] = ['name', 'path', 'description'].map((member) =>
    skill.at(member).string(),
  );
  return `Skill ${name} in ${path}: ${text}`;
}

/**
 * Makes the native tool of the first search. The others, and searches that cannot be translated,
 * are left out: the model can answer without them, and clients such as Codex offer one in every
 * request.
 */
function readSearches(
  { searches, names }: Offer,
  read: ReadWebSearch | undefined,
): WebSearchTool | undefined {
  const [first, ...others] = searches;
  for (const item of others) item.note('dropped', 'there is another web search');
  if (!first) return undefined;
  if (!read) {
    first.note('dropped', 'there is no web search');
    return undefined;
  }
  // The client wants only cached pages. The upstream has no such mode, and its searches cost money.
  if (first.at('external_web_access').value === false) {
    first.note('dropped', 'searches cannot do without external web access');
    return undefined;
  }
  const location = first.given('user_location');
  const size = first.given('search_context_size');
  const options = {
    search_context_size: size?.value,
    user_location: location && { approximate: location.object().value },
  };
  const reading = read(options, [...names]);
  if (!reading) {
    first.note('dropped', 'a tool has its name');
    return undefined;
  }
  for (const name of reading.ignored) first.at(name).note('ignored', NO_EQUIVALENT);
  const filters = first.given('filters');
  const domains = filters?.object().given('allowed_domains');
  const allowed = domains?.items((domain) => domain.nonEmptyString());
  filters?.noteUnread();
  const tool: WebSearchTool = { ...reading.tool, allowed_domains: listed(allowed ?? []) };
  finishReading(first, tool);
  return tool;
}

function readNamespace(item: Place, offer: Offer): void {
  const namespace = item.at('name').nonEmptyString();
  const description = item.at('description').string('');
  const firstTool = offer.tools.length;
  item.at('tools').items((tool) => {
    const type = tool.object().at('type');
    if (FUNCTIONS.includes(type.string())) addTool(tool, offer, namespace);
    else offer.unserved.push(tool);
  });
  item.noteUnread();
  const first = offer.tools[firstTool];
  if (first) first.description = [description, first.description].filter(Boolean).join('\n\n');
}

function addTool(place: Place, offer: Offer, namespace?: string): void {
  const { tools, names, calledAs, schemas } = offer;
  const type = place.at('type').value === 'custom' ? 'custom' : 'function';
  const { tool, calledAs: as } = readFunction(place, schemas);
  if (type === 'custom') tool.input_schema = customInput(place.given('format'));
  if (namespace !== undefined) tool.name = namespacedName(namespace, as.name);
  if (offer.isFound) {
    place.at('defer_loading');
    // Searches find a tool again and again.
    if (names.has(tool.name)) return;
  }
  if (names.has(tool.name)) place.at('name').mustBe('unique', 'invalid_value');
  names.add(tool.name);
  noteCalledAs(calledAs, { tool, calledAs: { ...as, type, namespace } });
  finishReading(place, tool);
  tools.push(tool);
}

/** The schema of a function that takes the text of a custom tool. */
function customInput(format: Place | undefined): NativeTool['input_schema'] {
  const input = { type: 'string', description: describeFormat(format) };
  return {
    type: 'object',
    properties: { input },
    required: ['input'],
    additionalProperties: false,
  };
}

/** The choice with the upstream's names, in the form that choices among functions have. */
function upstreamChoice(
  value: unknown,
  { names, calledAs, unserved }: Offer,
  search: WebSearchTool | undefined,
): unknown {
  const { type, mode, tools: allowed } = objectOf(value);
  /** The upstream's name of each tool in a namespace, by the client's name. */
  const upstreamNames = new Map([...calledAs].map(([name, as]) => [as.name, name]));
  const upstreamFunction = (choice: unknown): unknown => {
    const { type: kind, name, namespace } = objectOf(choice);
    if (search && isSearch(choice)) return { type: 'function', name: search.name };
    if (isLocalType(kind) && names.has(kind)) return { type: 'function', name: kind };
    if (!FUNCTIONS.includes(stringOf(kind)) || typeof name !== 'string') return choice;
    if (typeof namespace === 'string') {
      return { type: 'function', name: namespacedName(namespace, name) };
    }
    return { type: 'function', name: names.has(name) ? name : (upstreamNames.get(name) ?? name) };
  };
  if (type !== 'allowed_tools' || !Array.isArray(allowed)) return upstreamFunction(value);
  const leftOut = new Set(unserved.map((tool) => tool.at('type').value));
  const offered = allowed.filter(
    (tool) => (search !== undefined || !isSearch(tool)) && !leftOut.has(objectOf(tool)['type']),
  );
  // Without any of its tools, a required call would become a forbidden one. The choice is then
  // refused, as the choice of one such tool is.
  const kept = mode === 'required' && offered.length === 0 ? allowed : offered;
  return { ...objectOf(value), tools: kept.map(upstreamFunction) };
}

function isSearch(tool: unknown): boolean {
  return WEB_SEARCH.test(stringOf(objectOf(tool)['type']));
}

/** The choice as a response repeats it. */
export function repeatedChoice(choice: unknown): ResponseSettings['tool_choice'] {
  if (choice === 'none' || choice === 'required') return choice;
  const { type, name, mode } = objectOf(choice);
  if (type === 'function' || type === 'custom')
    return { type, name: stringOf(name).slice(0, MAX_TOOL_NAME) };
  if (isSearch(choice)) return { type: 'web_search_preview' };
  if (type === 'shell' || type === 'apply_patch') return { type };
  // OpenAI's type of the member has no form for the other tools that a client runs.
  return choice === 'any' || type === 'any' || mode === 'required' || isLocalType(type)
    ? 'required'
    : 'auto';
}
