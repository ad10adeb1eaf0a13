/** Reads sums of usage, and rolls them up. */

import type { Pool } from 'pg';
import {
  DIMENSION_COLUMNS,
  assertNotTooMany,
  limitOf,
  topRowsOf,
  usageSumsInOrder,
  usageSumsOf,
} from '../ledger/queries/stored-usage.js';
import type { StoredSum } from '../ledger/queries/stored-usage.js';
import { usageSourceOf } from '../ledger/queries/usage-source.js';
import type { UsageSource } from '../ledger/queries/usage-source.js';
import { unitsFromNumeric } from '../numeric.js';
import type { UsageQuery, UsageSum } from '../usage.js';
import { LONG_TIMEOUT_MS, numbered, queryRows } from './query.js';
import type { TransactionQueries } from './query.js';

interface SumRow extends Omit<
  StoredSum,
  'rates' | 'usage' | 'requests' | 'writtenOff' | 'fees' | 'cost' | 'costed'
> {
  readonly requests: string;
  readonly input: string;
  readonly output: string;
  readonly cacheRead: string;
  readonly cacheWrite: string;
  readonly cacheWrite1h: string;
  readonly inputRate: string;
  readonly outputRate: string;
  readonly cacheReadRate: string;
  readonly cacheWrite5mRate: string;
  readonly cacheWrite1hRate: string;
  readonly writtenOff: string;
  readonly fees: string;
  readonly cost: string;
  readonly costed: string;
}

export function readUsage(pool: Pool, query: UsageQuery): Promise<readonly UsageSum[]> {
  return sumUsage(
    { rows: (text, values = []) => queryRows(pool, { text, values, timeoutMs: LONG_TIMEOUT_MS }) },
    query,
  );
}

export async function sumUsage(
  read: TransactionQueries,
  query: UsageQuery,
): Promise<readonly UsageSum[]> {
  const source = usageSourceOf(query);
  if (query.byRates === true) return usageSumsOf(await readSums(read, source, query), query);
  return addedSums(read, source, query);
}

/**
 * The sums over all rates. PostgreSQL adds them up, because a holder can make thousands of them and
 * this thread serves requests.
 */
async function addedSums(
  { rows }: TransactionQueries,
  { sql, values }: UsageSource,
  query: UsageQuery,
): Promise<readonly UsageSum[]> {
  const columns = query.by.map((dimension) => DIMENSION_COLUMNS[dimension]);
  const names = columns.map(([, name]) => `"${name}"`);
  const groups = names.length === 0 ? '' : `GROUP BY ${names.join(', ')}`;
  const found = await rows<AddedRow>(
    `SELECT ${names.map((name) => `${name}, `).join('')}${COUNTS}, ` +
      'sum(list_price)::text AS "listPrice", count(*)::int4 AS parts FROM (' +
      `SELECT ${columns.map(([column, name]) => `${column} AS "${name}", `).join('')}` +
      `${COUNTED.map((column) => `sum(${column}) AS ${column}`).join(', ')}, ` +
      `sum(${LIST_PRICE}) AS list_price FROM ${numbered(topRowsOf(sql, query, CHARGED))} ` +
      `GROUP BY ${[...columns.map(([column]) => column), 'rates_id'].join(', ')}${limitOf(query)}` +
      `) parts ${groups} HAVING count(*) > 0`,
    values,
  );
  const parts = found.reduce((sum, row) => sum + row.parts, 0);
  assertNotTooMany({ length: parts }, query);
  return usageSumsInOrder(
    found.map(({ listPrice, parts: _parts, ...row }) => ({
      ...countsOf(row),
      listPrice: unitsFromNumeric(listPrice),
    })),
    query,
  );
}

type AddedRow = Omit<SumRow, `${string}Rate`> & {
  readonly listPrice: string;
  readonly parts: number;
};

const COUNTED = [
  'requests',
  'input_tokens',
  'output_tokens',
  'cache_read_input_tokens',
  'cache_creation_input_tokens',
  'cache_creation_1h_input_tokens',
  'written_off',
  'fees',
  'cost',
  'costed',
] as const;

