/** Adds figures to one hourly or daily total of usage. */

import type { Connection } from './connection.js';
import { ZERO, textOf, unitsOf } from './money.js';

/** The primary keys of the tables. */
export const SUM_KEYS = {
  usage_hour: [
    'account_id',
    'hour',
    'key_id',
    'model',
    'endpoint',
    'upstream_account',
    'rates_id',
    'rolled_up',
  ],
  usage_day: ['account_id', 'key_id', 'day', 'model', 'endpoint', 'upstream_account', 'rates_id'],
} as const;

type SumTable = keyof typeof SUM_KEYS;

export interface SumFigures {
  readonly requests: number;
  /** In the order of the columns. */
  readonly counts: readonly number[];
  /** In the order of the columns, as they are stored. */
  readonly rates: readonly string[];
  readonly writtenOff: bigint;
}

const STATEMENTS = { usage_hour: statementsOf('usage_hour'), usage_day: statementsOf('usage_day') };

/** @param primary - The values of the primary key. */
export function addToSum(
  connection: Connection,
  table: SumTable,
  primary: readonly (string | number)[],
  { requests, counts, rates, writtenOff }: SumFigures,
): void {
  const { add, readWrittenOff, setWrittenOff } = STATEMENTS[table];
  connection.run(add, ...primary, requests, ...counts, ...rates);
  // Amounts are text, which SQLite cannot add, so a write-off takes two more statements. It is
  // rare.
  if (writtenOff === 0n) return;
  const row = connection.get<{ readonly written_off: string }>(readWrittenOff, ...primary);
  const sum = unitsOf(row?.written_off ?? '') + writtenOff;
  connection.run(setWrittenOff, textOf(sum), ...primary);
}

/** An SQL condition that selects one total. Bind its primary key, in the order of its columns. */
export function sumCondition(table: SumTable): string {
  return SUM_KEYS[table].map((column) => `${column} = ?`).join(' AND ');
}

function statementsOf(table: SumTable) {
  const keys = SUM_KEYS[table];
  const isIt = sumCondition(table);
  return {
    add:
      `INSERT INTO ${table} (${keys.join(', ')}, requests, input_tokens, output_tokens, ` +
      'cache_read_input_tokens, cache_creation_input_tokens, cache_creation_1h_input_tokens, ' +
      'input_rate, output_rate, cache_read_rate, cache_write_5m_rate, cache_write_1h_rate, ' +
      `written_off) VALUES (${'?, '.repeat(keys.length + 11)}'${ZERO}') ` +
      'ON CONFLICT DO UPDATE SET requests = requests + excluded.requests, ' +
      'input_tokens = input_tokens + excluded.input_tokens, ' +
      'output_tokens = output_tokens + excluded.output_tokens, ' +
      'cache_read_input_tokens = cache_read_input_tokens + excluded.cache_read_input_tokens, ' +
      'cache_creation_input_tokens = ' +
      'cache_creation_input_tokens + excluded.cache_creation_input_tokens, ' +
      'cache_creation_1h_input_tokens = ' +
      'cache_creation_1h_input_tokens + excluded.cache_creation_1h_input_tokens',
    readWrittenOff: `SELECT written_off FROM ${table} WHERE ${isIt}`,
    setWrittenOff: `UPDATE ${table} SET written_off = ? WHERE ${isIt}`,
  };
}
