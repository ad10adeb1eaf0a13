/** The query of sums of requests, the same for both databases except for how amounts are added. */

import { DAY_MS, HOUR_MS } from '../base/hours.js';
import type {
  RecordedPart,
  RequestDimension,
  RequestFilter,
  RequestSum,
  RequestSumQuery,
} from '../../request-record.js';
import { matching } from '../queries/search.js';
import type { Condition, Value } from '../queries/search.js';
import { columnsOf } from '../tables/tables.js';
import { COARSE_MINUTES, DAY_MINUTES, FINE_MINUTES } from './block-sums.js';

const COLUMNS = {
  account: ['account_id', 'accountId'],
  key: ['key_id', 'keyId'],
  model: ['model', 'model'],
  endpoint: ['endpoint', 'endpoint'],
  upstream: ['upstream_account', 'upstreamAccount'],
  status: ['status', 'status'],
  error: ['error_type', 'errorType'],
  client: ['client', 'client'],
  session: ['session_id', 'sessionId'],
  tag: ['tag', 'tag'],
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

/** How the first sums of the record are found, and in what they count time. */
export const FIRST_BLOCK = 'SELECT min(ended_at) AS first FROM request_block';
export const FIRST_SUM = {
  sums: {
    text: `SELECT min(period) AS first FROM request_sum WHERE minutes = ${String(COARSE_MINUTES)}`,
    unitMs: HOUR_MS,
  },
  labels: { text: 'SELECT min(day) AS first FROM request_label', unitMs: DAY_MS },
} as const satisfies Partial<
  Record<RecordedPart, { readonly text: string; readonly unitMs: number }>
>;

const TIMES = ['requests', 'duration_ms', 'first_byte_ms', 'first_bytes'] as const;
const COUNTS = [
  ...TIMES,
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
  const { by, everyMs, maxSums, without } = query;
  const periods = (everyMs ?? 0) / (periodOf(query) * MINUTE_MS);
  const start = `period / ${String(periods)} * ${String(periods)}`;
  const dimensions = by.map((name) => COLUMNS[name][0]);
  const groups = [...(everyMs === undefined ? [] : [start]), ...dimensions];
  const source = isLabelled(query) ? labelledSource(query) : sourceOf(query);
  const { where, values } = matching(...seriesConditions(query));
  const names = without === 'spend' ? TIMES : COUNTS;
  const counts = names.map((name) => `${sumOf(name)} AS ${name}`);
  const selected = [
    ...(everyMs === undefined ? [] : [`${start} AS period`]),
    ...dimensions,
    ...counts,
    `${sumOf('CASE WHEN error_type IS NULL THEN 0 ELSE requests END')} AS failed`,
    ...(without === 'spend' ? [] : [`${sumOfCharge} AS charge`]),
  ];
  const grouped =
    groups.length === 0 ? '' : `GROUP BY ${groups.join(', ')} ORDER BY ${groups.join(', ')}`;
  return {
    text:
      `SELECT ${selected.join(', ')} FROM (${source.text}) sums JOIN request_series ON id = series ` +
      `${where} ${grouped} LIMIT ?`,
    values: [...source.values, ...values, maxSums + 1],
  };
}

const MINUTE_MS = 60_000;
const LENGTHS = [DAY_MINUTES, COARSE_MINUTES, FINE_MINUTES] as const;

interface Source {
  readonly text: string;
  readonly values: readonly Value[];
}

/** The sums by program, session and tag are kept by themselves. */
const LABELS: ReadonlySet<RequestDimension> = new Set(['client', 'session', 'tag']);

/** @returns whether only the sums by program, session and tag answer the query */
export function isLabelled({ by, client, sessionId, tag }: RequestSumQuery): boolean {
  return by.some((name) => LABELS.has(name)) || (client ?? sessionId ?? tag) !== undefined;
}

function labelledSource({ from, until, client, sessionId, tag }: RequestSumQuery): Source {
  const { where, values } = matching(
    ['day >= ?', from.getTime() / DAY_MS],
    ['day < ?', until.getTime() / DAY_MS],
    ['client = ?', client],
    ['session_id = ?', sessionId],
    ['tag = ?', tag],
  );
  return {
    text:
      `SELECT day AS period, series, client, session_id, tag, ${FIGURES} ` +
      `FROM request_label ${where}`,
    values,
  };
}

const FIGURES = [...COUNTS, 'charge'].join(', ');

/** The columns of a table of sums that are added up. */
export function figuresOf(model: 'RequestSum' | 'RequestLabel'): readonly string[] {
  const figures: readonly string[] = [...COUNTS, 'charge', 'kept'];
  const names = Object.values(columnsOf(model)).map(({ name }) => name);
  return names.filter((name) => figures.includes(name));
}

/**
 * Spans are summed from the longest periods of which each has several whole ones. A whole range
 * without spans is summed from its days, and the hours before and after them.
 */
function sourceOf(query: RequestSumQuery): Source {
  const { everyMs, from, until } = query;
  const range = { from: from.getTime(), until: until.getTime() };
  const parts =
    everyMs === undefined ? partsOf(range, LENGTHS) : [{ ...range, minutes: periodOf(query) }];
  const sources = parts.map(({ minutes, ...part }) => {
    const { where, values } = matching(
      ['minutes = ?', minutes],
      ['period >= ?', part.from / (minutes * MINUTE_MS)],
      ['period < ?', part.until / (minutes * MINUTE_MS)],
    );
    return { text: `SELECT period, series, ${FIGURES} FROM request_sum ${where}`, values };
  });
  return {
    text: sources.map(({ text }) => text).join(' UNION ALL '),
    values: sources.flatMap(({ values }) => values),
  };
}

interface Range {
  readonly from: number;
  readonly until: number;
}

function partsOf(
  range: Range,
  [minutes, ...shorter]: readonly number[],
): readonly (Range & { readonly minutes: number })[] {
  if (minutes === undefined || range.from >= range.until) return [];
  const ms = minutes * MINUTE_MS;
  const from = Math.ceil(range.from / ms) * ms;
  const until = Math.floor(range.until / ms) * ms;
  if (from >= until) return partsOf(range, shorter);
  return [
    { from, until, minutes },
    ...partsOf({ from: range.from, until: from }, shorter),
    ...partsOf({ from: until, until: range.until }, shorter),
  ];
}

/** The longest period of which the range and each span have whole ones. */
function periodOf({ from, until, everyMs = DAY_MS }: RequestSumQuery): number {
  const times = [from.getTime(), until.getTime(), everyMs];
  const fits = (minutes: number) => times.every((ms) => ms % (minutes * MINUTE_MS) === 0);
  return LENGTHS.find(fits) ?? FINE_MINUTES;
}

export type SumRow = Readonly<Record<string, string | number | null>>;

/** @throws {RangeError} if there are more sums than the query allows. */
export function sumsOf(
  rows: readonly SumRow[],
  query: RequestSumQuery,
  unitsOf: (charge: string) => bigint,
): readonly RequestSum[] {
  const { by, everyMs, maxSums, without } = query;
  if (rows.length > maxSums) throw new RangeError('the query has more sums than it allows');
  return rows
    .filter(({ requests }) => requests !== null)
    .map((row) => {
      const count = (name: (typeof COUNTS)[number] | 'failed'): number => Number(row[name]);
      return {
        ...(everyMs === undefined
          ? {}
          : { start: new Date(Number(row['period']) * periodOf(query) * MINUTE_MS) }),
        ...Object.fromEntries(
          by.map((name) => [COLUMNS[name][1], row[COLUMNS[name][0]] ?? undefined]),
        ),
        requests: count('requests'),
        failed: count('failed'),
        durationMs: count('duration_ms'),
        firstByteMs: count('first_byte_ms'),
        firstBytes: count('first_bytes'),
        ...(without === 'spend'
          ? {}
          : {
              tokens: {
                input: count('input_tokens'),
                output: count('output_tokens'),
                cacheRead: count('cache_read_tokens'),
                cacheWrite: count('cache_write_tokens'),
              },
              charge: unitsOf(String(row['charge'])),
            }),
      };
    });
}
