/** Which features of the upstream a request may use. */

import type { PriceTable } from '@gateway/billing';
import type { Config } from './config.js';
import type { PricedFeature } from './variables.js';

/** Those that the operator allows, and those that the table has prices for, unless refused. */
export function admittedFeatures(
  { allowedFeatures, refusedFeatures }: Pick<Config, 'allowedFeatures' | 'refusedFeatures'>,
  prices: PriceTable,
): ReadonlySet<PricedFeature> {
  const features = [...allowedFeatures, ...pricedFeatures(prices)];
  return new Set(features.filter((feature) => !refusedFeatures.has(feature)));
}

function pricedFeatures(prices: PriceTable): readonly PricedFeature[] {
  const variants = prices.list().flatMap((price) => price.variants);
  const features: PricedFeature[] = [];
  if (prices.fees.has('web_search_requests')) features.push('web_search');
  if (variants.some(({ circumstances }) => circumstances.speed !== undefined)) {
    features.push('fast_mode');
  }
  if (variants.some(({ circumstances }) => circumstances.inferenceGeo !== undefined)) {
    features.push('inference_geo');
  }
  // A table that prices several models in one answer prices all that is beside its counts.
  if (prices.fallbacks === 'admitted') features.push('fallbacks', 'compaction', 'advisor');
  return features;
}
