/** Code that both databases share to read totals of usage for an audit. */

import type { UsageFields } from './ledger-scan.js';

/** Finds the first day with totals after a day. Bind that day, and the first hour after it. */
export const NEXT_USAGE_DAY =
  'SELECT min(day) AS day FROM (SELECT min(day) AS day FROM usage_day WHERE day > ? UNION ALL ' +
  'SELECT min(hour) / 24 FROM usage_hour WHERE rolled_up = TRUE AND hour >= ?) days';

/** The order of hourly totals: the columns of a `UsagePosition`. */
export const USAGE_ORDER = 'account_id, hour, key_id, model, endpoint, upstream_account, rates_id';

/**
 * Merges the two rows that an hourly total may have: charges that came late have a row of their own
 * beside the one that is rolled up, until a roll-up merges the two. One statement must read both,
 * because that can happen at any moment.
 *
 * @param rows - In order. If there are more than `limit`, the last total may lack its second row
 * and is left out.
 */
export function wholeSums(rows: readonly UsageFields[], limit: number): readonly UsageFields[] {
  const cut = rows.length > limit ? rows.at(-1) : undefined;
  const sums: UsageFields[] = [];
  for (const row of rows) {
    if (cut !== undefined && isSameSum(row, cut)) break;
    const last = sums.at(-1);
    if (last === undefined || !isSameSum(last, row)) sums.push(row);
    else sums[sums.length - 1] = addedUsage(last, row);
  }
  return sums;
}

function isSameSum(a: UsageFields, b: UsageFields): boolean {
  return (
    a.accountId === b.accountId &&
    a.hour === b.hour &&
    a.keyId === b.keyId &&
    a.model === b.model &&
    a.endpoint === b.endpoint &&
    a.upstreamAccount === b.upstreamAccount &&
    a.ratesId === b.ratesId &&
    a.rates.every((rate, index) => rate === b.rates[index])
  );
}

/** Adds the figures of two rows. Everything else is taken from the first. */
export function addedUsage(a: UsageFields, b: UsageFields): UsageFields {
  return {
    ...a,
    requests: a.requests + b.requests,
    counts: a.counts.map((count, index) => count + (b.counts[index] ?? 0n)),
    writtenOff: a.writtenOff + b.writtenOff,
    fees: a.fees + b.fees,
    cost: a.cost + b.cost,
    costed: a.costed + b.costed,
  };
}
