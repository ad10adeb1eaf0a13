/**
 * `GET /v1/dashboard/usage` and `GET /v1/dashboard/usage/{request_id}`: what a key was charged,
 * entry by entry, for that key only. Amounts are exact decimal strings.
 */

import type { RequestHandler } from 'express';
import { z } from 'zod';
import type { EntryFilter, EntryPage } from '@gateway/balance-store';
import type { Services } from '../services.js';
import { STORABLE_TIME_RULE, isStorableTime, line } from '../operations/storable.js';
import { usageCsv, usageView } from '../operations/views.js';
import { invalidQuery, refusalOfQuery } from './query-refusal.js';
import { readRoute } from './read-route.js';
import type { ReadAnswer } from './read-route.js';

const POLICY = { limit: 120, windowMs: 60_000 } as const;
const ROUTE = { endpoint: 'usage', accepted: 'bearer', limit: POLICY } as const;

const DAY_MS = 86_400_000;
const day = z.iso
  .date('must be a day such as 2026-01-31')
  .transform((text) => new Date(`${text}T00:00:00Z`))
  .refine(isStorableTime, STORABLE_TIME_RULE);

const usageQuery = z
  .strictObject({
    day: day.optional(),
    from: day.optional(),
    until: day.optional(),
    model: line.min(1).max(200).optional(),
    limit: z.coerce.number().int().min(1).max(1000).default(100),
    cursor: z.string().min(1).max(200).optional(),
    format: z.enum(['json', 'csv']).default('json'),
  })
  .refine((query) => query.day === undefined || (query.from ?? query.until) === undefined, {
    path: ['day'],
    message: 'cannot be combined with from or until',
  });

export function listUsageRoute(services: Services): RequestHandler {
  return readRoute(ROUTE, services, async (key, req): Promise<ReadAnswer> => {
    const query = usageQuery.safeParse(req.query);
    if (!query.success) {
      return { refusal: refusalOfQuery(query.error) };
    }
    const { day: on, from, until, model, limit, cursor, format } = query.data;
    const filter: EntryFilter = {
      keyId: key.id,
      kind: 'charge',
      limit,
      ...(model === undefined ? {} : { model }),
      ...(cursor === undefined ? {} : { cursor }),
      ...range(on ?? from, on ?? until),
    };
    const page = await readPage(services, filter);
    if (page === undefined)
      return { refusal: invalidQuery('cursor', 'is not one of this endpoint') };
    const charges = page.entries.filter((entry) => entry.kind === 'charge');
    if (format === 'csv') {
      return { text: usageCsv(charges), contentType: 'text/csv; charset=utf-8', next: page.next };
    }
    return {
      json: {
        object: 'list',
        data: charges.map(usageView),
        has_more: page.next !== undefined,
        next_cursor: page.next ?? null,
      },
    };
  });
}

export function getUsageRoute(services: Services): RequestHandler {
  return readRoute(ROUTE, services, async (key, req): Promise<ReadAnswer> => {
    const requestId = line.safeParse(req.params['request_id']);
    const entry = requestId.success
      ? await services.store.findEntry(key.id, requestId.data)
      : undefined;
    if (entry?.kind === 'charge') return { json: usageView(entry) };
    return {
      refusal: {
        status: 404,
        type: 'not_found_error',
        message: 'request_id: no charge of this key has this id',
        param: 'request_id',
      },
    };
  });
}

/** Both days belong to the range. */
function range(
  first: Date | undefined,
  last: Date | undefined,
): Pick<EntryFilter, 'from' | 'until'> {
  return {
    ...(first === undefined ? {} : { from: first }),
    ...(last === undefined ? {} : { until: new Date(last.getTime() + DAY_MS) }),
  };
}

/** @returns `undefined` if the store did not make the cursor */
async function readPage(services: Services, filter: EntryFilter): Promise<EntryPage | undefined> {
  try {
    return await services.store.listEntries(filter);
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}
