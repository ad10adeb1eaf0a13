/** What a customer pays at one time, and what follows from it. */

import type { PriceTable } from '@gateway/billing';
import { newRefusal } from '../base/errors/refusal.js';
import type { Refusal } from '../base/errors/refusal.js';
import type { Config } from '../config/config.js';
import type { PricedFeature } from '../config/variables.js';
import type { PricesAtHomes } from '../ledger/cost-at-home.js';
import type { RequestPreparer } from './preparation/preparer.js';

export interface PriceBook {
  /** The models that the customer may call, with their prices. */
  readonly prices: PriceTable;
  /** Of upstream accounts with prices of their own; `undefined` if none has. */
  readonly homePrices: PricesAtHomes | undefined;
  /** Features that the operator allows, or has prices for. */
  readonly allowedFeatures: ReadonlySet<PricedFeature>;
  readonly overdraft: Config['exchange']['overdraft'];
  readonly preparer: RequestPreparer;
}

/** `problem`: why there are no such prices, for the operator. */
export type PriceBookReading = { readonly book: PriceBook } | { readonly problem: string };

/**
 * A customer whose own prices are missing must not be charged the usual ones.
 *
 * @param problem - Goes to the log, not to the customer.
 */
export function pricesUnavailable(problem: string): Refusal {
  return newRefusal('prices_unavailable', { fault: problem });
}
