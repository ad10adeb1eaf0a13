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

export type ServerToolUse = JsonObject & {
  readonly type: 'server_tool_use';
  readonly id: string;
};
export type ServerToolResult = JsonObject & {
  readonly type: `${ServerToolName}_tool_result`;
  readonly tool_use_id: string;
};
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

function readUse({ type, id, name, input, caller }: JsonObject): ServerToolUse | undefined {
  const tool = toolNamed(name);
  const read = tool && textsOf(objectOf(input), tool.input);
  if (!read || typeof id !== 'string' || !ID.test(id)) return undefined;
  return { type: type as 'server_tool_use', id, name, input: read, ...directCaller(caller) };
}

function readResult(block: JsonObject): ServerToolResult | undefined {
  const { type, tool_use_id: id, content, caller } = block;
  const tool = toolNamed(RESULT_OF.exec(stringOf(type))?.[1]);
  const read = tool && readContent(content, stringOf(type), tool);
  if (!read || typeof id !== 'string' || !ID.test(id)) return undefined;
  const members = { tool_use_id: id, content: read, ...directCaller(caller) };
  return { type: type as ServerToolResult['type'], ...members };
}

function readContent(content: unknown, type: string, { result }: ServerTool): unknown {
  if (!Array.isArray(content)) {
    const { type: kind, error_code: code } = objectOf(content);
    const isError = kind === `${type}_error` && typeof code === 'string';
    return isError ? { type: kind, error_code: code } : undefined;
  }
  const items = content.map((item) => typed(objectOf(item), result.type, result.members));
  return items.every((item) => item !== undefined) ? items : undefined;
}

/** The citations of a text that name results of searches. */
export function readCitation(citation: JsonObject): JsonObject | undefined {
  return typed(citation, CITATION.type, CITATION.members);
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

/** Whether the model called the tool itself. Other callers are programs, which are not offered. */
function directCaller(caller: unknown) {
  return objectOf(caller)['type'] === 'direct' ? { caller: { type: 'direct' } } : undefined;
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
