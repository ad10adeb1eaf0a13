/**
 * What a comparison with the provider's bill knows about models: their names in the ledger, and
 * what their tokens cost. A model may be in no other table than that of a single customer.
 */

import type { SettledRates, UsageSum } from '@gateway/balance-store';
import { listPriceTable } from '@gateway/billing';
import type { PriceTable } from '@gateway/billing';
import { DAY_MS } from '../../base/times.js';
import { findPrice } from '../../base/pricing.js';
import type { LivePrices } from '../../config/live-prices.js';

export interface ModelPrices {
  /** The name that the ledger has for a model, given that name, an alias or a dated name. */
  readonly nameOf: (model: string) => string;
  /** At the end of a day, in costs or usual prices; `undefined` if only customers have a price. */
  readonly ratesOf: (model: string, day: string, isAtCost: boolean) => SettledRates | undefined;
  /**
   * Gives charges the cost of their tokens if their model is only in tables of customers, so that
   * the table of costs did not have it when they were made. A day is compared by costs if all of
   * its charges have one.
   */
  readonly withCosts: (sum: UsageSum, day: string) => UsageSum;
}

export function readModelPrices(
  prices: Pick<LivePrices, 'at' | 'owned'>,
  costsAt: (atMs: number) => PriceTable | undefined,
  now: number,
): ModelPrices {
  const list = listPriceTable(now);
  const ratesIn = (tables: readonly (PriceTable | undefined)[], model: string) => {
    for (const table of tables) {
      const price = table && findPrice(table, model);
      if (price !== undefined) return price.rates;
    }
    return undefined;
  };
  const endOf = (day: string): number => new Date(day).getTime() + DAY_MS - 1;

  return {
    nameOf(model) {
      const tables = [prices.at(now), ...prices.owned().map((of) => of.at(now)), list];
      for (const table of tables) {
        const price = findPrice(table, model);
        if (price !== undefined) return price.id;
      }
      return model;
    },
    ratesOf(model, day, isAtCost) {
      const [end, usual] = [endOf(day), prices.at(endOf(day))];
      const costs = costsAt(end);
      return ratesIn(isAtCost ? [costs ?? usual, list] : [usual, costs, list], model);
    },
    withCosts(sum, day) {
      const { model = '', costed, requests, usage } = sum;
      const end = endOf(day);
      if (costed > 0 || findPrice(prices.at(end), model) !== undefined) return sum;
      const costs = costsAt(end);
      const rates = costs === undefined ? undefined : ratesIn([costs, list], model);
      if (rates === undefined) return sum;
      const { cacheCreation1hInputTokens: of1h } = usage;
      const cost =
        usage.inputTokens * rates.inputPerToken +
        usage.outputTokens * rates.outputPerToken +
        usage.cacheReadInputTokens * rates.cacheReadPerToken +
        (usage.cacheCreationInputTokens - of1h) * rates.cacheWrite5mPerToken +
        of1h * rates.cacheWrite1hPerToken;
      return { ...sum, cost, costed: requests };
    },
  };
}
