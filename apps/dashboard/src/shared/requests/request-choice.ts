/** Which requests of the record the address chooses. */

import { optionOf } from '../controls/parts.js';
import { given } from '../api/router.js';
import type { Route } from '../api/router.js';
import { DAY_MS, HOUR_MS } from '../text/times.js';

export const RANGES = [
  ['hour', 'Last hour'],
  ['day', '24 hours'],
  ['week', '7 days'],
  ['month', '30 days'],
] as const;
type RangeName = (typeof RANGES)[number][0];

const LENGTHS_MS = { hour: HOUR_MS, day: DAY_MS, week: 7 * DAY_MS, month: 30 * DAY_MS } as const;
const STEPS = { hour: '5m', day: 'hour', week: 'hour', month: 'day' } as const;

export const OUTCOMES = [
  ['all', 'All'],
  ['failed', 'Failed'],
] as const;

export const STATUSES = [
  ['all', 'Any status'],
  ['2xx', '2xx'],
  ['4xx', '4xx'],
  ['5xx', '5xx'],
] as const;

const ENDPOINTS = [
  'messages',
  'count_tokens',
  'chat.completions',
  'responses',
  'input_tokens',
] as const;

/** What the gateway is asked for, beside the times. */
export interface RequestFilters {
  readonly model: string | undefined;
  readonly key_id: string | undefined;
  readonly outcome: 'failed' | undefined;
  readonly status: '2xx' | '4xx' | '5xx' | undefined;
  readonly endpoint: (typeof ENDPOINTS)[number] | undefined;
  readonly error: string | undefined;
  readonly client: string | undefined;
  readonly session: string | undefined;
  readonly tag: string | undefined;
}

interface OwnRange {
  readonly from: string;
  readonly until: string;
}

export interface RequestChoice {
  readonly range: RangeName;
  /** The times of the address, if it has both. They take the place of `range`. */
  readonly own: OwnRange | undefined;
  readonly outcome: (typeof OUTCOMES)[number][0];
  readonly status: (typeof STATUSES)[number][0];
  /** Whoever has an id looks for one request, whenever it was. */
  readonly id: string | undefined;
  readonly filters: RequestFilters;
}

export function requestChoice(query: Route['query']): RequestChoice {
  const outcome = optionOf(OUTCOMES, query['outcome']);
  const status = optionOf(STATUSES, query['status']);
  return {
    range: optionOf(RANGES, query['range'] ?? 'day'),
    own: ownRangeOf(query),
    outcome,
    status,
    id: given(query['id']),
    filters: {
      model: given(query['model']),
      key_id: given(query['key_id']),
      outcome: outcome === 'all' ? undefined : outcome,
      status: status === 'all' ? undefined : status,
      endpoint: ENDPOINTS.find((endpoint) => endpoint === query['endpoint']),
      error: given(query['error']),
      client: given(query['client']),
      session: given(query['session']),
      tag: given(query['tag']),
    },
  };
}

/** The times that are chosen now. A range ends when it is asked for. */
export function timesOf({ own, range }: RequestChoice) {
  if (own !== undefined) return own;
  return { from: new Date(Date.now() - LENGTHS_MS[range]).toISOString(), until: undefined };
}

/** What one bar stands for. */
export function stepOf({ filters, own, range }: RequestChoice): '5m' | 'hour' | 'day' {
  // Programs, sessions and tags are summed by days.
  if ((filters.client ?? filters.session ?? filters.tag) !== undefined) return 'day';
  return own === undefined ? STEPS[range] : stepOfOwn(own);
}

/** Sums by five minutes are kept for two days. */
function stepOfOwn({ from, until }: OwnRange): '5m' | 'hour' | 'day' {
  const length = Date.parse(until) - Date.parse(from);
  const isNew = Date.now() - Date.parse(from) < DAY_MS;
  return length > 8 * DAY_MS ? 'day' : length <= 2 * HOUR_MS && isNew ? '5m' : 'hour';
}

function ownRangeOf(query: Route['query']): OwnRange | undefined {
  const [from, until] = [query['from'], query['until']].map((text) => Date.parse(text ?? ''));
  if (from === undefined || until === undefined || !(from < until)) return undefined;
  return { from: new Date(from).toISOString(), until: new Date(until).toISOString() };
}
