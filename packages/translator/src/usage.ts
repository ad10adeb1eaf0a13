/**
 * Token counts of one request, read from what the upstream says of it.
 *
 * Streams tell usage more than once and cumulatively: the first event has the input side, later ones
 * replace what they name, and nothing is ever added.
 * https://platform.claude.com/docs/en/build-with-claude/streaming (SDK: `Usage`, `MessageDeltaUsage`)
 */

import { isJsonObject, objectOf, type JsonObject } from './raw-json.js';

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
  let reason: string | undefined;
  const count = (holder: JsonObject, name: string, absent?: 0): number => {
    const value = holder[name] ?? absent;
    if (isTokenCount(value)) return value;
    reason ??= `${name} is not a token count`;
    return 0;
  };
  const written = objectOf(native['cache_creation']);
  const usage: Usage = {
    inputTokens: count(native, 'input_tokens'),
    outputTokens: count(native, 'output_tokens'),
    cacheReadInputTokens: count(native, 'cache_read_input_tokens', 0),
    cacheCreationInputTokens: count(native, 'cache_creation_input_tokens', 0),
    cacheCreation1hInputTokens: count(written, 'ephemeral_1h_input_tokens', 0),
    thinkingTokens: count(objectOf(native['output_tokens_details']), 'thinking_tokens', 0),
  };
  const parts = usage.cacheCreation1hInputTokens + count(written, 'ephemeral_5m_input_tokens', 0);
  if (isJsonObject(native['cache_creation']) && parts !== usage.cacheCreationInputTokens) {
    reason ??= 'the parts of cache_creation do not add up to cache_creation_input_tokens';
  }
  if (usage.thinkingTokens > usage.outputTokens) {
    reason ??= 'output_tokens_details.thinking_tokens exceeds output_tokens';
  }
  return reason ? { outcome: 'invalid', reason } : { outcome: 'read', usage };
}

/**
 * Overlays a later usage object on an earlier one, member by member: what is present and not null
 * replaces, nothing is added. A null and a 0 differ.
 */
export function overlayUsage(earlier: JsonObject, later: unknown): JsonObject {
  const told = objectOf(later);
  const merged: Record<string, unknown> = { ...earlier };
  for (const name of Object.keys(told)) merged[name] = told[name] ?? merged[name];
  // Later events do not repeat the split by lifetime: with another total, the earlier split is void.
  const isSplitVoid = merged[WRITTEN] !== earlier[WRITTEN] && told['cache_creation'] == null;
  if (isSplitVoid) delete merged['cache_creation'];
  return merged;
}

const WRITTEN = 'cache_creation_input_tokens';

/** `usage` of a chat completion. `prompt_tokens` counts the whole prompt, so that totals add up. */
export function chatUsage({
  inputTokens,
  outputTokens,
  cacheReadInputTokens: cached,
  cacheCreationInputTokens: written,
  thinkingTokens,
}: Usage) {
  const promptTokens = inputTokens + cached + written;
  return {
    prompt_tokens: promptTokens,
    completion_tokens: outputTokens,
    total_tokens: promptTokens + outputTokens,
    prompt_tokens_details: { cached_tokens: cached, cache_write_tokens: written },
    completion_tokens_details: { reasoning_tokens: thinkingTokens },
  };
}
