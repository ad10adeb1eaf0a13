/**
 * `GET /v1/dashboard/requests`: the recorded requests of a key or of all keys of its account,
 * failed ones too. `GET /v1/dashboard/requests/summary`: their sums.
 */

import { z } from 'zod';
import type { KeyRecord } from '@gateway/balance-store';
import { MINUTE_MS } from '../base/times.js';
import { csvOf } from '../endpoints/csv.js';
import { MUST_BE_AFTER_FROM, isInOrder, ofKey } from '../endpoints/fields.js';
import {
  TOO_MANY_REQUEST_SUMS,
  readRequests,
  requestFields,
  requestSumFields,
  requestSumsView,
  requestView,
  sumQueryOf,
} from '../endpoints/requests.js';
import * as schema from '../endpoints/schemas.js';
import { invalidQuery, refusalOfQuery } from '../http/query-refusal.js';
import type { CustomerParts } from './customer-parts.js';
import { keyEndpoint } from './key-route.js';
import type { ReadAnswer } from './key-route.js';
import { needsManage } from './scope.js';
import { maySeeAccount } from './statement.js';

const POLICY = { limit: 120, windowMs: MINUTE_MS } as const;
const ROUTE = { method: 'get', credential: 'link', name: 'requests', limit: POLICY } as const;

/**
 * `account`: the requests of all keys of the account, for a key that may see them. `key_id`: those
 * of one of them.
 */
const whose = { of: z.enum(['key', 'account']).default('key'), key_id: ofKey } as const;

type Whose = z.output<z.ZodObject<typeof whose>>;

/** @returns `undefined` if the key may not see them */
async function scopeOf(
  { of, key_id: asked }: Whose,
  key: KeyRecord,
  parts: CustomerParts,
): Promise<{ readonly accountId: string; readonly keyId?: string } | undefined> {
  const { accountId } = key;
  const keyId = asked ?? (of === 'key' ? key.id : undefined);
  if (keyId !== key.id && !(await maySeeAccount(key, parts))) return undefined;
  return keyId === undefined ? { accountId } : { accountId, keyId };
}

/** The field that asks for what the key may not see. */
const asking = ({ key_id: keyId }: Whose) => needsManage(keyId === undefined ? 'of' : 'key_id');

const listQuery = z
  .strictObject({
    ...requestFields,
    ...whose,
    format: z.enum(['json', 'csv']).default('json'),
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
      if (scope === undefined) return { refusal: asking(query.data) };
      try {
        const { requests, next } = await readRequests(query.data, scope, parts.store);
        const data = requests.map(requestView);
        if (query.data.format === 'json') {
          const more = { has_more: next !== undefined, next_cursor: next ?? null };
          return { json: { object: 'list', data, ...more } };
        }
        const text = csvOf(Object.keys(schema.recordedRequest.shape), data);
        return { text, contentType: 'text/csv; charset=utf-8', next };
      } catch (error) {
        if (!(error instanceof RangeError)) throw error;
        return { refusal: invalidQuery('cursor', 'is not a cursor of this endpoint') };
      }
    },
);

const sumQuery = z
  .strictObject({
    ...requestSumFields(['model', 'key', 'endpoint', 'status', 'error']),
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
      if (scope === undefined) return { refusal: asking(query.data) };
      const asked = sumQueryOf(query.data, scope, parts.now());
      if (asked.from >= asked.until) {
        return { refusal: invalidQuery('from', 'must not be in the future') };
      }
      try {
        return { json: requestSumsView(await parts.store.sumRequests(asked), asked) };
      } catch (error) {
        if (!(error instanceof RangeError)) throw error;
        return { refusal: invalidQuery('from', TOO_MANY_REQUEST_SUMS) };
      }
    },
);
