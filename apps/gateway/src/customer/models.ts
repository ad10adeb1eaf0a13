/**
 * `GET /v1/models` and `GET /v1/models/{id}`: the price table, in one shape that both SDK families
 * read (each ignores the members of the other). Codex gets a shape of its own.
 */

import { z } from 'zod';
import type { KeyRecord } from '@gateway/balance-store';
import { isDeprecated } from '@gateway/billing';
import type { ModelPrice } from '@gateway/billing';
import * as schema from '../endpoints/schemas.js';
import { modelNotFound } from '../exchange/preparation/prepare-request.js';
import { pricesUnavailable } from '../exchange/price-book.js';
import type { PriceBook } from '../exchange/price-book.js';
import { invalidQuery, refusalOfQuery } from '../http/query-refusal.js';
import { codexModels } from './codex-models.js';
import type { CustomerParts } from './customer-parts.js';
import { keyEndpoint } from './key-route.js';
import type { ReadAnswer } from './key-route.js';
import { capabilitiesOf } from './model-capabilities.js';

/** The models that the key may use, at the prices of its account, and that a home serves to it. */
export function modelsOf(
  key: KeyRecord,
  { prices }: PriceBook,
  parts: Pick<CustomerParts, 'upstream'>,
): readonly ModelPrice[] {
  const { models } = key;
  return prices
    .list()
    .filter(({ id }) => (models === null || models.includes(id)) && isServed(id, key, parts));
}

function isServed(
  model: string,
  { accountId }: KeyRecord,
  { upstream }: Pick<CustomerParts, 'upstream'>,
): boolean {
  return upstream.refusalFor?.({ operation: 'messages', model, accountId }) === undefined;
}

/** Answers with what a request of the key would be charged if it began now. */
export function withBook(
  key: KeyRecord,
  parts: Pick<CustomerParts, 'bookOf' | 'now'>,
  answer: (book: PriceBook) => ReadAnswer,
): ReadAnswer {
  const reading = parts.bookOf(key.prices, parts.now());
  return 'problem' in reading
    ? { refusal: pricesUnavailable(reading.problem) }
    : answer(reading.book);
}

/**
 * The parameters of the provider's endpoint, except that the default is the whole list, because
 * OpenAI's clients do not read further pages.
 */
const pageQuery = z.object({
  limit: z.coerce
    .number<number>('must be a number')
    .int('must be an integer')
    .min(1, 'must be at least 1')
    .max(1000, 'must be at most 1000')
    .default(1000),
  after_id: z.string('must be given once').optional(),
  before_id: z.string('must be given once').optional(),
  // The provider leaves retired models out unless they are asked for. The table has none.
  lifecycle: z
    .preprocess(
      (given) => (typeof given === 'string' ? [given] : given),
      z.array(z.enum(['active', 'deprecated', 'retired'])).max(3, 'must have at most 3 values'),
    )
    .default(['active', 'deprecated']),
  client_version: z
    .string('must be given once')
    .optional()
    .meta({ description: 'sent by Codex, which gets the list in its own shape, in one page' }),
});

const ROUTE = {
  method: 'get',
  credential: 'x-api-key',
  name: 'models',
  limit: undefined,
} as const;

export const listModels = keyEndpoint(
  {
    ...ROUTE,
    path: '/v1/models',
    id: 'listModels',
    summary: 'The models that the key may use',
    query: pageQuery,
    result: z.union([schema.models, schema.codexModels]),
  },
  (parts) => (key, req) => {
    // Anthropic's SDKs write the name of a list with brackets.
    const { 'lifecycle[]': lifecycle, ...members } = req.query;
    const query = pageQuery.safeParse({ lifecycle, ...members });
    if (!query.success) return { refusal: refusalOfQuery(query.error) };
    return withBook(key, parts, (book) =>
      answerOf(modelsOf(key, book, parts), query.data, { book, parts }),
    );
  },
);

function answerOf(
  models: readonly ModelPrice[],
  query: z.output<typeof pageQuery>,
  { book, parts }: { readonly book: PriceBook; readonly parts: CustomerParts },
): ReadAnswer {
  const now = parts.now();
  if (query.client_version !== undefined) return { json: codexModels(models, now) };
  const wanted = models.filter((price) => query.lifecycle.includes(lifecycleOf(price, now)));
  const page = pageOf(wanted, query);
  if ('unknown' in page) {
    return { refusal: invalidQuery(page.unknown, 'is not a model that is offered') };
  }
  const data = page.models.map((price) => modelObject(price, book, now));
  return {
    json: {
      object: 'list',
      data,
      has_more: page.hasMore,
      first_id: data[0]?.id ?? null,
      last_id: data.at(-1)?.id ?? null,
    },
  };
}

interface ModelPage {
  readonly models: readonly ModelPrice[];
  readonly hasMore: boolean;
}

/**
 * With only `before_id`, a page ends right before that model, and the next page precedes this page.
 */
function pageOf(
  models: readonly ModelPrice[],
  { limit, after_id: after, before_id: before }: z.output<typeof pageQuery>,
): ModelPage | { readonly unknown: 'after_id' | 'before_id' } {
  const placeOf = (id: string): number => models.findIndex((model) => model.id === id);
  const from = after === undefined ? 0 : placeOf(after) + 1;
  if (after !== undefined && from === 0) return { unknown: 'after_id' };
  const to = before === undefined ? models.length : placeOf(before);
  if (to === -1) return { unknown: 'before_id' };
  const between = models.slice(from, to);
  const isBackwards = before !== undefined && after === undefined;
  return {
    models: isBackwards ? between.slice(-limit) : between.slice(0, limit),
    hasMore: between.length > limit,
  };
}

export const getModel = keyEndpoint(
  {
    ...ROUTE,
    path: '/v1/models/:id',
    id: 'getModel',
    summary: 'One model',
    result: schema.model,
  },
  (parts) => (key, req) =>
    withBook(key, parts, (book) => {
      const id = String(req.params['id']);
      const price = book.prices.find(id);
      return price === undefined || !isServed(id, key, parts)
        ? { refusal: modelNotFound(id) }
        : { json: modelObject(price, book, parts.now()) };
    }),
);

/**
 * Like the provider, which calls a model `deprecated` until it has really retired it, even after
 * the day for which that was announced.
 */
function lifecycleOf(price: ModelPrice, now: number): 'active' | 'deprecated' {
  return isDeprecated(price, now) ? 'deprecated' : 'active';
}

function modelObject(price: ModelPrice, book: PriceBook, now: number) {
  const lifecycle = lifecycleOf(price, now);
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
    capabilities: capabilitiesOf(price.traits, book),
    lifecycle,
    deprecated_at: lifecycle === 'active' ? null : (price.deprecatedAt ?? null),
    retires_at: lifecycle === 'active' ? null : (price.retiresAt ?? null),
    line: price.line ?? null,
    rate_in: price.rateIn,
    rate_out: price.rateOut,
  };
}
