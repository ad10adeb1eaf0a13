/** The charges of one response by the price table: one for each model, band and kind of work. */

import type { SettledPricing } from '@gateway/balance-store';
import {
  chargeOfAttempt,
  isUnbilled,
  promptTokensOf,
  UNBILLED_RATES,
  variantFor,
} from '@gateway/billing';
import type { AttemptCharge, AttemptEnd, ModelPrice, PriceTable, Rates } from '@gateway/billing';
import type { ModelRun, Usage, UsageReading } from '@gateway/translator';
import { findPrice, settledPricingOf } from '../base/pricing.js';

type ReadUsage = Extract<UsageReading, { readonly outcome: 'read' }>;
type Circumstances = NonNullable<ReadUsage['circumstances']>;

export interface PricedUsage {
  readonly usage: Usage;
  readonly amount: bigint;
  readonly rates: Rates;
  readonly pricing: SettledPricing | undefined;
}

export interface UsageToPrice {
  readonly usage: Usage;
  readonly price: ModelPrice;
  readonly end: AttemptEnd;
  readonly serverToolUse: Readonly<Record<string, number>>;
}

/**
 * Prices one model's part of a response. If its model runs are in different bands of prompt length,
 * there is a charge for each band.
 */
export function priceUsage(
  { usage, price, end, serverToolUse }: UsageToPrice,
  prices: PriceTable,
  { runs, circumstances = {} }: Pick<ReadUsage, 'runs' | 'circumstances'>,
): readonly [PricedUsage, ...PricedUsage[]] {
  if (isUnbilled(end, prices)) {
    return [{ usage, amount: 0n, rates: UNBILLED_RATES, pricing: undefined }];
  }
  const isOwn = ({ model }: ModelRun): boolean =>
    model === undefined || findPrice(prices, model)?.id === price.id;
  const [first, ...others] = hasBands(price)
    ? dividedByBand(usage, (runs ?? []).filter(isOwn), { price, circumstances })
    : [wholeOf(usage)];
  const priced = (part: BandUsage, used: UsageToPrice['serverToolUse']): PricedUsage =>
    pricedOf(
      part.usage,
      chargeOfAttempt({ ...part, circumstances, serverToolUse: used }, price, prices.fees),
    );
  return [priced(first, serverToolUse), ...others.map((part) => priced(part, {}))];
}

/**
 * What one model's part of a response cost the operator, in units of 10^-14 USD. `undefined` if the
 * table of costs lacks the model.
 */
export function costOf(
  part: UsageToPrice,
  costs: PriceTable | undefined,
  reading: Pick<ReadUsage, 'runs' | 'circumstances'>,
): bigint | undefined {
  const price = costs && findPrice(costs, part.price.id);
  if (costs === undefined || price === undefined) return undefined;
  return priceUsage({ ...part, price }, costs, reading).reduce(
    (sum, { amount }) => sum + amount,
    0n,
  );
}

function pricedOf(usage: Usage, charge: AttemptCharge): PricedUsage {
  const { total: amount, rates } = charge;
  return { usage, amount, rates, pricing: settledPricingOf(charge) };
}

/** The sum of the runs of one band. */
interface BandUsage {
  readonly usage: Usage;
  /** Of one of them. */
  readonly promptTokens: number;
}

function hasBands({ variants }: ModelPrice): boolean {
  return variants.some(({ abovePromptTokens }) => abovePromptTokens !== undefined);
}

function wholeOf(usage: Usage): BandUsage {
  return { usage, promptTokens: promptTokensOf(usage) };
}

/** The sums of the runs of each band; the usage as a whole if the runs do not add up to it. */
function dividedByBand(
  usage: Usage,
  runs: readonly ModelRun[],
  of: { readonly price: ModelPrice; readonly circumstances: Circumstances },
): readonly [BandUsage, ...BandUsage[]] {
  const { price, circumstances } = of;
  const bands = new Map<number | undefined, BandUsage>();
  for (const run of runs) {
    const promptTokens = promptTokensOf(run.usage);
    const { abovePromptTokens: band } = variantFor(price, promptTokens, circumstances);
    const sum = bands.get(band)?.usage;
    bands.set(band, {
      usage: sum === undefined ? run.usage : added(sum, run.usage),
      promptTokens,
    });
  }
  const [first, ...others] = bands.values();
  if (first === undefined) return [wholeOf(usage)];
  const total = others.reduce((sum, band) => added(sum, band.usage), first.usage);
  const isWhole = (Object.keys(usage) as (keyof Usage)[]).every(
    (count) => count === 'thinkingTokens' || total[count] === usage[count],
  );
  return isWhole ? [first, ...others] : [wholeOf(usage)];
}

function added(one: Usage, other: Usage): Usage {
  return {
    inputTokens: one.inputTokens + other.inputTokens,
    outputTokens: one.outputTokens + other.outputTokens,
    cacheReadInputTokens: one.cacheReadInputTokens + other.cacheReadInputTokens,
    cacheCreationInputTokens: one.cacheCreationInputTokens + other.cacheCreationInputTokens,
    cacheCreation1hInputTokens: one.cacheCreation1hInputTokens + other.cacheCreation1hInputTokens,
    thinkingTokens: one.thinkingTokens + other.thinkingTokens,
  };
}
