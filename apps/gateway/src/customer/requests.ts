/**
 * `GET /v1/dashboard/requests`: the recorded requests of a key or of all keys of its account,
 * failed ones too. `GET /v1/dashboard/requests/summary`: their sums.
 */

import { z } from 'zod';
import { MINUTE_MS } from '../base/times.js';
import { csvOf } from '../endpoints/csv.js';
import { MUST_BE_AFTER_FROM, isInOrder, isWholeCsv, pagedFormat } from '../endpoints/fields.js';
import {
  TOO_MANY_REQUEST_SUMS,
  readRequests,
  requestFields,
  requestSumFields,
  readRequestSums,
  sumQueryOf,
} from '../endpoints/requests.js';
import * as schema from '../endpoints/schemas.js';
import { requestView } from '../endpoints/schemas/requests.js';
import type { ReadPages } from '../http/exports.js';
import { RECORDED_FROM } from '../http/list-headers.js';
import { invalidQuery, refusalOfQuery } from '../http/query-refusal.js';
import { csvPagesOf } from './csv-pages.js';
import type { CustomerParts } from './customer-parts.js';
import { keyEndpoint, wrongCursor } from './key-route.js';
import type { ReadAnswer } from './key-route.js';
import { refusalOfScope, scopeOf, whose } from './whose.js';

const POLICY = { limit: 120, windowMs: MINUTE_MS } as const;
const ROUTE = { method: 'get', credential: 'link', name: 'requests', limit: POLICY } as const;

const COLUMNS = Object.keys(schema.recordedRequest.shape);

const listQuery = z
  .strictObject({
    ...requestFields,
    ...whose,
    format: pagedFormat.default('json'),
  })
  .refine(isInOrder, MUST_BE_AFTER_FROM);

export const listRequests = keyEndpoint(
  {
    ...ROUTE,
    path: '/v1/dashboard/requests',
    id: 'listRequests',
    summary: 'Recorded requests, failed ones too, the last one that ended first',
    query: listQuery,
    result: schema.listOf(schema.recordedRequest),
    alsoAs: ['text/csv'],
  },
  (parts) =>
    async (key, req): Promise<ReadAnswer> => {
      const query = listQuery.safeParse(req.query);
      if (!query.success) return { refusal: refusalOfQuery(query.error) };
      const scope = await scopeOf(query.data, key, parts);
      if (scope === undefined) return { refusal: refusalOfScope(query.data) };
      if (isWholeCsv(req.query)) return { pages: requestPages(query.data, scope, parts.store) };
      try {
        const { requests, next } = await readRequests(query.data, scope, parts.store);
        const data = requests.map(requestView);
        if (query.data.format === 'json') {
          const more = { has_more: next !== undefined, next_cursor: next ?? null };
          return { json: { object: 'list', data, ...more } };
        }
        const text = csvOf(COLUMNS, data);
        return { text, contentType: 'text/csv; charset=utf-8', next };
      } catch (error) {
        if (!(error instanceof RangeError)) throw error;
        return { refusal: wrongCursor() };
      }
    },
);

function requestPages(
  query: z.output<typeof listQuery>,
  scope: Parameters<typeof readRequests>[1],
  store: CustomerParts['store'],
): ReadPages {
  return csvPagesOf(
    query,
    async (asked) => ({
      ...(await readRequests(asked, scope, store)),
      since: await store.requestsRecordedFrom('requests'),
    }),
    ({ requests, since }, write) => ({
      text: write(COLUMNS, requests.map(requestView)),
      headers: since === undefined ? {} : { [RECORDED_FROM]: since.toISOString() },
    }),
  );
}

const sumQuery = z
  .strictObject({
    ...requestSumFields([
      'model',
      'key',
      'endpoint',
      'status',
      'error',
      'client',
      'session',
      'tag',
    ]),
    ...whose,
  })
  .refine(isInOrder, MUST_BE_AFTER_FROM);

export const sumRequests = keyEndpoint(
  {
    ...ROUTE,
    path: '/v1/dashboard/requests/summary',
    id: 'sumRequests',
    summary: 'Sums of recorded requests, of the last 24 hours if no range is given',
    query: sumQuery,
    result: schema.requestSums,
  },
  (parts) =>
    async (key, req): Promise<ReadAnswer> => {
      const query = sumQuery.safeParse(req.query);
      if (!query.success) return { refusal: refusalOfQuery(query.error) };
      const scope = await scopeOf(query.data, key, parts);
      if (scope === undefined) return { refusal: refusalOfScope(query.data) };
      const asked = sumQueryOf(query.data, scope, parts.now());
      if (asked.from >= asked.until) {
        return { refusal: invalidQuery('from', 'must not be in the future') };
      }
      try {
        return { json: await readRequestSums(asked, parts.store) };
      } catch (error) {
        if (!(error instanceof RangeError)) throw error;
        return { refusal: invalidQuery('from', TOO_MANY_REQUEST_SUMS) };
      }
    },
);
