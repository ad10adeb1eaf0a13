/** The record of requests, as operators and customers read it: filters and sums. */

import { z } from 'zod';
import { REQUEST_PERIOD_MS } from '@gateway/balance-store';
import type {
  BalanceStore,
  RequestDimension,
  RequestFilter,
  RequestPage,
  RequestQuery,
  RequestSum,
  RequestSumQuery,
} from '@gateway/balance-store';
import { formatUsd } from '@gateway/billing';
import { DAY_MS, HOUR_MS } from '../base/times.js';
import { EXCHANGES } from '../observe/finished-request.js';
import { chargesOf, findCharge } from '../ledger/find-charge.js';
import { ofCursor, help, pageSize, rangeOf, someOf, time } from './fields.js';
import { line } from './storable.js';

const range = rangeOf(time);
const said = (says: string) => ({ says });

/** What selects requests in lists and in sums. */
const facts = {
  from: range.from.optional(),
  until: range.until.optional(),
  model: line.min(1).max(200).optional().register(help, said('only those of this model')),
  endpoint: z.enum(EXCHANGES).optional().register(help, said('only those of this endpoint')),
  status: z
    .enum(['2xx', '4xx', '5xx'])
    .optional()
    .register(help, said('only those with such a status')),
  outcome: z
    .enum(['ok', 'failed'])
    .optional()
    .register(help, said('only those that succeeded, or failed')),
  error: line.min(1).max(60).optional().register(help, said('only those with this type of error')),
  client: line
    .min(1)
    .max(64)
    .optional()
    .register(help, said('only those of this program, such as claude-cli/2.1.8')),
  session: line.min(1).max(64).optional().register(help, said('only those of this session')),
  tag: line.min(1).max(128).optional().register(help, said('only those with this tag')),
} as const;

export const requestFields = {
  ...facts,
  id: line
    .min(1)
    .max(200)
    .optional()
    .register(
      help,
      said(
        'the request with this id: of the gateway, the provider, a message, a trace or a session',
      ),
    ),
  limit: pageSize,
  cursor: z.string().min(1).max(60).optional().register(help, ofCursor),
} as const;

const SPANS = { '5m': REQUEST_PERIOD_MS, hour: HOUR_MS, day: DAY_MS } as const;

/** @param dimensions - What the reader may group by. */
export function requestSumFields(dimensions: readonly RequestDimension[]) {
  return {
    ...facts,
    by: someOf(dimensions)
      .optional()
      .register(help, said(`what to group by: some of ${dimensions.join(', ')}`)),
    every: z
      .enum(['5m', 'hour', 'day'])
      .optional()
      .register(help, said('sums each span by itself; 5m reaches back two days')),
  } as const;
}

type Facts = {
  readonly [Name in keyof typeof facts]?: z.output<(typeof facts)[Name]> | undefined;
};

function filterOf(facts: Facts): RequestFilter {
  const { from, until, model, endpoint, status, outcome, error, client, session, tag } = facts;
  const statusFrom = status === undefined ? undefined : Number(status.charAt(0)) * 100;
  return {
    from,
    until,
    model,
    endpoint,
    errorType: error,
    client,
    sessionId: session,
    tag,
    statusFrom,
    statusUntil: statusFrom === undefined ? undefined : statusFrom + 100,
    failed: outcome === undefined ? undefined : outcome === 'failed',
  };
}

interface Listing extends Facts {
  readonly id?: string | undefined;
  readonly limit: number;
  readonly cursor?: string | undefined;
}

type Reader = Pick<BalanceStore, 'listRequests' | 'findEntries' | 'listEntries'>;

/**
 * @param whose - The requests that the reader may see, or asks for.
 * @throws {RangeError} if the cursor is not one of this list
 */
export async function readRequests(
  listing: Listing,
  whose: Pick<RequestFilter, 'accountId' | 'keyId' | 'upstreamAccount'>,
  store: Reader,
): Promise<RequestPage> {
  const { id, limit, cursor } = listing;
  const query: RequestQuery = {
    ...filterOf(listing),
    ...whose,
    limit,
    cursor,
  };
  if (id === undefined) return store.listRequests(query);
  const page = await store.listRequests({ ...query, id });
  if (page.requests.length > 0) return page;
  // The record has no ids of messages, but the charges have them.
  const found = await findCharge(id, chargesOf(store, whose));
  return found.outcome === 'found' ? store.listRequests({ ...query, id: found.charge.id }) : page;
}

interface Summing extends Facts {
  readonly by?: readonly RequestDimension[] | undefined;
  readonly every?: keyof typeof SPANS | undefined;
}

