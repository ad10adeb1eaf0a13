/**
 * The tokens that the provider bills for a message. They may differ from the usage that the client
 * received.
 */

import { asObject } from './message.js';
import type { JsonObject, MessageUsage } from './message.js';

/** The classes of tokens, by their names in the cost report. */
export const TOKEN_TYPES = [
  'uncached_input_tokens',
  'output_tokens',
  'cache_read_input_tokens',
  'cache_creation.ephemeral_5m_input_tokens',
  'cache_creation.ephemeral_1h_input_tokens',
] as const;
export type TokenType = (typeof TOKEN_TYPES)[number];

export type TokenCounts = Readonly<Record<TokenType, number>>;

export interface BilledUsage {
  /** When the message was generated, in milliseconds since the epoch. */
  readonly atMs: number;
  readonly model: string;
  readonly tokens: TokenCounts;
}

/**
 * The tokens of a message that the reports count; `undefined` if they do not count the message.
 *
 * @param sent - The usage as it is sent. If a script made one of the four counts unreadable, that
 * of `own` is used.
 * @param own - The simulator's own usage.
 * @param billed - Counts that a script sets, or `null` if it excludes the message from the reports.
 */
export function billedTokens(
  sent: JsonObject | undefined,
  own: MessageUsage,
  billed: Partial<TokenCounts> | null | undefined,
): TokenCounts | undefined {
  if (billed === null) return undefined;
  const usage = asObject(sent);
  const count = (name: keyof MessageUsage): number =>
    countOf(usage[name]) ?? countOf(own[name]) ?? 0;
  const written = count('cache_creation_input_tokens');
  const lifetimes = asObject(usage['cache_creation'] ?? own['cache_creation']);
  const writtenFor1h = Math.min(written, countOf(lifetimes['ephemeral_1h_input_tokens']) ?? 0);
  return {
    uncached_input_tokens: count('input_tokens'),
    output_tokens: count('output_tokens'),
    cache_read_input_tokens: count('cache_read_input_tokens'),
    'cache_creation.ephemeral_5m_input_tokens': written - writtenFor1h,
    'cache_creation.ephemeral_1h_input_tokens': writtenFor1h,
    ...billed,
  };
}

function countOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}
