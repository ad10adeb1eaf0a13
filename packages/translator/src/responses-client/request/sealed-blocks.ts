/**
 * Reads what `encrypted_content` of a reasoning item has: the JSON text of a thinking block, or of
 * the blocks of searches. A client can write anything here, and `JSON.parse` takes long and much
 * memory for a megabyte of brackets, so only texts with few brackets are parsed.
 */

import {
  pairedBlocks,
  readServerBlock,
  SERVER_BLOCKS,
  type ServerBlock,
} from '../../wire/server-block.js';
import { closingQuote } from '../../wire/json-strings.js';
import { listOf } from '../../wire/lists.js';
import { type JsonObject, objectsOf, parseObject } from '../../wire/raw-json.js';

/** The text begins so, because the translation writes it. */
const BEGINNING = `{"type":"${SERVER_BLOCKS}",`;
/** Results of searches have one object for each page. */
const MOST_VALUES = 10_000;
const MOST_LEVELS = 5;

/** The object in the text; undefined when there is none, or one with nested values. */
export function readSealed(text: string): JsonObject | undefined {
  return hasAtMost(text, 1, 1) ? parseObject(text) : undefined;
}

/**
 * The blocks of searches in the text, as far as each use has its result and each result its use;
 * undefined if the text has no blocks.
 */
export function readServerBlocks(text: string): ServerBlock[] | undefined {
  if (!text.startsWith(BEGINNING) || !hasAtMost(text, MOST_VALUES, MOST_LEVELS)) return undefined;
  const blocks = objectsOf(parseObject(text)?.['blocks']);
  return pairedBlocks(blocks.flatMap((block) => listOf(readServerBlock(block))));
}

/** Whether the text starts with `{` and has no more objects and lists, and no more levels. */
function hasAtMost(text: string, values: number, levels: number): boolean {
  if (!text.startsWith('{')) return false;
  let [opened, level] = [0, 0];
  for (let at = 0; ;) {
    const opening = text.indexOf('"', at);
    const between = text.slice(at, opening === -1 ? text.length : opening);
    for (const bracket of between) {
      if (bracket === '{' || bracket === '[') {
        opened += 1;
        level += 1;
        if (opened > values || level > levels) return false;
      } else if (bracket === '}' || bracket === ']') level -= 1;
    }
    if (opening === -1) return true;
    const closing = closingQuote(text, opening);
    if (closing === -1) return false;
    at = closing + 1;
  }
}
