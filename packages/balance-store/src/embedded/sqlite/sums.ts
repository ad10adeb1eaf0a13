/** Exact sums of money in SQL. SQLite's own `sum` would convert decimal text to a float. */

import type { DatabaseSync } from 'node:sqlite';
import { numericFromUnits } from '../../numeric.js';
import { ZERO, textOf, unitsOf } from './money.js';

/** Larger than any sum, so that the text of a sum plus this one has the same length for all. */
const ABOVE_ALL = 10n ** 50n;

export function addSums(database: DatabaseSync): void {
  /** `sum_usd(amount, sign)`: the sum of amounts, each multiplied by `sign`, as decimal text. */
  database.aggregate<bigint>('sum_usd', {
    deterministic: true,
    useBigIntArguments: true,
    start: () => 0n,
    step: (sum, amount, sign) =>
      amount === ZERO ? sum : sum + (sign as bigint) * unitsOf(String(amount)),
    result: numericFromUnits,
  });
  /** `add_usd(amount, amount)`: the sum of two amounts, as decimal text. */
  database.function('add_usd', { deterministic: true }, (one, other) =>
    textOf(unitsOf(String(one)) + unitsOf(String(other))),
  );
  /**
   * `sortable_charge(…)`: what the usage of all rows costs, without the part written off, as a text
   * that sorts like the amount. Its arguments are the five token counts, the five rates in the
   * order of the ledger's columns, the amount written off, and the fees.
   */
  database.aggregate<bigint>('sortable_charge', {
    deterministic: true,
    useBigIntArguments: true,
    varargs: true,
    start: () => 0n,
    step: (sum, ...values) => {
      const [input, output, cacheRead, cacheWrite, cacheWrite1h] = values as bigint[];
      const [inputRate, outputRate, readRate, write5mRate, write1hRate, writtenOff, fees] = values
        .slice(5)
        .map((amount) => (amount === ZERO ? 0n : unitsOf(String(amount))));
      return (
        sum +
        (input ?? 0n) * (inputRate ?? 0n) +
        (output ?? 0n) * (outputRate ?? 0n) +
        (cacheRead ?? 0n) * (readRate ?? 0n) +
        ((cacheWrite ?? 0n) - (cacheWrite1h ?? 0n)) * (write5mRate ?? 0n) +
        (cacheWrite1h ?? 0n) * (write1hRate ?? 0n) -
        (writtenOff ?? 0n) +
        (fees ?? 0n)
      );
    },
    result: (sum) => String(ABOVE_ALL + sum),
  });
}
