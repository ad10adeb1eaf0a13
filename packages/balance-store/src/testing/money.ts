/** Sums of the sides of the books for an account whose entries a test has moved to other times. */

import type { LedgerEntry } from '../ledger-entry.js';
import { HOUR_MS } from '../ledger/base/hours.js';
import { redeemedSides, sidesOf } from '../ledger/rules/sides.js';
import { numericFromUnits } from '../numeric.js';

/** SQL that replaces the sums of an account by those of these entries, which are all it has. */
export function moneyOf(accountId: string, entries: readonly LedgerEntry[]): readonly string[] {
  const sums = new Map<string, bigint>();
  for (const entry of entries) {
    const { delta, createdAt } = entry;
    const hour = String(Math.floor(createdAt.getTime() / HOUR_MS));
    const sides =
      entry.kind === 'charge'
        ? redeemedSides(-entry.given)
        : sidesOf({ ...entry, delta, given: entry.given ?? 0n, counter: entry.counter ?? '' });
    for (const { side, amount } of sides) {
      const key = `${hour}, '${side}'`;
      sums.set(key, (sums.get(key) ?? 0n) + amount);
    }
  }
  return [
    `DELETE FROM money_hour WHERE account_id = '${accountId}'`,
    ...[...sums].map(
      ([key, amount]) =>
        'INSERT INTO money_hour (hour, side, account_id, amount) ' +
        `VALUES (${key}, '${accountId}', '${numericFromUnits(amount)}')`,
    ),
  ];
}
