/**
 * `GET /v1/dashboard/prices`: the prices of the models that the key may use, by class of tokens.
 */

import { isDeprecated } from '@gateway/billing';
import type { Fees, ModelPrice } from '@gateway/billing';
import { MINUTE_MS } from '../base/times.js';
import * as schema from '../endpoints/schemas.js';
import { ratesView, specialPricesView } from '../endpoints/views.js';
import { keyEndpoint } from './key-route.js';
import { modelsOf, withBook } from './models.js';

const POLICY = { limit: 120, windowMs: MINUTE_MS } as const;

export const listPrices = keyEndpoint(
  {
    method: 'get',
    path: '/v1/dashboard/prices',
    id: 'listPrices',
    summary: 'What the account pays for the models that the key may use',
    credential: 'link',
    result: schema.prices,
    name: 'prices',
    limit: POLICY,
  },
  (parts) => (key) =>
    withBook(key, parts, (book) => ({
      json: {
        object: 'list',
        data: modelsOf(key, book).map((price) => priceView(price, book.prices.fees, parts.now())),
        has_more: false,
        next_cursor: null,
        are_agreed: key.prices !== null,
      },
    })),
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
