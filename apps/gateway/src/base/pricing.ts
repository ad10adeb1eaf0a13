/**
 * The price of a model, and how the rates of a charge were chosen, with its fees: as the ledger
 * records it, and as JSON.
 */

import type { SettledPricing } from '@gateway/balance-store';
import { formatUsd } from '@gateway/billing';
import type { AttemptCharge, ModelPrice, PriceTable } from '@gateway/billing';

/** Responses name a model with the date of its version, which the price table may leave out. */
export function findPrice(prices: PriceTable, model: string): ModelPrice | undefined {
  return prices.find(model) ?? prices.find(model.replace(/-\d{8}$/, ''));
}

/** What the terms of a charge can name. */
export const TERMS = ['above_prompt_tokens', 'speed', 'service_tier', 'inference_geo'] as const;

/** @returns `undefined` for tokens at the usual rates */
export function settledPricingOf({
  variant,
  fees,
}: Pick<AttemptCharge, 'variant' | 'fees'>): SettledPricing | undefined {
  const { abovePromptTokens, circumstances } = variant;
  const terms: Partial<Record<(typeof TERMS)[number], string>> = {};
  if (abovePromptTokens !== undefined) terms.above_prompt_tokens = String(abovePromptTokens);
  if (circumstances.speed !== undefined) terms.speed = circumstances.speed;
  if (circumstances.serviceTier !== undefined) terms.service_tier = circumstances.serviceTier;
  if (circumstances.inferenceGeo !== undefined) terms.inference_geo = circumstances.inferenceGeo;
  const isPlain = fees.length === 0 && Object.keys(terms).length === 0;
  return isPlain ? undefined : { terms, fees };
}

export function pricingView({ terms, fees }: SettledPricing) {
  return {
    terms,
    fees: fees.map(({ what, units, perUnit }) => ({
      what,
      units,
      unit_usd: formatUsd(perUnit),
      amount_usd: formatUsd(BigInt(units) * perUnit),
    })),
  };
}
