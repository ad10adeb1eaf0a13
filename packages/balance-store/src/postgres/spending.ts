/** Reads sums of charges by who spent. */

import type { Pool } from 'pg';
import {
  allUsageOf,
  namedSinceStatement,
  spendingStatement,
  spendingSumsOf,
} from '../ledger/queries/spending.js';
import type { SpendingRow, SpendingSql } from '../ledger/queries/spending.js';
import { HOUR_MS } from '../ledger/base/hours.js';
import { unitsFromNumeric } from '../numeric.js';
import type { SpendingQuery, SpendingSum } from '../spending.js';
import { LONG_TIMEOUT_MS, inTransaction, numbered, queryRows } from './query.js';
import { sumUsage } from './usage.js';

const DIALECT: SpendingSql = {
  partsOf: (amount) => [[amount, `sum(${amount})`]],
  sum: (amount) => `sum(${amount})::text`,
  inBytes: (text) => `${text} COLLATE "C"`,
  units: unitsFromNumeric,
};

export function readSpending(pool: Pool, query: SpendingQuery): Promise<readonly SpendingSum[]> {
  return inTransaction(pool, 'snapshot', async (queries) => {
    const { sql, values } = spendingStatement(query, DIALECT);
    const rows = await queries.rows<SpendingRow>(numbered(sql), values);
    const usage = allUsageOf(query);
    const all = usage === undefined ? undefined : await sumUsage(queries, usage);
    return spendingSumsOf(query, { rows, all, dialect: DIALECT });
  });
}

export async function spendingNamedSince(
  pool: Pool,
  accountId: string | undefined,
): Promise<Date | undefined> {
  const { sql, values } = namedSinceStatement(accountId);
  const [row] = await queryRows<{ readonly hour: number | null }>(pool, {
    text: numbered(sql),
    values,
    timeoutMs: LONG_TIMEOUT_MS,
  });
  return row?.hour == null ? undefined : new Date(row.hour * HOUR_MS);
}
