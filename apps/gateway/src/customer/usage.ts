/**
 * `GET /v1/dashboard/usage`: the charges of a key or of all keys of its account, and on demand the
 * other entries of the account, one by one. `GET /v1/dashboard/usage/{request_id}`: one charge.
 * `GET /v1/dashboard/usage/summary`: sums of the charges of the key, or of all keys of its account.
 * Amounts are exact decimal strings.
 */

import { z } from 'zod';
import type { EntryFilter, EntryPage } from '@gateway/balance-store';
import { newRefusal } from '../base/errors/refusal.js';
import { DAY_MS, MINUTE_MS } from '../base/times.js';
import { csvOf } from '../endpoints/csv.js';
import {
  MUST_BE_AFTER_FROM,
  day,
  isInOrder,
  isWholeCsv,
  pagedFormat,
  rangeOf,
  someOf,
  wholeNumber,
} from '../endpoints/fields.js';
import * as schema from '../endpoints/schemas.js';
import { entriesCsv, holderEntryView, usageView } from '../endpoints/schemas/entries.js';
import { line } from '../endpoints/storable.js';
import { usageSumView, usageSumsCsv } from '../endpoints/views.js';
import type { ReadPages } from '../http/exports.js';
import { ARCHIVED_UNTIL, rangeHeaders } from '../http/list-headers.js';
import { invalidQuery, refusalOfQuery } from '../http/query-refusal.js';
import { chargesOf, findCharge } from '../ledger/find-charge.js';
import { csvPagesOf } from './csv-pages.js';
import type { CustomerParts } from './customer-parts.js';
import { inTurns } from './in-turns.js';
import { keyEndpoint, wrongCursor } from './key-route.js';
import type { ReadAnswer } from './key-route.js';
import { needsManage } from './scope.js';
import { maySeeAccount } from './statement.js';
import { refusalOfScope, scopeOf, whose } from './whose.js';

const POLICY = { limit: 120, windowMs: MINUTE_MS } as const;
const ROUTE = { method: 'get', credential: 'link', name: 'usage', limit: POLICY } as const;

const dayRange = rangeOf(day);

const usageQuery = z
  .strictObject({
    day: day.optional(),
    from: dayRange.from.optional(),
    until: dayRange.until.optional(),
    model: line.min(1).max(200).optional(),
    of: whose.of,
    kind: z.enum(['charge', 'credit', 'all']).default('charge'),
    limit: wholeNumber.min(1).max(1000).default(100),
    cursor: z.string().min(1).max(200).optional(),
    format: pagedFormat.default('json'),
  })
  .refine((query) => query.day === undefined || (query.from ?? query.until) === undefined, {
    path: ['day'],
    message: 'cannot be combined with from or until',
  })
  .refine(isInOrder, MUST_BE_AFTER_FROM);

export const listUsage = keyEndpoint(
  {
    ...ROUTE,
    path: '/v1/dashboard/usage',
    id: 'listUsage',
    summary: 'Charges of the key, and credits and corrections of its account, newest first',
    query: usageQuery,
    result: schema.listOf(schema.holderEntry).extend({ archived_until: schema.time.nullable() }),
    alsoAs: ['text/csv'],
  },
  (parts) =>
    async (key, req): Promise<ReadAnswer> => {
      const query = usageQuery.safeParse(req.query);
      if (!query.success) {
        return { refusal: refusalOfQuery(query.error) };
      }
      const { day: on, from, until, model, of, kind, limit, cursor, format } = query.data;
      if (of === 'account' && !(await maySeeAccount(key, parts))) {
        return { refusal: needsManage('of') };
      }
      const filter: EntryFilter = {
        accountId: key.accountId,
        withoutFees: true,
        limit,
        ...(of === 'key' ? { keyId: key.id } : {}),
        ...(kind === 'charge' ? { kind } : {}),
        ...(kind === 'credit' ? { withoutCharges: true } : {}),
        ...(model === undefined ? {} : { model }),
        ...(cursor === undefined ? {} : { cursor }),
        ...(on === undefined ? {} : { from: on, until: dayAfter(on) }),
        ...(from === undefined ? {} : { from }),
        ...(until === undefined ? {} : { until }),
      };
      if (isWholeCsv(req.query)) return { pages: entryPages(filter, parts.store) };
      const page = await unlessRefused(() => parts.store.listEntries(filter));
      if (page === undefined) return { refusal: wrongCursor() };
      if (format === 'csv') {
        const text = entriesCsv(page.entries, csvOf);
        return { ...csv(text), next: page.next, headers: archiveHeaders(page) };
      }
      return {
        json: {
          object: 'list',
          data: page.entries.map(holderEntryView),
          has_more: page.next !== undefined,
          next_cursor: page.next ?? null,
          archived_until: page.archivedUntil?.toISOString() ?? null,
        },
      };
    },
);

function entryPages(filter: EntryFilter, store: CustomerParts['store']): ReadPages {
  return csvPagesOf(
    filter,
    (asked) => store.listEntries(asked),
    (page, write) => ({ text: entriesCsv(page.entries, write), headers: archiveHeaders(page) }),
  );
}

function archiveHeaders({ archivedUntil }: EntryPage): Readonly<Record<string, string>> {
  return archivedUntil === undefined ? {} : { [ARCHIVED_UNTIL]: archivedUntil.toISOString() };
}

