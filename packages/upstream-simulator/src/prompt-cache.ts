/**
 * Prompt caching as clients observe it: the first request with a marked prefix writes it, and later
 * requests with the same prefix read it. Stores prefixes as hashes and drops the oldest first.
 */

import { createHash } from 'node:crypto';
import { asArray, asObject, isObject, tokensOf } from './message.js';
import type { JsonObject, MessageUsage } from './message.js';
import { outputSchemaOf } from './output-format.js';

export interface PromptCache {
  /** Counts the input side of a request's usage, and stores the prefixes that the request marks. */
  account(request: JsonObject): Omit<MessageUsage, 'output_tokens' | 'output_tokens_details'>;
  clear(): void;
}

const MAX_PREFIXES = 10_000;

interface Piece {
  readonly text: string;
  readonly lifetime: '5m' | '1h' | undefined;
}

export function createPromptCache(): PromptCache {
  const known = new Set<string>();

  function remember(key: string): void {
    known.add(key);
    if (known.size <= MAX_PREFIXES) return;
    const [oldest] = known;
    if (oldest !== undefined) known.delete(oldest);
  }

  return {
    account(request) {
      const pieces = piecesOf(request);
      const hash = createHash('sha256').update(String(request['model']));
      let total = 0;
      let read = 0;
      let written = 0;
      let writtenFor1h = 0;
      for (const { text, lifetime } of pieces) {
        total += tokensOf(text);
        hash.update('\0').update(text);
        if (lifetime === undefined) continue;
        const key = hash.copy().digest('base64');
        if (known.has(key)) {
          read = total;
          written = 0;
          writtenFor1h = 0;
        } else {
          const fresh = total - read - written;
          written += fresh;
          if (lifetime === '1h') writtenFor1h += fresh;
          remember(key);
        }
      }
      return {
        input_tokens: Math.max(1, total - read - written),
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
  const add = (value: unknown): void => {
    const { cache_control: mark, ...rest } = asObject(value);
    pieces.push({ text: JSON.stringify(rest), lifetime: lifetimeOf(mark) });
  };
  const schema = outputSchemaOf(request);
  // The API puts the description of the format at the start of the prompt.
  if (schema !== undefined) pieces.push({ text: JSON.stringify(schema), lifetime: undefined });
  asArray(request['tools']).forEach(add);
  for (const part of [request['system'], ...asArray(request['messages'])]) {
    const content = isObject(part) ? part['content'] : part;
    if (typeof content === 'string') pieces.push({ text: content, lifetime: undefined });
    else asArray(content).forEach(add);
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
