/**
 * `GET /v1/models` and `GET /v1/models/{id}`: the price table, in one shape that both SDK families
 * read (each ignores the members of the other).
 */

import type { RequestHandler } from 'express';
import type { ModelPrice } from '@gateway/billing';
import type { Refusal } from '../refusal.js';
import type { Services } from '../services.js';
import { keyRoute } from './key-route.js';

export function listModelsRoute(services: Services): RequestHandler {
  return keyRoute(
    { endpoint: 'models', accepted: 'bearer_or_x_api_key', limit: undefined },
    services,
    () => {
      const data = services.prices.list().map(modelObject);
      return {
        json: {
          object: 'list',
          data,
          has_more: false,
          first_id: data[0]?.id ?? null,
          last_id: data.at(-1)?.id ?? null,
        },
      };
    },
  );
}

export function getModelRoute(services: Services): RequestHandler {
  return keyRoute(
    { endpoint: 'models', accepted: 'bearer_or_x_api_key', limit: undefined },
    services,
    (_key, req) => {
      const id = String(req.params['id']);
      const price = services.prices.find(id);
      return price === undefined ? { refusal: modelNotFound(id) } : { json: modelObject(price) };
    },
  );
}

export function modelNotFound(model: string): Refusal {
  return {
    status: 404,
    type: 'not_found_error',
    message: `model: ${JSON.stringify(model.slice(0, 100))} is not offered; GET /v1/models lists those that are`,
    param: 'model',
    code: 'model_not_found',
  };
}

function modelObject(price: ModelPrice) {
  return {
    id: price.id,
    object: 'model',
    type: 'model',
    display_name: price.displayName,
    created: Math.floor(Date.parse(price.createdAt) / 1000),
    created_at: price.createdAt,
    owned_by: 'anthropic',
    max_input_tokens: price.contextWindow,
    max_tokens: price.maxOutputTokens,
    capabilities: null,
    lifecycle: 'active',
    deprecated_at: null,
    retires_at: null,
    line: null,
    rate_in: price.rateIn,
    rate_out: price.rateOut,
  };
}
