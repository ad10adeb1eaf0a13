/**
 * The charge of a usage, by the specification's formula: a sum of integer products. It needs no
 * division, so no charge is ever rounded.
 */

import type { Rates } from './rates.js';

/** Token counts of one finished request, as reported in the upstream's usage object. */
export interface ChargeableUsage {
  /** Prompt tokens that neither came from the cache nor were written to it. */
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cacheReadInputTokens: number;
  /** All cache writes, of either lifetime. */
  readonly cacheCreationInputTokens: number;
  /** The part of `cacheCreationInputTokens` with a lifetime of one hour. */
  readonly cacheCreation1hInputTokens: number;
}

/** Larger than any context window, and small enough for a ledger column of 32 bits. */
export const MAX_TOKENS = 2 ** 31 - 1;

/**
 * The charge of one request, in units of 10^-14 USD.
 *
 * The charge is additive: two usages that are added field by field cost the sum of their charges.
 *
 * @throws {RangeError} when {@link usageProblem} reports a problem. Call it first for usage that
 * comes from outside.
 */
export function chargeOf(usage: ChargeableUsage, rates: Rates): bigint {
  const problem = usageProblem(usage);
  if (problem !== undefined) throw new RangeError(`usage cannot be charged: ${problem}`);
  const written5m = usage.cacheCreationInputTokens - usage.cacheCreation1hInputTokens;
  return (
    BigInt(usage.inputTokens) * rates.inputPerToken +
    BigInt(usage.outputTokens) * rates.outputPerToken +
    BigInt(usage.cacheReadInputTokens) * rates.cacheReadPerToken +
    BigInt(written5m) * rates.cacheWrite5mPerToken +
    BigInt(usage.cacheCreation1hInputTokens) * rates.cacheWrite1hPerToken
  );
}

/**
 * Describes the first count that is not an integer from 0 to 2^31-1 or that contradicts another.
 *
 * @returns `undefined` for a usage that can be charged.
 */
export function usageProblem(usage: ChargeableUsage): string | undefined {
  // Checks the five counts by name, because callers may pass objects with more members.
  const problem =
    countProblem('inputTokens', usage.inputTokens) ??
    countProblem('outputTokens', usage.outputTokens) ??
    countProblem('cacheReadInputTokens', usage.cacheReadInputTokens) ??
    countProblem('cacheCreationInputTokens', usage.cacheCreationInputTokens) ??
    countProblem('cacheCreation1hInputTokens', usage.cacheCreation1hInputTokens);
  if (problem !== undefined) return problem;
  if (usage.cacheCreation1hInputTokens > usage.cacheCreationInputTokens) {
    return 'cacheCreation1hInputTokens is more than cacheCreationInputTokens';
  }
  return undefined;
}

function countProblem(name: keyof ChargeableUsage, count: number): string | undefined {
  if (Number.isInteger(count) && count >= 0 && count <= MAX_TOKENS) return undefined;
  return `${name} is ${count}, not an integer from 0 to ${MAX_TOKENS}`;
}

/** Upper bounds of a request's tokens: its counted or estimated input, and its output limit. */
export interface TokenCeiling {
  /** All prompt tokens, of any class. */
  readonly promptTokens: number;
  /** The request's `max_tokens`. */
  readonly outputTokens: number;
}

/**
 * The highest charge that a request within `ceiling` can have, in units of 10^-14 USD: every prompt
 * token at the highest of the four input-side rates, and every output token used.
 *
 * @throws {RangeError} when a count is not an integer from 0 to 2^31-1.
 */
export function worstCaseCharge(ceiling: TokenCeiling, rates: Rates): bigint {
  for (const [name, count] of Object.entries(ceiling)) {
    if (!Number.isInteger(count) || count < 0 || count > MAX_TOKENS) {
      throw new RangeError(`${name} is ${count}, not an integer from 0 to ${MAX_TOKENS}`);
    }
  }
  return (
    BigInt(ceiling.promptTokens) * highestInputRate(rates) +
    BigInt(ceiling.outputTokens) * rates.outputPerToken
  );
}

function highestInputRate(rates: Rates): bigint {
  return [rates.cacheReadPerToken, rates.cacheWrite5mPerToken, rates.cacheWrite1hPerToken].reduce(
    (highest, rate) => (rate > highest ? rate : highest),
    rates.inputPerToken,
  );
}
