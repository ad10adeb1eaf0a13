/** Operations on the record of requests. */

import { z } from 'zod';
import { REQUEST_DIMENSIONS } from '@gateway/balance-store';
import {
  MUST_BE_AFTER_FROM,
  help,
  isInOrder,
  ofAccount,
  ofKey,
  pagedFormat,
} from '../../endpoints/fields.js';
import {
  BreakdownError,
  OPERATOR_GROUPS,
  OPERATOR_SORTS,
  breakdownCsv,
  breakdownFields,
  breakdownView,
  costedFiguresView,
  readBreakdown,
  withGroupNames,
} from '../../endpoints/breakdown.js';
import { invalidInput } from '../../endpoints/operation-error.js';
import {
  TOO_MANY_REQUEST_SUMS,
  readRequests,
  requestFields,
  requestSumFields,
  readRequestSums,
  sumQueryOf,
} from '../../endpoints/requests.js';
import * as schema from '../../endpoints/schemas.js';
import { operatorRequestView } from '../../endpoints/schemas/requests.js';
import { spenderFilterOf } from '../../endpoints/spending.js';
import { line } from '../../endpoints/storable.js';
import { readNames, withNames } from '../../endpoints/read-names.js';
import { list, operation } from './operation.js';

const whose = {
  account_id: ofAccount,
  key_id: ofKey,
  upstream: line
    .min(1)
    .max(100)
    .optional()
    .register(help, { says: 'only those that this upstream account answered' }),
} as const;

function scopeOf(input: {
  readonly account_id?: string | undefined;
  readonly key_id?: string | undefined;
  readonly upstream?: string | undefined;
}) {
  return {
    accountId: input.account_id,
    keyId: input.key_id,
    upstreamAccount: input.upstream,
  };
}

export const requestOperations = {
  listRequests: operation({
    method: 'get',
    path: '/admin/requests',
    summary: 'Recorded requests, failed ones too, the last one that ended first',
    right: 'read',
    input: z
      .strictObject({ ...whose, ...requestFields, format: pagedFormat.optional() })
      .refine(isInOrder, MUST_BE_AFTER_FROM),
    output: schema
      .listOf(schema.operatorRecordedRequest)
      .extend({ recorded_from: schema.time.nullable() }),
    async run(input, { store }) {
      const page = await readRequests(input, scopeOf(input), store);
      const since = await store.requestsRecordedFrom('requests');
      return {
        ...list(await withNames(page.requests.map(operatorRequestView), store), page.next),
        recorded_from: since?.toISOString() ?? null,
      };
    },
    isAlsoCsv: true,
  }),

  sumRequests: operation({
    method: 'get',
    path: '/admin/requests/summary',
    summary: 'Sums of recorded requests, of the last 24 hours if no range is given',
    right: 'read',
    input: z
      .strictObject({ ...whose, ...requestSumFields(REQUEST_DIMENSIONS) })
      .refine(isInOrder, MUST_BE_AFTER_FROM),
    output: schema.requestSums,
    async run(input, { store, now }) {
      const asked = sumQueryOf(input, scopeOf(input), now());
      if (asked.from >= asked.until) refuse('from: must not be in the future');
      const sums = await readRequestSums(asked, store).catch((error: unknown) => {
        if (error instanceof RangeError) refuse(`from: ${TOO_MANY_REQUEST_SUMS}`);
        throw error;
      });
      return { ...sums, data: await withNames(sums.data, store) };
    },
  }),

  breakDown: operation({
    method: 'get',
    path: '/admin/breakdown',
    summary: 'Spend, cost, tokens, requests, errors and latency, by one dimension and by time',
    right: 'read',
    input: z
      .strictObject({
        ...breakdownFields(OPERATOR_GROUPS, OPERATOR_SORTS),
        account_id: ofAccount,
        key_id: ofKey,
        format: z.enum(['json', 'csv']).optional(),
      })
      .refine(isInOrder, MUST_BE_AFTER_FROM),
    output: schema.costedBreakdown,
    async run(input, { store, now }) {
      const scope = {
        accountId: input.account_id,
        keyId: input.key_id,
        ...spenderFilterOf(input),
      };
      try {
        const found = await readBreakdown(input, scope, { store, now: now() });
        const view = breakdownView(found, costedFiguresView);
        const isNamed = NAMED_GROUPS.has(input.by);
        const ids = isNamed ? view.groups.map(({ value }) => value) : [];
        return withGroupNames(view, await readNames(ids, store));
      } catch (error) {
        if (error instanceof BreakdownError) refuse(`${error.member}: ${error.message}`);
        throw error;
      }
    },
    formats: {
      csv: {
        mediaType: 'text/csv',
        write: (breakdown) =>
          breakdownCsv(breakdown, Object.keys(schema.costedBrokenDownFigures.shape)),
      },
    },
  }),
};

/** Their values are ids. */
const NAMED_GROUPS: ReadonlySet<string> = new Set(['account', 'key', 'member', 'group']);

function refuse(message: string): never {
  throw invalidInput(message);
}
