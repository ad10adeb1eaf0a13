/**
 * Translates the usage of a chat completion to native counts.
 *
 * `prompt_tokens` counts the whole prompt, and the native `input_tokens` only its uncached part.
 * Some servers do not include reasoning in the count of the completion; `total_tokens` shows which.
 */

import { isJsonObject, objectOf } from '../../wire/raw-json.js';
import { isTokenCount, type UsageReading } from '../../wire/usage.js';
import type { DeltaUsage, NativeUsage } from './message.js';

/**
 * Reads `usage` strictly, because a charge must not be guessed. `prompt_tokens` and
 * `completion_tokens` must be present; details that are absent or null count as 0. The reading is
 * `invalid` if a count is not an integer from 0 to 2^31-1, if a part exceeds its whole, or if the
 * sums do not add up.
 *
 * Cache reads are `prompt_tokens_details.cached_tokens`, or DeepSeek's `prompt_cache_hit_tokens`.
 * Cache writes are `cache_write_tokens`. If `total_tokens` shows that reasoning is counted beside
 * the completion (https://docs.x.ai/docs/key-information/consumption-and-rate-limits), the two are
 * added.
 */
export function readChatUsage(chat: unknown): UsageReading {
  if (!isJsonObject(chat)) return { outcome: 'invalid', reason: 'usage is missing' };
  const problems: string[] = [];
  const count = (value: unknown, name: string): number => {
    if (isTokenCount(value)) return value;
    problems.push(`${name} is not a token count`);
    return 0;
  };
  const optional = (value: unknown, name: string): number =>
    value == null ? 0 : count(value, name);

  const inPrompt = objectOf(chat['prompt_tokens_details']);
  const inCompletion = objectOf(chat['completion_tokens_details']);
  const prompt = count(chat['prompt_tokens'], 'prompt_tokens');
  const completion = count(chat['completion_tokens'], 'completion_tokens');
  const cached = optional(
    inPrompt['cached_tokens'] ?? chat['prompt_cache_hit_tokens'],
    'cached_tokens',
  );
  const written = optional(inPrompt['cache_write_tokens'], 'cache_write_tokens');
  const reasoning = optional(inCompletion['reasoning_tokens'], 'reasoning_tokens');
  const total = chat['total_tokens'] ?? prompt + completion;
  const isReasoningApart = reasoning > 0 && total === prompt + completion + reasoning;
  const output = isReasoningApart ? completion + reasoning : completion;

  if (total !== prompt + output) problems.push('the parts do not add up to total_tokens');
  if (cached + written > prompt) problems.push('cached and written tokens exceed prompt_tokens');
  if (reasoning > output) problems.push('reasoning_tokens exceeds completion_tokens');
  const [reason] = problems;
  if (reason !== undefined) return { outcome: 'invalid', reason };
  return {
    outcome: 'read',
    usage: {
      inputTokens: prompt - cached - written,
      outputTokens: output,
      cacheReadInputTokens: cached,
      cacheCreationInputTokens: written,
      cacheCreation1hInputTokens: 0,
      thinkingTokens: reasoning,
    },
  };
}

/**
 * Null, because a 0 would be read as a count (docs/decisions/0012). The SDK's types have no null
 * here.
 */
const UNKNOWN_COUNT = null as unknown as number;

/** Native counts. If the usage is missing or invalid, every count is null. */
export function deltaUsage(reading: UsageReading): DeltaUsage {
  const usage = reading.outcome === 'read' ? reading.usage : undefined;
  return {
    input_tokens: usage?.inputTokens ?? null,
    output_tokens: usage?.outputTokens ?? UNKNOWN_COUNT,
    cache_read_input_tokens: usage?.cacheReadInputTokens ?? null,
    cache_creation_input_tokens: usage?.cacheCreationInputTokens ?? null,
    output_tokens_details: usage === undefined ? null : { thinking_tokens: usage.thinkingTokens },
    server_tool_use: null,
  };
}

/** The tier of a completion in the native vocabulary; null if the native API has no such tier. */
export function nativeServiceTier(tier: unknown): NativeUsage['service_tier'] {
  if (tier === 'default') return 'standard';
  return tier === 'priority' ? tier : null;
}

export function nativeUsage(reading: UsageReading, tier: NativeUsage['service_tier']): NativeUsage {
  return {
    ...deltaUsage(reading),
    input_tokens: reading.outcome === 'read' ? reading.usage.inputTokens : UNKNOWN_COUNT,
    cache_creation: null,
    service_tier: tier,
    speed: null,
    inference_geo: null,
  };
}

/**
 * The usage in `message_start`, before most upstreams have reported any. `input_tokens` is then 0,
 * because clients such as the Vercel AI SDK end a stream that begins with a null there. The final
 * count replaces it. `output_tokens` stays null until it is known, so that a usage that is never
 * reported does not read as 0 tokens.
 */
export function startUsage(reading: UsageReading, tier: NativeUsage['service_tier']): NativeUsage {
  const usage = nativeUsage(reading, tier);
  return reading.outcome === 'read' ? usage : { ...usage, input_tokens: 0 };
}

export const UNKNOWN_USAGE: UsageReading = { outcome: 'invalid', reason: 'usage is missing' };
