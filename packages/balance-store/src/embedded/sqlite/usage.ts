/** Reads sums of usage. */

import {
  DIMENSION_COLUMNS,
  assertNotTooMany,
  limitOf,
  topRowsOf,
  usageSumsOf,
} from '../../ledger/queries/stored-usage.js';
import type { StoredSum } from '../../ledger/queries/stored-usage.js';
import { usageSourceOf } from '../../ledger/queries/usage-source.js';
import type { UsageSource } from '../../ledger/queries/usage-source.js';
import type { UsageQuery, UsageSum } from '../../usage.js';
import type { Connection } from './connection.js';
import { unitsOf } from './money.js';
import { sumUsd } from './sums.js';

const RATE_COLUMNS =
  'input_rate AS inputRate, output_rate AS outputRate, cache_read_rate AS cacheReadRate, ' +
  'cache_write_5m_rate AS cacheWrite5mRate, cache_write_1h_rate AS cacheWrite1hRate';

interface SumRow extends Omit<StoredSum, 'rates' | 'usage' | 'writtenOff' | 'fees' | 'cost'> {
  readonly inputRate: string;
  readonly outputRate: string;
  readonly cacheReadRate: string;
  readonly cacheWrite5mRate: string;
  readonly cacheWrite1hRate: string;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cacheReadInputTokens: number;
  readonly cacheCreationInputTokens: number;
  readonly cacheCreation1hInputTokens: number;
  readonly writtenOff: string;
  readonly fees: string;
  readonly cost: string;
}

export function readUsage(connection: Connection, query: UsageQuery): readonly UsageSum[] {
  return connection.read(() => sumUsage(connection, query));
}

/** Call it within `connection.read`. */
export function sumUsage(connection: Connection, query: UsageQuery): readonly UsageSum[] {
  return usageSumsOf(readSums(connection, usageSourceOf(query), query), query);
}

const CHARGED =
  'sortable_charge(input_tokens, output_tokens, cache_read_input_tokens, ' +
  'cache_creation_input_tokens, cache_creation_1h_input_tokens, input_rate, output_rate, ' +
  'cache_read_rate, cache_write_5m_rate, cache_write_1h_rate, written_off, fees)';

/** Call it within `connection.read`. */
export function readSums(
  connection: Connection,
  { sql, values }: UsageSource,
  query: UsageQuery,
): readonly StoredSum[] {
  const columns = query.by.map((dimension) => DIMENSION_COLUMNS[dimension]);
  const selected = columns.map(([column, name]) => `${column} AS ${name}, `).join('');
  const groups = [...columns.map(([column]) => column), 'rates_id'].join(', ');
  const sums = connection.all<SumRow>(
    `SELECT ${selected}${RATE_COLUMNS}, sum(requests) AS requests, ` +
      'sum(input_tokens) AS inputTokens, sum(output_tokens) AS outputTokens, ' +
      'sum(cache_read_input_tokens) AS cacheReadInputTokens, ' +
      'sum(cache_creation_input_tokens) AS cacheCreationInputTokens, ' +
      'sum(cache_creation_1h_input_tokens) AS cacheCreation1hInputTokens, ' +
      `${sumUsd('written_off')} AS writtenOff, ${sumUsd('fees')} AS fees, ` +
      `${sumUsd('cost')} AS cost, sum(costed) AS costed FROM ${topRowsOf(sql, query, CHARGED)} GROUP BY ${groups}${limitOf(query)}`,
    ...values,
  );
  assertNotTooMany(sums, query);
  return sums.map(storedSum);
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
    ...row,
    rates: {
      inputPerToken: unitsOf(inputRate),
      outputPerToken: unitsOf(outputRate),
      cacheReadPerToken: unitsOf(cacheReadRate),
      cacheWrite5mPerToken: unitsOf(cacheWrite5mRate),
      cacheWrite1hPerToken: unitsOf(cacheWrite1hRate),
    },
    usage: {
      inputTokens: BigInt(row.inputTokens),
      outputTokens: BigInt(row.outputTokens),
      cacheReadInputTokens: BigInt(row.cacheReadInputTokens),
      cacheCreationInputTokens: BigInt(row.cacheCreationInputTokens),
      cacheCreation1hInputTokens: BigInt(row.cacheCreation1hInputTokens),
    },
    writtenOff: unitsOf(row.writtenOff),
    fees: unitsOf(row.fees),
    cost: unitsOf(row.cost),
  };
}