const DEFAULT_DAYS = 30;
/** The most sums of one response. */
const MAX_SUMS = 5_000;
const TOO_MANY_SUMS =
  `covers more than ${String(MAX_SUMS)} sums: ask for fewer days, or for fewer dimensions with ` +
  'by (charges with different prices count as separate sums)';

/**
 * Without `account`, because a holder has only one, and without `upstream`, because upstream
 * accounts are the operator's.
 */
const HOLDER_DIMENSIONS = ['day', 'hour', 'model', 'key', 'endpoint'] as const;

const summaryQuery = z
  .strictObject({
    by: someOf(HOLDER_DIMENSIONS).default(['day', 'model']),
    from: dayRange.from.optional(),
    until: dayRange.until.optional(),
    model: line.min(1).max(200).optional(),
    ...whose,
    format: z.enum(['json', 'csv']).default('json'),
  })
  .refine(isInOrder, MUST_BE_AFTER_FROM);

export const sumUsage = keyEndpoint(
  {
    ...ROUTE,
    path: '/v1/dashboard/usage/summary',
    id: 'sumUsage',
    summary:
      'Sums of charges. As CSV, the headers x-gateway-from and x-gateway-until state the range',
    query: summaryQuery,
    result: schema.usageSums,
    alsoAs: ['text/csv'],
  },
  (parts) =>
    async (key, req): Promise<ReadAnswer> => {
      const query = summaryQuery.safeParse(req.query);
      if (!query.success) return { refusal: refusalOfQuery(query.error) };
      const { by, model, format } = query.data;
      const scope = await scopeOf(query.data, key, parts);
      if (scope === undefined) return { refusal: refusalOfScope(query.data) };
      // Until the end of this day, so that everything until now is included.
      const today = new Date(Math.floor(parts.now() / DAY_MS) * DAY_MS);
      const until = query.data.until ?? dayAfter(today);
      const from = query.data.from ?? new Date(until.getTime() - DEFAULT_DAYS * DAY_MS);
      // Only possible with the default end.
      if (from >= until) return { refusal: invalidQuery('from', 'must not be in the future') };
      const sums = await unlessRefused(() =>
        parts.store.readUsage({
          by,
          from,
          until,
          ...scope,
          ...(model === undefined ? {} : { model }),
          maxSums: MAX_SUMS,
        }),
      );
      if (sums === undefined) return { refusal: invalidQuery('from', TOO_MANY_SUMS) };
      const viewsOf = (some: typeof sums) => some.map((sum) => usageSumView(sum, by));
      const range = { from: from.toISOString(), until: until.toISOString() };
      if (format === 'csv') {
        const text = usageSumsCsv((await inTurns(sums, viewsOf)).flat(), by);
        return { ...csv(text), headers: rangeHeaders(range) };
      }
      const texts = await inTurns(sums, (some) => JSON.stringify(viewsOf(some)).slice(1, -1));
      return {
        text:
          `{"object":"list","data":[${texts.join(',')}],"has_more":false,"next_cursor":null,` +
          `"from":"${range.from}","until":"${range.until}"}`,
        contentType: 'application/json',
      };
    },
);

function csv(text: string) {
  return { text, contentType: 'text/csv; charset=utf-8' };
}

/** Members that it does not know were never refused here. */
const chargeQuery = z.object({ of: whose.of });

export const getUsage = keyEndpoint(
  {
    ...ROUTE,
    path: '/v1/dashboard/usage/:request_id',
    id: 'getUsage',
    summary: 'The charge of one request, by its id or by the id of its message in any format',
    query: chargeQuery,
    result: schema.usage,
  },
  (parts) =>
    async (key, req): Promise<ReadAnswer> => {
      const query = chargeQuery.safeParse(req.query);
      if (!query.success) return { refusal: refusalOfQuery(query.error) };
      const { of } = query.data;
      if (of === 'account' && !(await maySeeAccount(key, parts))) {
        return { refusal: needsManage('of') };
      }
      const { accountId } = key;
      const scope = of === 'key' ? { accountId, keyId: key.id } : { accountId };
      const shownId = line.safeParse(req.params['request_id']);
      const found = await findCharge(
        shownId.success ? shownId.data : '',
        chargesOf(parts.store, scope),
      );
      if (found.outcome === 'found') return { json: usageView(found.charge) };
      if (found.outcome === 'several') {
        const field = 'request_id';
        const request_ids = found.requestIds.join(', ');
        return { refusal: newRefusal('several_charges', { field, param: field, request_ids }) };
      }
      const { archivedUntil } = await parts.store.listEntries({ ...scope, limit: 1 });
      const archived =
        archivedUntil === undefined
          ? ''
          : `; charges before ${archivedUntil.toISOString()} are archived`;
      return { refusal: newRefusal('unknown_charge_of_holder', { of, archived }) };
    },
);

function dayAfter(of: Date): Date {
  return new Date(of.getTime() + DAY_MS);
}

/**
 * @returns `undefined` if the store refuses an argument: a cursor that it did not make, or a range
 * with too many sums
 */
async function unlessRefused<Result>(read: () => Promise<Result>): Promise<Result | undefined> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}
