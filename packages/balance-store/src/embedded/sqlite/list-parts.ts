/** How SQLite sorts and searches lists of accounts and keys. */

import type { Sort } from '../../ledger/queries/list-query.js';
import type { Condition } from '../../ledger/queries/search.js';
import type { Metadata } from '../../metadata.js';

const UNITS_PER_USD = 10n ** 14n;
/** SQLite's largest integer. SQLite also converts a text with a larger number to this one. */
const LARGEST = 2n ** 63n - 1n;

/**
 * Amounts are decimal text, whose order is not that of the amounts. So rows are sorted by whole
 * USD, then by the 14 decimals, both with the amount's sign. Exact below 9 * 10^18 USD.
 */
export function byAmount(column: string): Omit<Sort, 'direction'> {
  const decimals = `CAST(substr(${column}, -14) AS INTEGER)`;
  return {
    by: [
      `CAST(${column} AS INTEGER)`,
      `CASE WHEN ${column} GLOB '-*' THEN -${decimals} ELSE ${decimals} END`,
    ],
    valuesAt: (units) => [storable(units / UNITS_PER_USD), units % UNITS_PER_USD],
  };
}

function storable(usd: bigint): bigint {
  if (usd > LARGEST) return LARGEST;
  return usd < -LARGEST - 1n ? -LARGEST - 1n : usd;
}

/** Sorts by a time. A row without one counts as earlier than any time. */
export function byTime(column: string): Omit<Sort, 'direction'> {
  return { by: [`coalesce(${column}, -1)`], valuesAt: (ms) => [ms] };
}

/** One condition for each pair of the metadata. */
export function metadataConditions(column: string, metadata: Metadata = {}): readonly Condition[] {
  return Object.entries(metadata).map(([name, value]) => [
    `EXISTS (SELECT 1 FROM json_each(${column}) AS pair WHERE pair.key = ? AND pair.value = ?)`,
    name,
    value,
  ]);
}
