/**
 * Compares the daily totals of usage with the hourly totals that are rolled up. The database
 * compares, and returns only what differs: a day has a total for each key and model that was used,
 * so a process that read all of them would need more memory the more accounts there are.
 */

import { DAY_MS } from '../base/hours.js';
import { MAX_DIFFERENCES } from '../../audit.js';
import type { AuditDifference } from '../../audit.js';
import { unitsFromNumeric } from '../../numeric.js';
import { figuresOf } from '../scan/ledger-scan.js';
import type { AuditSource, DayDifference } from './audit-source.js';
import { storedDifference } from './usage.js';
import { HOURS_PER_DAY } from '../queries/usage-source.js';
import type { UsageSource } from '../queries/usage-source.js';

/** Reads day by day. Each day is compared in one statement, because hours may be rolled up. */
export async function auditUsageDays(
  source: Pick<AuditSource, 'usageDayAfter'>,
  complain: (found: AuditDifference) => void,
): Promise<void> {
  let day = await source.usageDayAfter(-1);
  for (; day !== undefined; day = await source.usageDayAfter(day.day)) {
    const name = new Date(day.day * DAY_MS).toISOString().slice(0, 10);
    for (const { accountId, keyId, model, endpoint, figures } of day.differences) {
      complain({
        check: 'usage',
        accountId: accountId === '' ? undefined : accountId,
        keyId: keyId === '' ? undefined : keyId,
        entryId: undefined,
        expected: `the day ${name}, model ${model}, endpoint ${endpoint}: the sum of its hours`,
        found: storedDifference(figures),
      });
    }
  }
}

const COUNTS = [
  'requests',
  'input_tokens',
  'output_tokens',
  'cache_read_input_tokens',
  'cache_creation_input_tokens',
  'cache_creation_1h_input_tokens',
  'costed',
] as const;
const AMOUNTS = ['written_off', 'fees', 'cost'] as const;
type Amount = (typeof AMOUNTS)[number];
const SAME = 'model, endpoint, upstream_account, rates_id';
const RATES = 'input_rate, output_rate, cache_read_rate, cache_write_5m_rate, cache_write_1h_rate';

/** In the order of {@link COUNTS} and {@link AMOUNTS}. */
const FIGURE_NAMES = [
  'requests',
  'input',
  'output',
  'cacheRead',
  'cacheWrite',
  'cacheWrite1h',
  'costed',
  'writtenOff',
  'fees',
  'cost',
] as const satisfies readonly (keyof DayDifferenceRow)[];

/** A row of {@link differencesOfDay}: what each figure of the hours is above the stored one. */
export interface DayDifferenceRow extends Omit<DayDifference, 'figures'> {
  readonly requests: string;
  readonly input: string;
  readonly output: string;
  readonly cacheRead: string;
  readonly cacheWrite: string;
  readonly cacheWrite1h: string;
  readonly costed: string;
  readonly writtenOff: string;
  readonly fees: string;
  readonly cost: string;
}

/**
 * Selects the totals of one day that differ from the sums of their hours: those of keys, of
 * accounts, and of the whole ledger.
 *
 * @param amounts - SQL that sums a column of amounts, each value multiplied by `sign`, and that
 * says whether the sum is not zero.
 */
export function differencesOfDay(
  day: number,
  amounts: Readonly<Record<'sum' | 'isNotZero', (column: Amount) => string>>,
): UsageSource {
  const hour = day * HOURS_PER_DAY;
  const figures = `${SAME}, ${RATES}, ${[...COUNTS, ...AMOUNTS].join(', ')}`;
  const ofHours = (owner: string) =>
    `SELECT ${owner}, 1 AS sign, ${figures} FROM usage_hour ` +
    'WHERE rolled_up = TRUE AND hour >= ? AND hour < ?';
  const sums = COUNTS.map((column) => `sum(sign * ${column})`);
  const usd = AMOUNTS.map(amounts.sum);
  const texts = [...sums, ...usd].map(
    (sum, index) => `CAST(${sum} AS TEXT) AS "${FIGURE_NAMES[index] ?? ''}"`,
  );
  return {
    sql:
      `SELECT account_id AS "accountId", key_id AS "keyId", model, endpoint, ${texts.join(', ')} ` +
      `FROM (${ofHours('account_id, key_id')} UNION ALL ${ofHours("account_id, ''")} UNION ALL ` +
      `${ofHours("'', ''")} UNION ALL ` +
      `SELECT account_id, key_id, -1, ${figures} FROM usage_day WHERE day = ?) totals ` +
      `GROUP BY account_id, key_id, ${SAME}, ${RATES} ` +
      `HAVING ${sums.map((sum) => `${sum} <> 0 OR `).join('')}` +
      `${AMOUNTS.map(amounts.isNotZero).join(' OR ')} LIMIT ${String(MAX_DIFFERENCES)}`,
    values: [...[1, 2, 3].flatMap(() => [hour, hour + HOURS_PER_DAY]), day],
  };
}

export function dayDifferenceOf(row: DayDifferenceRow): DayDifference {
  const { accountId, keyId, model, endpoint } = row;
  const counts = [row.input, row.output, row.cacheRead, row.cacheWrite, row.cacheWrite1h];
  return {
    accountId,
    keyId,
    model,
    endpoint,
    figures: figuresOf({
      requests: BigInt(row.requests),
      counts: counts.map(BigInt),
      costed: BigInt(row.costed),
      writtenOff: unitsFromNumeric(row.writtenOff),
      fees: unitsFromNumeric(row.fees),
      cost: unitsFromNumeric(row.cost),
    }),
  };
}