const COUNTS =
  'sum(requests)::text AS requests, sum(input_tokens)::text AS input, ' +
  'sum(output_tokens)::text AS output, sum(cache_read_input_tokens)::text AS "cacheRead", ' +
  'sum(cache_creation_input_tokens)::text AS "cacheWrite", ' +
  'sum(cache_creation_1h_input_tokens)::text AS "cacheWrite1h", ' +
  'sum(written_off)::text AS "writtenOff", sum(fees)::text AS fees, sum(cost)::text AS cost, ' +
  'sum(costed)::text AS costed';

/** `listPriceOf` of `stored-usage.ts` in SQL. */
const LIST_PRICE =
  'input_tokens * input_rate + output_tokens * output_rate + ' +
  'cache_read_input_tokens * cache_read_rate + ' +
  '(cache_creation_input_tokens - cache_creation_1h_input_tokens) * cache_write_5m_rate + ' +
  'cache_creation_1h_input_tokens * cache_write_1h_rate + fees';

const CHARGED = `sum(${LIST_PRICE} - written_off)`;

/** @param sql - Selects the rows to sum, as `usageSourceOf` returns it. */
export async function readSums(
  { rows }: TransactionQueries,
  { sql, values }: UsageSource,
  query: UsageQuery,
): Promise<readonly StoredSum[]> {
  const columns = query.by.map((dimension) => DIMENSION_COLUMNS[dimension]);
  const found = await rows<SumRow>(
    `SELECT ${columns.map(([column, name]) => `${column} AS "${name}", `).join('')}` +
      `${COUNTS}, ` +
      'min(input_rate)::text AS "inputRate", min(output_rate)::text AS "outputRate", ' +
      'min(cache_read_rate)::text AS "cacheReadRate", ' +
      'min(cache_write_5m_rate)::text AS "cacheWrite5mRate", ' +
      'min(cache_write_1h_rate)::text AS "cacheWrite1hRate" ' +
      `FROM ${numbered(topRowsOf(sql, query, CHARGED))} ` +
      `GROUP BY ${[...columns.map(([column]) => column), 'rates_id'].join(', ')}${limitOf(query)}`,
    values,
  );
  assertNotTooMany(found, query);
  return found.map(storedSum);
}

export async function rollUpUsage(pool: Pool, before: number, limit: number): Promise<number> {
  const [row] = await queryRows<{ count: number }>(pool, {
    text: 'SELECT roll_up_usage($1, $2) AS count',
    values: [before, limit],
    timeoutMs: LONG_TIMEOUT_MS,
  });
  return row?.count ?? 0;
}

function storedSum({
  inputRate,
  outputRate,
  cacheReadRate,
  cacheWrite5mRate,
  cacheWrite1hRate,
  ...row
}: SumRow): StoredSum {
  return {
    ...countsOf(row),
    rates: {
      inputPerToken: unitsFromNumeric(inputRate),
      outputPerToken: unitsFromNumeric(outputRate),
      cacheReadPerToken: unitsFromNumeric(cacheReadRate),
      cacheWrite5mPerToken: unitsFromNumeric(cacheWrite5mRate),
      cacheWrite1hPerToken: unitsFromNumeric(cacheWrite1hRate),
    },
  };
}

function countsOf({
  input,
  output,
  cacheRead,
  cacheWrite,
  cacheWrite1h,
  ...row
}: Omit<SumRow, `${string}Rate`>): Omit<StoredSum, 'rates'> {
  return {
    ...row,
    requests: Number(row.requests),
    usage: {
      inputTokens: BigInt(input),
      outputTokens: BigInt(output),
      cacheReadInputTokens: BigInt(cacheRead),
      cacheCreationInputTokens: BigInt(cacheWrite),
      cacheCreation1hInputTokens: BigInt(cacheWrite1h),
    },
    writtenOff: unitsFromNumeric(row.writtenOff),
    fees: unitsFromNumeric(row.fees),
    cost: unitsFromNumeric(row.cost),
    costed: Number(row.costed),
  };
}
