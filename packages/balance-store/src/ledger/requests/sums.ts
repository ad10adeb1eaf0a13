/** The query of sums of requests, the same for both databases except for how amounts are added. */

import { HOUR_MS } from '../hours.js';
import type {
  RequestDimension,
  RequestFilter,
  RequestSum,
  RequestSumQuery,
} from '../../request-record.js';
import { matching } from '../search.js';
import type { Condition, Value } from '../search.js';
import { COARSE_MINUTES, FINE_MINUTES } from './pending-sums.js';

const COLUMNS = {
  account: ['account_id', 'accountId'],
  key: ['key_id', 'keyId'],
  model: ['model', 'model'],
  endpoint: ['endpoint', 'endpoint'],
  upstream: ['upstream_account', 'upstreamAccount'],
  status: ['status', 'status'],
  error: ['error_type', 'errorType'],
} as const satisfies Record<RequestDimension, readonly [column: string, member: string]>;

/** Conditions on the columns of a series. */
export function seriesConditions(filter: RequestFilter): readonly Condition[] {
  const { failed } = filter;
  return [
    ['account_id = ?', filter.accountId],
    ['key_id = ?', filter.keyId],
    ['model = ?', filter.model],
    ['endpoint = ?', filter.endpoint],
    ['error_type = ?', filter.errorType],
    ['upstream_account = ?', filter.upstreamAccount],
    ['status >= ?', filter.statusFrom],
    ['status < ?', filter.statusUntil],
    ...(failed === undefined
      ? []
      : ([[`error_type IS ${failed ? 'NOT NULL' : 'NULL'}`]] satisfies Condition[])),
  ];
}

const COUNTS = [
  'requests',
  'duration_ms',
  'first_byte_ms',
  'first_bytes',
  'input_tokens',
  'output_tokens',
  'cache_read_tokens',
  'cache_write_tokens',
] as const;

/**
 * @param sumOf - Writes a sum of integers.
 * @param sumOfCharge - A sum of the column `charge`, as text.
 */
export function sumsQuery(
  query: RequestSumQuery,
  {
    sumOf,
    sumOfCharge,
  }: { readonly sumOf: (value: string) => string; readonly sumOfCharge: string },
): { readonly text: string; readonly values: readonly Value[] } {
  const { by, everyMs, from, until, maxSums } = query;
  const periodMs = periodOf(query);
  const periods = (everyMs ?? 0) / periodMs;
  const start = `period / ${String(periods)} * ${String(periods)}`;
  const dimensions = by.map((name) => COLUMNS[name][0]);
  const groups = [...(everyMs === undefined ? [] : [start]), ...dimensions];
  const { where, values } = matching(
    ['minutes = ?', periodMs / MINUTE_MS],
    ['period >= ?', from.getTime() / periodMs],
    ['period < ?', until.getTime() / periodMs],
    ...seriesConditions(query),
  );
  const counts = COUNTS.map((name) => `${sumOf(name)} AS ${name}`);
  const selected = [
    ...(everyMs === undefined ? [] : [`${start} AS period`]),
    ...dimensions,
    ...counts,
    `${sumOf('CASE WHEN error_type IS NULL THEN 0 ELSE requests END')} AS failed`,
    `${sumOfCharge} AS charge`,
  ];
  const grouped =
    groups.length === 0 ? '' : `GROUP BY ${groups.join(', ')} ORDER BY ${groups.join(', ')}`;
  return {
    text:
      `SELECT ${selected.join(', ')} FROM request_sum JOIN request_series ON id = series ` +
      `${where} ${grouped} LIMIT ?`,
    values: [...values, maxSums + 1],
  };
}

const MINUTE_MS = 60_000;

/** Sums of whole hours answer the query if it only asks for whole hours. */
function periodOf({ from, until, everyMs = HOUR_MS }: RequestSumQuery): number {
  const isCoarse = [from.getTime(), until.getTime(), everyMs].every((ms) => ms % HOUR_MS === 0);
  return (isCoarse ? COARSE_MINUTES : FINE_MINUTES) * MINUTE_MS;
}

export type SumRow = Readonly<Record<string, string | number | null>>;

/** @throws {RangeError} if there are more sums than the query allows. */
export function sumsOf(
  rows: readonly SumRow[],
  query: RequestSumQuery,
  unitsOf: (charge: string) => bigint,
): readonly RequestSum[] {
  const { by, everyMs, maxSums } = query;
  if (rows.length > maxSums) throw new RangeError('the query has more sums than it allows');
  return rows
    .filter(({ requests }) => requests !== null)
    .map((row) => {
      const count = (name: (typeof COUNTS)[number] | 'failed'): number => Number(row[name]);
      return {
        ...(everyMs === undefined
          ? {}
          : { start: new Date(Number(row['period']) * periodOf(query)) }),
        ...Object.fromEntries(
          by.map((name) => [COLUMNS[name][1], row[COLUMNS[name][0]] ?? undefined]),
        ),
        requests: count('requests'),
        failed: count('failed'),
        durationMs: count('duration_ms'),
        firstByteMs: count('first_byte_ms'),
        firstBytes: count('first_bytes'),
        tokens: {
          input: count('input_tokens'),
          output: count('output_tokens'),
          cacheRead: count('cache_read_tokens'),
          cacheWrite: count('cache_write_tokens'),
        },
        charge: unitsOf(String(row['charge'])),
      };
    });
}
