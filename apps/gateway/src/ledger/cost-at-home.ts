/** What differs in the charge and the cost of an answer by the upstream account that gave it. */

import type { ModelPrice, PriceTable } from '@gateway/billing';
import type { UsageReading } from '@gateway/translator';

type ReadUsage = Extract<UsageReading, { readonly outcome: 'read' }>;

/** By the name of an account, only those with prices of their own. */
export type PricesAtHomes = ReadonlyMap<string, PriceTable>;

interface Priced {
  readonly price: ModelPrice;
  readonly prices: PriceTable;
  readonly homePrices?: PricesAtHomes | undefined;
  readonly call: { readonly account?: string | undefined };
}

/** @returns the exchange with the prices of the account that answered, if it has its own */
export function atPricesOfHome<Exchange extends Priced>(exchange: Exchange): Exchange {
  const { homePrices, call } = exchange;
  const prices = call.account === undefined ? undefined : homePrices?.get(call.account);
  if (prices === undefined) return exchange;
  const price = prices.find(exchange.price.id);
  // Only after a reload between the choice of the upstream and that of the prices. Then the prices
  // hold that the customer pays elsewhere.
  return price === undefined ? exchange : { ...exchange, prices, price };
}

/**
 * The reading for the table of costs: in the geography that the usage reports, or otherwise in the
 * one that is known.
 */
export function inGeography(reading: ReadUsage, geography: string | undefined): ReadUsage {
  const { circumstances } = reading;
  if (geography === undefined || circumstances?.inferenceGeo !== undefined) return reading;
  return { ...reading, circumstances: { ...circumstances, inferenceGeo: geography } };
}
