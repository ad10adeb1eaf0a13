/** Adds up stored sums, each with one set of rates, into the requested sums. */

import type { SettledRates } from '../../ledger-entry.js';
import type { UsageDimension, UsageFigure, UsageQuery, UsageSum } from '../../usage.js';
import { listPriceOf } from '../rules/list-price.js';
import { rateTextsOf } from '../rows/rate-texts.js';
import { HOURS_PER_DAY } from './usage-source.js';
import { HOUR_MS } from '../base/hours.js';

/** The sum of charges that have the same rates and are equal in all requested dimensions. */
export interface StoredSum {
  /** Hours since 1970-01-01, of the hour or of the start of the day. */
  readonly hour?: number;
  readonly model?: string;
  readonly accountId?: string;
  readonly keyId?: string;
  readonly endpoint?: string;
  readonly upstreamAccount?: string;
  readonly rates: SettledRates;
  readonly requests: number;
  readonly usage: UsageSum['usage'];
  readonly writtenOff: bigint;
  readonly fees: bigint;
  readonly cost: bigint;
  readonly costed: number;
}

/**
 * For each dimension, its expression over the columns that a `UsageSource` selects, and its name in
 * {@link StoredSum}.
 */
export const DIMENSION_COLUMNS: Readonly<
  Record<UsageDimension, readonly [sql: string, name: keyof StoredSum]>
> = {
  day: [`hour / ${String(HOURS_PER_DAY)} * ${String(HOURS_PER_DAY)}`, 'hour'],
  hour: ['hour', 'hour'],
  model: ['model', 'model'],
  account: ['account_id', 'accountId'],
  key: ['key_id', 'keyId'],
  endpoint: ['endpoint', 'endpoint'],
  upstream: ['upstream_account', 'upstreamAccount'],
};

/**
 * Limits the rows of a source to those of the first sums of a query, as {@link UsageQuery.top}
 * says.
 *
 * @param charged - SQL that sums the amount charged of rows, as a value that can be sorted.
 * @returns a subquery with the columns of the source
 */
export function topRowsOf(
  sql: string,
  { by, sort, top }: Pick<UsageQuery, 'by' | 'sort' | 'top'>,
  charged: string,
): string {
  if (top === undefined || by.length === 0) return `(${sql}) sums`;
  const columns = by.map((dimension) => DIMENSION_COLUMNS[dimension][0]);
  const names = columns.map((_column, index) => `top_${String(index)}`);
  const figures: Readonly<Record<UsageFigure, string>> = {
    charged,
    requests: 'sum(requests)',
    tokens:
      'sum(input_tokens + output_tokens + cache_read_input_tokens + cache_creation_input_tokens)',
  };
  const order = [...(sort === undefined ? [] : [`${figures[sort]} DESC`]), ...names];
  return (
    `(WITH source AS (${sql}), best AS (SELECT ` +
    `${columns.map((column, index) => `${column} AS ${names[index] ?? ''}`).join(', ')} ` +
    `FROM source GROUP BY ${columns.join(', ')} ORDER BY ${order.join(', ')} ` +
    `LIMIT ${String(top)}) SELECT source.* FROM source JOIN best ON ` +
    `${columns.map((column, index) => `${column} = ${names[index] ?? ''}`).join(' AND ')}) sums`
  );
}

/**
 * SQL that limits a query for stored sums. It reads one row more than `maxSums`, so that
 * {@link assertNotTooMany} sees that there are more.
 */
export function limitOf({ maxSums }: Pick<UsageQuery, 'maxSums'>): string {
  return maxSums === undefined ? '' : ` LIMIT ${String(maxSums + 1)}`;
}

/** @throws {RangeError} */
export function assertNotTooMany(
  rows: { readonly length: number },
  { maxSums }: Pick<UsageQuery, 'maxSums'>,
): void {
  if (maxSums === undefined || rows.length <= maxSums) return;
  throw new RangeError(
    `covers more than ${String(maxSums)} sums: ask for a shorter time or for fewer dimensions`,
  );
}

export function usageSumsOf(
  rows: Iterable<StoredSum>,
  { by, byRates = false, sort }: UsageQuery,
): readonly UsageSum[] {
  const sums = new Map<string, UsageSum>();
  for (const row of rows) {
    const names = by.map((dimension) => row[DIMENSION_COLUMNS[dimension][1]] as string | number);
    const id = JSON.stringify([...names, byRates ? rateTextsOf(row.rates).units : []]);
    sums.set(id, added(sums.get(id), row, { by, byRates }));
  }
  return inOrder([...sums.values()], { by, sort });
}

