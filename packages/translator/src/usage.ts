/**
 * Token counts of one request, read from what the upstream says of it.
 *
 * Streams tell usage more than once and cumulatively: the first event has the input side, later ones
 * replace what they name, and nothing is ever added.
 * https://platform.claude.com/docs/en/build-with-claude/streaming (SDK: `Usage`, `MessageDeltaUsage`)
 */

import { isJsonObject, type JsonObject } from './raw-json.js';

/** Classes that do not overlap, but for the two parts that are named as such. */
export interface Usage {
  /** Prompt tokens that neither came from the cache nor were written to it. */
  readonly inputTokens: number;
  /** All generated tokens, thinking included. */
  readonly outputTokens: number;
  readonly cacheReadInputTokens: number;
  /** All cache writes, of either lifetime. */
  readonly cacheCreationInputTokens: number;
  /** The part of `cacheCreationInputTokens` with a lifetime of one hour. */
  readonly cacheCreation1hInputTokens: number;
  /** The part of `outputTokens` spent on thinking. */
  readonly thinkingTokens: number;
}

/** A usage document that money may depend on, or why it may not. */
export type UsageReading =
  | { readonly outcome: 'read'; readonly usage: Usage }
  | { readonly outcome: 'invalid'; readonly reason: string };

const MAX_TOKENS = 2 ** 31 - 1;

export function isTokenCount(value: unknown): value is number {
  return Number.isInteger(value) && Number(value) >= 0 && Number(value) <= MAX_TOKENS;
}

/**
 * Reads a native usage object strictly. `input_tokens` and `output_tokens` must be there; the cache
 * counts may be absent or null, which is 0. Whatever is no integer from 0 to 2^31-1 is invalid, and so
 * are parts that exceed their whole: money must not be guessed from such a document.
 */
export function readUsage(native: unknown): UsageReading {
  if (!isJsonObject(native)) return { outcome: 'invalid', reason: 'usage is missing' };
  const problems: string[] = [];
  const count = (value: unknown, name: string, isRequired: 'required' | 'optional'): number => {
    if (value == null && isRequired === 'optional') return 0;
    if (isTokenCount(value)) return value;
    problems.push(`${name} is not a token count`);
    return 0;
  };
  const split = objectOf(native['cache_creation']);
  const details = objectOf(native['output_tokens_details']);
  const usage: Usage = {
    inputTokens: count(native['input_tokens'], 'input_tokens', 'required'),
    outputTokens: count(native['output_tokens'], 'output_tokens', 'required'),
    cacheReadInputTokens: count(
      native['cache_read_input_tokens'],
      'cache_read_input_tokens',
      'optional',
    ),
    cacheCreationInputTokens: count(
      native['cache_creation_input_tokens'],
      'cache_creation_input_tokens',
      'optional',
    ),
    cacheCreation1hInputTokens: count(
      split['ephemeral_1h_input_tokens'],
      'cache_creation.ephemeral_1h_input_tokens',
      'optional',
    ),
    thinkingTokens: count(
      details['thinking_tokens'],
      'output_tokens_details.thinking_tokens',
      'optional',
    ),
  };
  const written5m = count(
    split['ephemeral_5m_input_tokens'],
    'cache_creation.ephemeral_5m_input_tokens',
    'optional',
  );
  const hasSplit = isJsonObject(native['cache_creation']);
  if (hasSplit && written5m + usage.cacheCreation1hInputTokens !== usage.cacheCreationInputTokens) {
    problems.push('the parts of cache_creation do not add up to cache_creation_input_tokens');
  }
  if (usage.thinkingTokens > usage.outputTokens) {
    problems.push('output_tokens_details.thinking_tokens exceeds output_tokens');
  }
  const [reason] = problems;
  return reason === undefined ? { outcome: 'read', usage } : { outcome: 'invalid', reason };
}

/**
 * Overlays a later usage object on an earlier one, member by member: what is present and not null
 * replaces, nothing is added. A null and a 0 differ.
 */
export function overlayUsage(earlier: JsonObject, later: unknown): JsonObject {
  if (!isJsonObject(later)) return earlier;
  const given = Object.entries(later).filter(([, value]) => value != null);
  const merged: JsonObject = { ...earlier, ...Object.fromEntries(given) };
  const written = 'cache_creation_input_tokens';
  // Later events do not repeat the split by lifetime: with another total, the earlier split is void.
  if (merged[written] === earlier[written] || later['cache_creation'] != null) return merged;
  const { cache_creation: _void, ...rest } = merged;
  return rest;
}

/** `usage` of a chat completion. `prompt_tokens` counts the whole prompt, so that totals add up. */
export function chatUsage(usage: Usage) {
  const promptTokens =
    usage.inputTokens + usage.cacheReadInputTokens + usage.cacheCreationInputTokens;
  return {
    prompt_tokens: promptTokens,
    completion_tokens: usage.outputTokens,
    total_tokens: promptTokens + usage.outputTokens,
    prompt_tokens_details: {
      cached_tokens: usage.cacheReadInputTokens,
      cache_write_tokens: usage.cacheCreationInputTokens,
    },
    completion_tokens_details: { reasoning_tokens: usage.thinkingTokens },
  };
}

export function objectOf(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}
