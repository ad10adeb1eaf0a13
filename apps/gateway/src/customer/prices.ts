/**
 * `GET /v1/dashboard/prices`: the prices of the models that the key may use, by class of tokens.
 */

import { isDeprecated } from '@gateway/billing';
import type { Fees, ModelPrice } from '@gateway/billing';
import { MINUTE_MS } from '../base/times.js';
import * as schema from '../endpoints/schemas.js';
import { ratesView, specialPricesView } from '../endpoints/views.js';
import { keyEndpoint } from './key-route.js';
import { modelsOf } from './models.js';

const POLICY = { limit: 120, windowMs: MINUTE_MS } as const;

export const listPrices = keyEndpoint(
  {
    method: 'get',
    path: '/v1/dashboard/prices',
    id: 'listPrices',
    summary: 'The prices of the models that the key may use',
    credential: 'link',
    result: schema.listOf(schema.price),
    name: 'prices',
    limit: POLICY,
  },
  (parts) => (key) => ({
    json: {
      object: 'list',
      data: modelsOf(key, parts).map((price) => priceView(price, parts.prices.fees, parts.now())),
      has_more: false,
      next_cursor: null,
    },
  }),
);

export function priceView(price: ModelPrice, fees: Fees, nowMs: number) {
  return {
    object: 'price' as const,
    model: price.id,
    display_name: price.displayName,
    /** In USD per million tokens. */
    rates: ratesView(price.rates),
    ...specialPricesView(price, fees),
    is_deprecated: isDeprecated(price, nowMs),
    max_input_tokens: price.contextWindow,
    max_output_tokens: price.maxOutputTokens,
  };
}
