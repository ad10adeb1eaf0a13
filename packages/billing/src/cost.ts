/**
 * What a usage costs (specification section 2.7): integers times integers, summed. There is no division,
 * hence nothing to round.
 */

import type { Rates } from './rates.js';

/** Token counts of one finished request, as the upstream's usage object states them. */
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

/** Beyond any context window, and within what a ledger column of 32 bits holds. */
export const MAX_TOKENS = 2 ** 31 - 1;

/**
 * The charge of one request, in units of 10^-14 USD.
 *
 * Additive: the charge of two usages added field by field is the sum of their charges.
 *
 * @throws {RangeError} when {@link usageProblem} finds one: check usage from outside with it first.
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

/** Names the first count that is not an integer from 0 to 2^31-1, or contradicts another; else undefined. */
export function usageProblem(usage: ChargeableUsage): string | undefined {
  // Named one by one: callers may pass objects that carry more than these five.
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

/** The most tokens that a request can use: the input as counted or estimated, the output as limited. */
export interface TokenCeiling {
  /** All prompt tokens, whichever class they will be billed as. */
  readonly promptTokens: number;
  /** The request's `max_tokens`. */
  readonly outputTokens: number;
}

/**
 * The most that a request within `ceiling` can be charged, in units of 10^-14 USD: every prompt token at
 * the dearest of the four input-side prices, every output token used.
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
    BigInt(ceiling.promptTokens) * dearestInputRate(rates) +
    BigInt(ceiling.outputTokens) * rates.outputPerToken
  );
}

function dearestInputRate(rates: Rates): bigint {
  return [rates.cacheReadPerToken, rates.cacheWrite5mPerToken, rates.cacheWrite1hPerToken].reduce(
    (dearest, rate) => (rate > dearest ? rate : dearest),
    rates.inputPerToken,
  );
}
