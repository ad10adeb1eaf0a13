/** Reads sums of charges by who spent. */

import {
  allUsageOf,
  namedSinceStatement,
  spendingStatement,
  spendingSumsOf,
} from '../../ledger/queries/spending.js';
import type { SpendingRow, SpendingSql } from '../../ledger/queries/spending.js';
import { HOUR_MS } from '../../ledger/base/hours.js';
import type { SpendingQuery, SpendingSum } from '../../spending.js';
import type { Connection } from './connection.js';
import { unitsOf } from './money.js';
import { positiveParts, sumOfParts } from './sums.js';
import { sumUsage } from './usage.js';

const DIALECT: SpendingSql = {
  partsOf: positiveParts,
  sum: sumOfParts,
  inBytes: (text) => text,
  units: unitsOf,
};

export function readSpending(connection: Connection, query: SpendingQuery): readonly SpendingSum[] {
  return connection.read(() => {
    const { sql, values } = spendingStatement(query, DIALECT);
    const rows = connection.all<SpendingRow>(sql, ...values);
    const usage = allUsageOf(query);
    const all = usage === undefined ? undefined : sumUsage(connection, usage);
    return spendingSumsOf(query, { rows, all, dialect: DIALECT });
  });
}

export function spendingNamedSince(
  connection: Connection,
  accountId: string | undefined,
): Date | undefined {
  const { sql, values } = namedSinceStatement(accountId);
  const hour = connection.get<{ readonly hour: number | null }>(sql, ...values)?.hour ?? null;
  return hour === null ? undefined : new Date(hour * HOUR_MS);
}
