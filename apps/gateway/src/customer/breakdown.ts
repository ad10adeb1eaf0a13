/** `GET /v1/dashboard/breakdown`: what keys of an account used, by one dimension and by time. */

import { z } from 'zod';
import { MINUTE_MS } from '../base/times.js';
import {
  BreakdownError,
  HOLDER_GROUPS,
  HOLDER_SORTS,
  breakdownCsv,
  breakdownFields,
  breakdownView,
  readBreakdown,
  withGroupNames,
} from '../endpoints/breakdown.js';
import { MUST_BE_AFTER_FROM, isInOrder } from '../endpoints/fields.js';
import * as schema from '../endpoints/schemas.js';
import { readNames } from '../endpoints/read-names.js';
import { spenderFilterOf } from '../endpoints/spending.js';
import { invalidQuery, refusalOfQuery } from '../http/query-refusal.js';
import { keyEndpoint } from './key-route.js';
import type { ReadAnswer } from './key-route.js';
import { refusalOfScope, scopeOf, whose } from './whose.js';

const breakdownQuery = z
  .strictObject({
    ...breakdownFields(HOLDER_GROUPS, HOLDER_SORTS),
    ...whose,
    format: z.enum(['json', 'csv']).default('json'),
  })
  .refine(isInOrder, MUST_BE_AFTER_FROM);

export const getBreakdown = keyEndpoint(
  {
    method: 'get',
    path: '/v1/dashboard/breakdown',
    id: 'getBreakdown',
    summary: 'Spend, tokens, requests, errors and latency, by one dimension and by time',
    credential: 'link',
    query: breakdownQuery,
    result: schema.breakdown,
    alsoAs: ['text/csv'],
    name: 'usage',
    limit: { limit: 120, windowMs: MINUTE_MS },
  },
  (parts) =>
    async (key, req): Promise<ReadAnswer> => {
      const query = breakdownQuery.safeParse(req.query);
      if (!query.success) return { refusal: refusalOfQuery(query.error) };
      const scope = await scopeOf(query.data, key, parts);
      if (scope === undefined) return { refusal: refusalOfScope(query.data) };
      try {
        const { store } = parts;
        const asked = { ...scope, ...spenderFilterOf(query.data) };
        const found = await readBreakdown(query.data, asked, { store, now: parts.now() });
        const view = breakdownView(found);
        const isNamed = ['member', 'group'].includes(query.data.by);
        const ids = isNamed ? view.groups.map(({ value }) => value) : [];
        const named = withGroupNames(view, await readNames(ids, store));
        if (query.data.format === 'json') return { json: named };
        const text = breakdownCsv(named, Object.keys(schema.brokenDownFigures.shape));
        return { text, contentType: 'text/csv; charset=utf-8' };
      } catch (error) {
        if (!(error instanceof BreakdownError)) throw error;
        return { refusal: invalidQuery(error.member, error.message) };
      }
    },
);
