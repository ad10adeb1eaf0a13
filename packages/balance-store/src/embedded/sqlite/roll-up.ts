/**
 * Adds the hourly totals of usage to the daily totals, by the same rules as `roll_up_usage` on
 * PostgreSQL.
 */

import type { UsageFields } from '../../ledger/scan/ledger-scan.js';
import { addedUsage } from '../../ledger/scan/usage-rows.js';
import { HOURS_PER_DAY } from '../../ledger/queries/usage-source.js';
import { addToSum, sumCondition } from './add-to-sum.js';
import type { SumFigures } from './add-to-sum.js';
import { SELECT_USAGE, usageOf } from './audit/totals.js';
import type { UsageRow } from './audit/totals.js';
import type { Connection } from './connection.js';

interface DaySum {
  readonly primary: readonly (string | number)[];
  readonly sum: UsageFields;
}

/**
 * @param before - Rolls up only earlier hours. In hours since 1970-01-01 UTC.
 * @returns how many hourly totals were rolled up
 */
export function rollUpUsage(connection: Connection, before: number, limit: number): number {
  return connection.write(() => {
    const open = connection
      .all<UsageRow>(
        `${SELECT_USAGE} WHERE rolled_up = FALSE AND hour < ? ORDER BY hour LIMIT ?`,
        before,
        limit,
      )
      .map(usageOf);
    for (const { primary, sum } of daySumsOf(open)) {
      addToSum(connection, 'usage_day', primary, figuresOf(sum));
    }
    for (const row of open) markRolledUp(connection, row);
    return open.length;
  });
}

/** The amounts to add to the daily totals of each key, of each account and of the whole ledger. */
function daySumsOf(rows: readonly UsageFields[]): Iterable<DaySum> {
  const sums = new Map<string, DaySum>();
  for (const row of rows) {
    const { accountId, keyId, model, endpoint, upstreamAccount, ratesId } = row;
    const day = Math.floor(row.hour / HOURS_PER_DAY);
    for (const owner of [
      [accountId, keyId],
      [accountId, ''],
      ['', ''],
    ]) {
      const primary = [...owner, day, model, endpoint, upstreamAccount, ratesId];
      const id = JSON.stringify(primary);
      const before = sums.get(id)?.sum;
      sums.set(id, { primary, sum: before === undefined ? row : addedUsage(before, row) });
    }
  }
  return sums.values();
}

function figuresOf({ requests, counts, costed, ...sum }: UsageFields): SumFigures {
  const { rates, writtenOff, fees, cost } = sum;
  return {
    requests: Number(requests),
    counts: counts.map(Number),
    costed: Number(costed),
    rates,
    writtenOff,
    fees,
    cost,
  };
}

const IS_IT = sumCondition('usage_hour');
const [OPEN, ROLLED_UP] = [0, 1];

function markRolledUp(connection: Connection, row: UsageFields): void {
  const { accountId, hour, keyId, model, endpoint, upstreamAccount, ratesId } = row;
  const position = [accountId, hour, keyId, model, endpoint, upstreamAccount, ratesId];
  const marked = connection.run(
    `UPDATE OR IGNORE usage_hour SET rolled_up = TRUE WHERE ${IS_IT}`,
    ...position,
    OPEN,
  );
  if (marked > 0) return;
  // The row could not be marked, because there is such a row that was rolled up earlier. The later
  // charges, which are in this row, are added to that one.
  addToSum(connection, 'usage_hour', [...position, ROLLED_UP], figuresOf(row));
  connection.run(`DELETE FROM usage_hour WHERE ${IS_IT}`, ...position, OPEN);
}