function inOrder(
  sums: readonly UsageSum[],
  { by, sort }: Pick<UsageQuery, 'by' | 'sort'>,
): readonly UsageSum[] {
  return sums.toSorted(
    (a, b) =>
      (sort === undefined ? 0 : compare(figureOf(b, sort), figureOf(a, sort))) ||
      compareSums(a, b, by),
  );
}

function figureOf({ requests, usage, listPrice, writtenOff }: UsageSum, figure: UsageFigure) {
  switch (figure) {
    case 'charged':
      return listPrice - writtenOff;
    case 'requests':
      return requests;
    case 'tokens':
      return (
        usage.inputTokens +
        usage.outputTokens +
        usage.cacheReadInputTokens +
        usage.cacheCreationInputTokens
      );
  }
}

function added(
  sum: UsageSum | undefined,
  row: StoredSum,
  { by, byRates }: { readonly by: readonly UsageDimension[]; readonly byRates: boolean },
): UsageSum {
  const { rates, usage } = row;
  const total = sum?.usage;
  return {
    ...dimensionsOf(row, by),
    ...(byRates ? { rates } : {}),
    requests: (sum?.requests ?? 0) + row.requests,
    usage: {
      inputTokens: (total?.inputTokens ?? 0n) + usage.inputTokens,
      outputTokens: (total?.outputTokens ?? 0n) + usage.outputTokens,
      cacheReadInputTokens: (total?.cacheReadInputTokens ?? 0n) + usage.cacheReadInputTokens,
      cacheCreationInputTokens:
        (total?.cacheCreationInputTokens ?? 0n) + usage.cacheCreationInputTokens,
      cacheCreation1hInputTokens:
        (total?.cacheCreation1hInputTokens ?? 0n) + usage.cacheCreation1hInputTokens,
    },
    listPrice: (sum?.listPrice ?? 0n) + listPriceOf(usage, rates) + row.fees,
    writtenOff: (sum?.writtenOff ?? 0n) + row.writtenOff,
    fees: (sum?.fees ?? 0n) + row.fees,
    cost: (sum?.cost ?? 0n) + row.cost,
    costed: (sum?.costed ?? 0) + row.costed,
  };
}

/** @param rows - One for each sum, whose rates the database has already applied. */
export function usageSumsInOrder(
  rows: readonly (Omit<StoredSum, 'rates'> & Pick<UsageSum, 'listPrice'>)[],
  query: Pick<UsageQuery, 'by' | 'sort'>,
): readonly UsageSum[] {
  const sums = rows.map((row): UsageSum => ({
    ...dimensionsOf(row, query.by),
    requests: row.requests,
    usage: row.usage,
    listPrice: row.listPrice,
    writtenOff: row.writtenOff,
    fees: row.fees,
    cost: row.cost,
    costed: row.costed,
  }));
  return inOrder(sums, query);
}

function dimensionsOf(row: Omit<StoredSum, 'rates'>, by: readonly UsageDimension[]) {
  return {
    ...(by.includes('day') || by.includes('hour')
      ? { start: new Date((row.hour ?? 0) * HOUR_MS) }
      : {}),
    ...(row.model === undefined ? {} : { model: row.model }),
    ...(row.accountId === undefined ? {} : { accountId: row.accountId }),
    ...(row.keyId === undefined ? {} : { keyId: row.keyId }),
    ...(row.endpoint === undefined ? {} : { endpoint: row.endpoint }),
    ...(row.upstreamAccount === undefined ? {} : { upstreamAccount: row.upstreamAccount }),
  };
}

function compareSums(a: UsageSum, b: UsageSum, by: readonly UsageDimension[]): number {
  for (const dimension of by) {
    const order = compare(valueOf(a, dimension), valueOf(b, dimension));
    if (order !== 0) return order;
  }
  return 0;
}

function compare<Value extends string | number | bigint>(left: Value, right: Value): number {
  return left < right ? -1 : Number(left > right);
}

function valueOf(sum: UsageSum, dimension: UsageDimension): string | number {
  switch (dimension) {
    case 'day':
    case 'hour':
      return sum.start?.getTime() ?? 0;
    case 'model':
      return sum.model ?? '';
    case 'account':
      return sum.accountId ?? '';
    case 'key':
      return sum.keyId ?? '';
    case 'endpoint':
      return sum.endpoint ?? '';
    case 'upstream':
      return sum.upstreamAccount ?? '';
  }
}
