/** Reads sums of usage. */

import { ratesOf } from '../../ledger/stored-entry.js';
import {
  DIMENSION_COLUMNS,
  assertNotTooMany,
  limitOf,
  usageSumsOf,
} from '../../ledger/stored-usage.js';
import type { StoredSum } from '../../ledger/stored-usage.js';
import { usageSourceOf } from '../../ledger/usage-source.js';
import type { UsageSource } from '../../ledger/usage-source.js';
import type { UsageQuery, UsageSum } from '../../usage.js';
import type { Connection } from './connection.js';
import { ZERO, unitsOf } from './money.js';

const RATE_COLUMNS =
  'input_rate AS inputRate, output_rate AS outputRate, cache_read_rate AS cacheReadRate, ' +
  'cache_write_5m_rate AS cacheWrite5mRate, cache_write_1h_rate AS cacheWrite1hRate';

interface SumRow extends Omit<StoredSum, 'rates' | 'usage' | 'writtenOff'> {
  readonly inputRate: string;
  readonly outputRate: string;
  readonly cacheReadRate: string;
  readonly cacheWrite5mRate: string;
  readonly cacheWrite1hRate: string;
}

interface CountsRow extends SumRow {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cacheReadInputTokens: number;
  readonly cacheCreationInputTokens: number;
  readonly cacheCreation1hInputTokens: number;
}

export function readUsage(connection: Connection, query: UsageQuery): readonly UsageSum[] {
  return connection.read(() => sumUsage(connection, query));
}

/** Call it within `connection.read`. */
export function sumUsage(connection: Connection, query: UsageQuery): readonly UsageSum[] {
  return usageSumsOf(readSums(connection, usageSourceOf(query), query), query);
}

/** Call it within `connection.read`. */
export function readSums(
  connection: Connection,
  { sql, values }: UsageSource,
  query: Pick<UsageQuery, 'by' | 'maxSums'>,
): readonly StoredSum[] {
  const columns = query.by.map((dimension) => DIMENSION_COLUMNS[dimension]);
  const selected = columns.map(([column, name]) => `${column} AS ${name}, `).join('');
  const groups = [...columns.map(([column]) => column), 'rates_id'].join(', ');
  const counts = connection.all<CountsRow>(
    `SELECT ${selected}${RATE_COLUMNS}, sum(requests) AS requests, ` +
      'sum(input_tokens) AS inputTokens, sum(output_tokens) AS outputTokens, ' +
      'sum(cache_read_input_tokens) AS cacheReadInputTokens, ' +
      'sum(cache_creation_input_tokens) AS cacheCreationInputTokens, ' +
      'sum(cache_creation_1h_input_tokens) AS cacheCreation1hInputTokens ' +
      `FROM (${sql}) GROUP BY ${groups}${limitOf(query)}`,
    ...values,
  );
  assertNotTooMany(counts, query);
  // SQLite cannot add decimal text, so the write-offs of each sum are read as a list.
  const writeOffs = connection.all<SumRow & { readonly writtenOff: string }>(
    `SELECT ${selected}${RATE_COLUMNS}, 0 AS requests, group_concat(written_off) AS writtenOff ` +
      `FROM (${sql}) WHERE written_off <> '${ZERO}' GROUP BY ${groups}`,
    ...values,
  );
  return [
    ...counts.map((row) => storedSum(row, row, 0n)),
    ...writeOffs.map((row) => storedSum(row, undefined, sumOf(row.writtenOff.split(',')))),
  ];
}

function sumOf(amounts: readonly string[]): bigint {
  return amounts.reduce((sum, amount) => sum + unitsOf(amount), 0n);
}

function storedSum(
  { inputRate, outputRate, cacheReadRate, cacheWrite5mRate, cacheWrite1hRate, ...row }: SumRow,
  counts: CountsRow | undefined,
  writtenOff: bigint,
): StoredSum {
  return {
    ...row,
    rates: ratesOf(
      { inputRate, outputRate, cacheReadRate, cacheWrite5mRate, cacheWrite1hRate },
      unitsOf,
    ),
    usage: {
      inputTokens: BigInt(counts?.inputTokens ?? 0),
      outputTokens: BigInt(counts?.outputTokens ?? 0),
      cacheReadInputTokens: BigInt(counts?.cacheReadInputTokens ?? 0),
      cacheCreationInputTokens: BigInt(counts?.cacheCreationInputTokens ?? 0),
      cacheCreation1hInputTokens: BigInt(counts?.cacheCreation1hInputTokens ?? 0),
    },
    writtenOff,
  };
}
