/**
 * The blocks of an answer that searched, in their order. A chat message has one text, its calls,
 * and no place for searches, so the message carries this list: in `thinking_blocks`, in a block
 * without content, which clients send back unchanged. Texts and calls are those of the message.
 */

import { type JsonObject, objectOf } from './raw-json.js';
import {
  type Citation,
  isUse,
  pairedBlocks,
  readCitation,
  readServerBlock,
  type ServerBlock,
} from './server-block.js';
import { listOf } from './lists.js';

export type LaidBlock =
  | ServerBlock
  | { type: 'thinking'; thinking: string; signature: string }
  | { type: 'redacted_thinking'; data: string }
  /** The code units of the message's text from `from` to before `to`. */
  | { type: 'text'; from: number; to: number; citations?: Citation[] | undefined }
  /** The next call of the message. */
  | { type: 'tool_use' };

export function isOfServer(block: LaidBlock): block is ServerBlock {
  return block.type === 'server_tool_use' || block.type === 'web_search_tool_result';
}

/** Whether there are searches, each use with its result and each result with its use. */
export function hasWholeSearches(blocks: readonly LaidBlock[]): boolean {
  const searches = blocks.filter(isOfServer);
  return searches.some(isUse) && pairedBlocks(searches).length === searches.length;
}

/**
 * Reads the list, which may come from a client. Citations before the first result are left out.
 *
 * @returns `undefined` if an item has another form, or a search is incomplete
 */
export function readLayout(items: readonly unknown[]): LaidBlock[] | undefined {
  const blocks: LaidBlock[] = [];
  let hasResults = false;
  for (const item of items) {
    const block = readLaid(objectOf(item), hasResults);
    if (!block) return undefined;
    hasResults ||= block.type === 'web_search_tool_result';
    blocks.push(block);
  }
  return hasWholeSearches(blocks) ? blocks : undefined;
}

function readLaid(item: JsonObject, hasResults: boolean): LaidBlock | undefined {
  const { type, thinking, signature, data, from, to, citations } = item;
  switch (type) {
    case 'thinking':
      return typeof thinking === 'string' && typeof signature === 'string' && signature !== ''
        ? { type, thinking, signature }
        : undefined;
    case 'redacted_thinking':
      return typeof data === 'string' && data !== '' ? { type, data } : undefined;
    case 'text': {
      if (!isCount(from) || !isCount(to)) return undefined;
      const cited = Array.isArray(citations) && hasResults ? citations : [];
      const read = cited.flatMap((citation) => listOf(readCitation(objectOf(citation))));
      return { type, from, to, ...(read[0] && { citations: read }) };
    }
    case 'tool_use':
      return { type };
    default:
      return readServerBlock(item);
  }
}

function isCount(value: unknown): value is number {
  return Number.isInteger(value);
}
