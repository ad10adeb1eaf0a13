/** A charge that explains itself: every part of it, with the prices that apply. */

import type { ChargeableUsage } from './charge.js';
import { chargeOf } from './charge.js';
import type { ChargedFee, Fees, ServerToolUse } from './fees.js';
import { feesOf, sumOfFees } from './fees.js';
import type { CacheFactors, Rates } from './rates.js';
import type { Circumstances, PriceVariant } from './variants.js';
import { variantFor } from './variants.js';

/** One attempt of one model, as its usage object reports it. */
export interface PricedAttempt {
  readonly usage: ChargeableUsage;
  readonly circumstances: Circumstances;
  readonly serverToolUse: ServerToolUse;
  /**
   * Decides the band. The tokens of `usage` if absent; that of a single attempt if `usage` is the
   * sum of several.
   */
  readonly promptTokens?: number | undefined;
}

/** One line of a charge: units times a price. The amounts of all lines add up to the charge. */
export interface ChargePart {
  /** A class of tokens, or a member of `usage.server_tool_use`. */
  readonly what: string;
  readonly units: number;
  /** The price of one unit, in units of 10^-14 USD. */
  readonly perUnit: bigint;
  readonly amount: bigint;
  /** The published rate in USD per million tokens; absent for a fee. */
  readonly rate?: string;
  /** What the rate is multiplied by: the factor of cached tokens, then those of circumstances. */
  readonly factors: readonly string[];
}

export interface AttemptCharge {
  /** In units of 10^-14 USD. */
  readonly total: bigint;
  readonly rates: Rates;
  readonly variant: PriceVariant;
  readonly fees: readonly ChargedFee[];
}

export interface ItemizedCharge extends AttemptCharge {
  /** Without lines of no units. */
  readonly parts: readonly ChargePart[];
}

/**
 * The charge of one attempt at the prices of its model.
 *
 * @throws {RangeError} when a count cannot be charged; see `usageProblem`.
 */
export function chargeOfAttempt(
  { usage, circumstances, serverToolUse, promptTokens }: PricedAttempt,
  prices: { readonly variants: readonly PriceVariant[] },
  fees: Fees,
): AttemptCharge {
  const ofPrompt = promptTokens ?? promptTokensOf(usage);
  const variant = variantFor(prices, ofPrompt, circumstances);
  const charged = feesOf(serverToolUse, fees);
  return {
    total: chargeOf(usage, variant.rates) + sumOfFees(charged),
    rates: variant.rates,
    variant,
    fees: charged,
  };
}

/** As {@link chargeOfAttempt}, with every part of the charge. */
export function itemizeCharge(...attempt: Parameters<typeof chargeOfAttempt>): ItemizedCharge {
  const [{ usage }] = attempt;
  const charge = chargeOfAttempt(...attempt);
  return { ...charge, parts: [...tokenParts(usage, charge.variant), ...charge.fees.map(feePart)] };
}

/** All tokens of a prompt, of every class. They decide its band. */
export function promptTokensOf(
  usage: Pick<ChargeableUsage, 'inputTokens' | 'cacheReadInputTokens' | 'cacheCreationInputTokens'>,
): number {
  return usage.inputTokens + usage.cacheReadInputTokens + usage.cacheCreationInputTokens;
}

function tokenParts(usage: ChargeableUsage, variant: PriceVariant): ChargePart[] {
  const { rates, published, multipliers } = variant;
  const part = (
    what: string,
    units: number,
    price: keyof Rates,
    of: { readonly rate: 'rateIn' | 'rateOut'; readonly factor?: keyof CacheFactors },
  ): ChargePart[] => {
    if (units === 0) return [];
    const perUnit = rates[price];
    const factor = of.factor === undefined ? [] : [published.factors[of.factor]];
    const factors = [...factor, ...multipliers];
    const amount = BigInt(units) * perUnit;
    return [{ what, units, perUnit, amount, rate: published[of.rate], factors }];
  };
  const written1h = usage.cacheCreation1hInputTokens;
  const written5m = usage.cacheCreationInputTokens - written1h;
  const rate = 'rateIn';
  return [
    ...part('input', usage.inputTokens, 'inputPerToken', { rate }),
    ...part('output', usage.outputTokens, 'outputPerToken', { rate: 'rateOut' }),
    ...part('cache_read', usage.cacheReadInputTokens, 'cacheReadPerToken', {
      rate,
      factor: 'cacheRead',
    }),
    ...part('cache_write_5m', written5m, 'cacheWrite5mPerToken', { rate, factor: 'cacheWrite' }),
    ...part('cache_write_1h', written1h, 'cacheWrite1hPerToken', { rate, factor: 'cacheWrite1h' }),
  ];
}

function feePart({ what, units, perUnit }: ChargedFee): ChargePart {
  return { what, units, perUnit, amount: BigInt(units) * perUnit, factors: [] };
}
