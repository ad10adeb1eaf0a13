/** Reads sums of usage. */

import type { Pool } from 'pg';
import { ratesOf } from '../ledger/stored-entry.js';
import { DIMENSION_COLUMNS, hoursOf, usageSumsOf } from '../ledger/stored-usage.js';
import type { StoredSum } from '../ledger/stored-usage.js';
import { unitsFromNumeric } from '../numeric.js';
import type { UsageQuery, UsageSum } from '../usage.js';
import { LONG_TIMEOUT_MS, queryRows } from './query.js';

interface SumRow extends Omit<StoredSum, 'rates' | 'usage' | 'requests' | 'writtenOff'> {
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
}

export async function readUsage(pool: Pool, query: UsageQuery): Promise<readonly UsageSum[]> {
  const columns = query.by.map((dimension) => DIMENSION_COLUMNS[dimension]);
  const rows = await queryRows<SumRow>(pool, {
    text:
      `SELECT ${columns.map(([sql, name]) => `${sql} AS "${name}", `).join('')}` +
      'sum(requests)::text AS requests, sum(input_tokens)::text AS input, ' +
      'sum(output_tokens)::text AS output, sum(cache_read_input_tokens)::text AS "cacheRead", ' +
      'sum(cache_creation_input_tokens)::text AS "cacheWrite", ' +
      'sum(cache_creation_1h_input_tokens)::text AS "cacheWrite1h", ' +
      'min(input_rate)::text AS "inputRate", min(output_rate)::text AS "outputRate", ' +
      'min(cache_read_rate)::text AS "cacheReadRate", ' +
      'min(cache_write_5m_rate)::text AS "cacheWrite5mRate", ' +
      'min(cache_write_1h_rate)::text AS "cacheWrite1hRate", ' +
      'sum(written_off)::text AS "writtenOff" FROM usage_hour ' +
      'WHERE hour >= $1 AND hour < $2 AND ($3::text IS NULL OR account_id = $3) ' +
      'AND ($4::text IS NULL OR key_id = $4) AND ($5::text IS NULL OR model = $5) ' +
      `GROUP BY ${[...columns.map(([sql]) => sql), 'rates_id'].join(', ')}`,
    values: [...hoursOf(query), query.accountId ?? null, query.keyId ?? null, query.model ?? null],
    timeoutMs: LONG_TIMEOUT_MS,
  });
  return usageSumsOf(rows.map(storedSum), query);
}

function storedSum({
  input,
  output,
  cacheRead,
  cacheWrite,
  cacheWrite1h,
  inputRate,
  outputRate,
  cacheReadRate,
  cacheWrite5mRate,
  cacheWrite1hRate,
  ...row
}: SumRow): StoredSum {
  return {
    ...row,
    requests: Number(row.requests),
    rates: ratesOf(
      { inputRate, outputRate, cacheReadRate, cacheWrite5mRate, cacheWrite1hRate },
      unitsFromNumeric,
    ),
    usage: {
      inputTokens: BigInt(input),
      outputTokens: BigInt(output),
      cacheReadInputTokens: BigInt(cacheRead),
      cacheCreationInputTokens: BigInt(cacheWrite),
      cacheCreation1hInputTokens: BigInt(cacheWrite1h),
    },
    writtenOff: unitsFromNumeric(row.writtenOff),
  };
}
