/**
 * `GET /v1/dashboard/prices`: the prices of the models that the key may use, by class of tokens.
 */

import { MINUTE_MS } from '../base/times.js';
import * as schema from '../endpoints/schemas.js';
import { priceView } from '../endpoints/schemas/models.js';
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
        data: modelsOf(key, book, parts).map((price) =>
          priceView({ price, fees: book.prices.fees, nowMs: parts.now() }),
        ),
        has_more: false,
        next_cursor: null,
        are_agreed: key.prices !== null,
      },
    })),
);
