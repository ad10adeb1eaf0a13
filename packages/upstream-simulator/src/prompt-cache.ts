/**
 * Prompt caching as clients observe it: the first request with a marked prefix writes it, and later
 * requests with the same prefix read it. Stores prefixes as hashes and drops the oldest first.
 */

import { createHash } from 'node:crypto';
import { asArray, asObject, isObject, tokensOf } from './message/message.js';
import type { JsonObject, MessageUsage } from './message/message.js';
import { outputSchemaOf } from './schemas/output-format.js';

export interface PromptCache {
  /** Counts the input side of a request's usage, and stores the prefixes that the request marks. */
  account(request: JsonObject): Omit<MessageUsage, 'output_tokens' | 'output_tokens_details'>;
  clear(): void;
}

const MAX_PREFIXES = 10_000;

/** How many blocks the API looks back from a cache point for an earlier entry. */
const LOOK_BACK = 20;
/** The API caches no prefix with fewer tokens. Some models need more, others less. */
const MIN_TOKENS = 1_024;
const LOWER_MIN_TOKENS: Readonly<Record<string, number>> = { 'claude-sonnet-5-5': 512 };

interface Piece {
  /** What the cache compares. */
  readonly text: string;
  readonly tokens: number;
  readonly lifetime: '5m' | '1h' | undefined;
}

/** @param minTokensOfAll - The least tokens of a cached prefix; by default as in the API. */
export function createPromptCache(minTokensOfAll?: number): PromptCache {
  const known = new Set<string>();

  function remember(key: string): void {
    known.add(key);
    if (known.size <= MAX_PREFIXES) return;
    const [oldest] = known;
    if (oldest !== undefined) known.delete(oldest);
  }

  return {
    account(request) {
      const model = String(request['model']);
      const minTokens = minTokensOfAll ?? LOWER_MIN_TOKENS[model] ?? MIN_TOKENS;
      const hash = createHash('sha256').update(model);
      let total = 0;
      const prefixes = piecesOf(request).map(({ text, tokens, lifetime }) => {
        total += tokens;
        const key = hash.update('\0').update(text).copy().digest('base64');
        return { key, tokens: total, lifetime: total < minTokens ? undefined : lifetime };
      });
      let read = 0;
      for (const [at, { lifetime }] of prefixes.entries()) {
        if (lifetime === undefined) continue;
        const near = prefixes.slice(Math.max(0, at + 1 - LOOK_BACK), at + 1);
        read = near.findLast(({ key }) => known.has(key))?.tokens ?? read;
      }
      let end = read;
      let writtenFor1h = 0;
      for (const { key, tokens, lifetime } of prefixes) {
        if (lifetime === undefined) continue;
        remember(key);
        if (lifetime === '1h') writtenFor1h += Math.max(0, tokens - end);
        end = Math.max(end, tokens);
      }
      const written = end - read;
      return {
        input_tokens: Math.max(1, total - end),
        cache_creation_input_tokens: written,
        cache_read_input_tokens: read,
        cache_creation: {
          ephemeral_5m_input_tokens: written - writtenFor1h,
          ephemeral_1h_input_tokens: writtenFor1h,
        },
      };
    },
    clear() {
      known.clear();
    },
  };
}

/** The prompt in the order of caching: output format, tools, system, messages. */
function piecesOf(request: JsonObject): Piece[] {
  const pieces: Piece[] = [];
  const add = (role: unknown, value: unknown): void => {
    const { cache_control: mark, ...block } = asObject(value);
    const { type, text } = block;
    // A text counts the same as a string and as a block.
    const counted = type === 'text' ? String(text) : JSON.stringify(block);
    pieces.push({
      text: `${String(role)}\0${JSON.stringify(block)}`,
      tokens: tokensOf(counted),
      lifetime: lifetimeOf(mark),
    });
  };
  const addAll = (role: unknown, content: unknown): void => {
    if (typeof content === 'string') add(role, { type: 'text', text: content });
    else for (const block of asArray(content)) add(role, block);
  };
  const schema = outputSchemaOf(request);
  // The API puts the description of the format at the start of the prompt.
  if (schema !== undefined) add('format', schema);
  addAll('tools', request['tools']);
  addAll('system', request['system']);
  for (const message of asArray(request['messages']).map(asObject)) {
    addAll(message['role'], message['content']);
  }
  const last = pieces.pop();
  if (last === undefined) return [];
  const automatic = lifetimeOf(request['cache_control']);
  return [...pieces, { ...last, lifetime: last.lifetime ?? automatic }];
}

function lifetimeOf(mark: unknown): Piece['lifetime'] {
  if (!isObject(mark)) return undefined;
  return mark['ttl'] === '1h' ? '1h' : '5m';
}
