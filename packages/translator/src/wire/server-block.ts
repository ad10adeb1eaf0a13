/**
 * Blocks of tools that the upstream runs itself. They come in pairs, a use and its result, and the
 * model needs both in the next turn: it does not search again for what it found, its citations name
 * results, and its later thinking is bound to them.
 *
 * https://platform.claude.com/docs/en/agents-and-tools/tool-use/server-tools
 */

import { type JsonObject, objectOf, stringOf } from './raw-json.js';

/** The type of the JSON text that has such blocks, in the encrypted content of a reasoning item. */
export const SERVER_BLOCKS = 'server_blocks';

export interface ServerToolUse {
  type: 'server_tool_use';
  id: string;
  name: ServerToolName;
  input: JsonObject;
  caller?: DirectCaller;
}
export interface ServerToolResult {
  type: `${ServerToolName}_tool_result`;
  tool_use_id: string;
  content: SearchResult[] | SearchError;
  caller?: DirectCaller;
}
/** A page that a search found. */
export interface SearchResult {
  type: 'web_search_result';
  url: string;
  title: string;
  encrypted_content: string;
  page_age?: string | null;
}
export interface SearchError {
  type: 'web_search_tool_result_error';
  error_code: SearchErrorCode;
}
/** The upstream may add others, which are sent back as they came. */
type SearchErrorCode =
  | 'invalid_tool_input'
  | 'unavailable'
  | 'max_uses_exceeded'
  | 'too_many_requests'
  | 'query_too_long'
  | 'request_too_large';
/** The model called the tool itself. Other callers are programs, which are not offered. */
interface DirectCaller {
  type: 'direct';
}
/** A citation of a page that a search found. */
export interface Citation {
  type: 'web_search_result_location';
  url: string;
  title: string | null;
  encrypted_index: string;
  cited_text: string;
}
export type ServerBlock = ServerToolUse | ServerToolResult;

/** The tools of the upstream that the translation offers. */
export type ServerToolName = 'web_search';

/** The members of a native object that are sent back upstream. All of them are texts or null. */
type Texts = readonly [required: readonly string[], optional?: readonly string[]];

interface ServerTool {
  readonly input: Texts;
  readonly result: { readonly type: string } & { readonly members: Texts };
}

const SERVER_TOOLS: Readonly<Record<ServerToolName, ServerTool>> = {
  web_search: {
    input: [['query']],
    result: {
      type: 'web_search_result',
      members: [['url', 'title', 'encrypted_content'], ['page_age']],
    },
  },
};

/** A citation of a page that a search found. */
const CITATION = {
  type: 'web_search_result_location',
  members: [['url', 'encrypted_index', 'cited_text'], ['title']],
} as const;

const ID = /^srvtoolu_\w{1,64}$/;
const RESULT_OF = /^(\w+)_tool_result$/;

/**
 * Reads a block, which may come from a client, and keeps only the members that the upstream writes.
 * Others could name files or containers of the operator's account.
 *
 * @returns `undefined` for a block of any other form
 */
export function readServerBlock(block: JsonObject): ServerBlock | undefined {
  const { type } = block;
  return type === 'server_tool_use' ? readUse(block) : readResult(block);
}

function readUse({ id, name, input, caller }: JsonObject): ServerToolUse | undefined {
  const tool = toolNamed(name);
  const read = tool && textsOf(objectOf(input), tool.input);
  if (!read || typeof id !== 'string' || !ID.test(id)) return undefined;
  const tool_name = name as ServerToolName;
  return { type: 'server_tool_use', id, name: tool_name, input: read, ...directCaller(caller) };
}

function readResult(block: JsonObject): ServerToolResult | undefined {
  const { type, tool_use_id: id, content, caller } = block;
  const tool = toolNamed(RESULT_OF.exec(stringOf(type))?.[1]);
  const read = tool && readContent(content, stringOf(type), tool);
  if (!read || typeof id !== 'string' || !ID.test(id)) return undefined;
  const members = { tool_use_id: id, content: read, ...directCaller(caller) };
  return { type: type as ServerToolResult['type'], ...members };
}

function readContent(
  content: unknown,
  type: string,
  { result }: ServerTool,
): ServerToolResult['content'] | undefined {
  if (!Array.isArray(content)) {
    const { type: kind, error_code: code } = objectOf(content);
    const isError = kind === `${type}_error` && typeof code === 'string';
    return isError
      ? { type: 'web_search_tool_result_error', error_code: code as SearchErrorCode }
      : undefined;
  }
  const items = content.map((item) => typed(objectOf(item), result.type, result.members));
  return items.every((item) => item !== undefined)
    ? (items as object[] as SearchResult[])
    : undefined;
}

/** The citations of a text that name results of searches. */
export function readCitation(citation: JsonObject): Citation | undefined {
  const read = typed(citation, CITATION.type, CITATION.members);
  return read && ({ title: null, ...read } as object as Citation);
}

function typed(item: JsonObject, type: string, members: Texts): JsonObject | undefined {
  const texts = item['type'] === type ? textsOf(item, members) : undefined;
  return texts && { type, ...texts };
}

function textsOf(item: JsonObject, [required, optional = []]: Texts): JsonObject | undefined {
  if (!required.every((name) => typeof item[name] === 'string')) return undefined;
  const texts: Record<string, unknown> = {};
  // In the order of the upstream.
  for (const [name, value] of Object.entries(item)) {
    const isText = typeof value === 'string' || value === null;
    if (isText && (required.includes(name) || optional.includes(name))) texts[name] = value;
  }
  return texts;
}

function directCaller(caller: unknown): { caller?: DirectCaller } {
  return objectOf(caller)['type'] === 'direct' ? { caller: { type: 'direct' } } : {};
}

function toolNamed(name: unknown): ServerTool | undefined {
  return Object.hasOwn(SERVER_TOOLS, stringOf(name))
    ? SERVER_TOOLS[name as ServerToolName]
    : undefined;
}

/** Blocks in their order, without uses that have no result and results that have no use. */
export function pairedBlocks(blocks: readonly ServerBlock[]): ServerBlock[] {
  const used = new Set<string>();
  const answered = new Set<string>();
  for (const block of blocks) {
    if (isUse(block)) used.add(block.id);
    // A result belongs to a use before it.
    else if (used.has(block.tool_use_id)) answered.add(block.tool_use_id);
  }
  const seen = new Set<string>();
  return blocks.filter((block) => {
    const id = isUse(block) ? block.id : block.tool_use_id;
    const key = `${block.type} ${id}`;
    const isNew = answered.has(id) && !seen.has(key);
    seen.add(key);
    return isNew;
  });
}

export function isUse(block: ServerBlock): block is ServerToolUse {
  return block.type === 'server_tool_use';
}