/** Their sums are kept by day. */
const DAILY: ReadonlySet<RequestDimension> = new Set(['client', 'session', 'tag']);

/** The most sums of one response. */
const MAX_SUMS = 5_000;

/**
 * The query of sums, the last 24 hours by default. Sums are kept by five minutes and by hour, those
 * of programs, sessions and tags by day, so the range is widened to whole ones, and the answer
 * states it.
 */
export function sumQueryOf(
  summing: Summing,
  whose: Pick<RequestFilter, 'accountId' | 'keyId' | 'upstreamAccount'>,
  now: number,
): RequestSumQuery {
  const { by = [], every } = summing;
  const isDaily =
    by.some((name) => DAILY.has(name)) ||
    (summing.client ?? summing.session ?? summing.tag) !== undefined;
  const step = isDaily ? DAY_MS : every === '5m' ? REQUEST_PERIOD_MS : HOUR_MS;
  const until = Math.ceil((summing.until?.getTime() ?? now + 1) / step) * step;
  const from = Math.floor((summing.from?.getTime() ?? until - DAY_MS) / step) * step;
  return {
    ...filterOf(summing),
    ...whose,
    from: new Date(from),
    until: new Date(until),
    by,
    everyMs: every === undefined ? undefined : isDaily ? DAY_MS : SPANS[every],
    maxSums: MAX_SUMS,
  };
}

export const TOO_MANY_REQUEST_SUMS = `covers more than ${String(MAX_SUMS)} sums: ask for a shorter range, or for fewer dimensions with by`;

/** @throws {RangeError} if there are more sums than allowed */
export async function readRequestSums(
  query: RequestSumQuery,
  store: Pick<BalanceStore, 'sumRequests' | 'requestsRecordedFrom'>,
) {
  const isDaily = query.by.some((name) => DAILY.has(name)) || isOfLabel(query);
  const [sums, since] = await Promise.all([
    store.sumRequests(query),
    store.requestsRecordedFrom(isDaily ? 'labels' : 'sums'),
  ]);
  return requestSumsView(sums, query, since);
}

function isOfLabel({ client, sessionId, tag }: RequestFilter): boolean {
  return (client ?? sessionId ?? tag) !== undefined;
}

function requestSumsView(
  sums: readonly RequestSum[],
  { by, everyMs, from, until }: RequestSumQuery,
  recordedFrom: Date | undefined,
) {
  return {
    object: 'list' as const,
    data: sums.map((sum) => ({
      object: 'request_sum' as const,
      ...(everyMs === undefined ? {} : { start: sum.start?.toISOString() ?? '' }),
      ...Object.fromEntries(by.map((name) => [MEMBERS[name], factOf(sum, name)])),
      requests: sum.requests,
      failed: sum.failed,
      mean_duration_ms: mean(sum.durationMs, sum.requests),
      mean_first_byte_ms: sum.firstBytes === 0 ? null : mean(sum.firstByteMs, sum.firstBytes),
      ...spendView(spendOf(sum)),
    })),
    has_more: false,
    next_cursor: null,
    from: from.toISOString(),
    until: until.toISOString(),
    recorded_from: recordedFrom?.toISOString() ?? null,
  };
}

function spendView({ tokens, charge }: Spend) {
  return {
    input_tokens: tokens.input,
    output_tokens: tokens.output,
    cache_read_input_tokens: tokens.cacheRead,
    cache_creation_input_tokens: tokens.cacheWrite,
    charged_usd: formatUsd(charge),
  };
}

type Spend = Required<Pick<RequestSum, 'tokens' | 'charge'>>;

/** What was spent, of sums that were read with it. */
export function spendOf({ tokens, charge }: RequestSum): Spend {
  if (tokens === undefined || charge === undefined) throw new Error('spend: was not read');
  return { tokens, charge };
}

const MEMBERS = {
  account: 'account_id',
  key: 'key_id',
  model: 'model',
  endpoint: 'endpoint',
  upstream: 'upstream_account',
  status: 'status',
  error: 'error_type',
  client: 'client',
  session: 'session',
  tag: 'tag',
} as const satisfies Record<RequestDimension, string>;

export function factOf(sum: RequestSum, name: RequestDimension): string | number | null {
  const values = {
    account: sum.accountId,
    key: sum.keyId,
    model: sum.model,
    endpoint: sum.endpoint,
    upstream: sum.upstreamAccount,
    status: sum.status,
    error: sum.errorType,
    client: sum.client,
    session: sum.sessionId,
    tag: sum.tag,
  };
  return values[name] ?? null;
}

function mean(sum: number, count: number): number {
  return count === 0 ? 0 : Math.round(sum / count);
}
