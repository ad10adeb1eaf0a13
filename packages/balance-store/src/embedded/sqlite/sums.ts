/**
 * Exact sums of money in SQL. SQLite's own `sum` would convert decimal text to a float, so it adds
 * parts of the text as integers. No function of this process is called for each row, because Node
 * keeps the arguments of all calls until the statement has ended: 80 MB for a million rows.
 */

import type { DatabaseSync } from 'node:sqlite';
import { numericFromUnits } from '../../numeric.js';
import { ZERO, textOf, unitsOf } from './money.js';

/** Larger than any sum, so that the text of a sum plus this one has the same length for all. */
const ABOVE_ALL = 10n ** 50n;

/** Two halves of the decimals, and of the up to 24 digits before them: SQL, and what one counts. */
const PARTS = [
  { of: (amount: string) => `substr(${amount}, -7)`, units: 1n },
  { of: (amount: string) => `substr(${amount}, -14, 7)`, units: 10n ** 7n },
  { of: (amount: string) => `substr(${wholeOf(amount)}, -12)`, units: 10n ** 14n },
  {
    of: (amount: string) => `substr(${wholeOf(amount)}, 1, length(${wholeOf(amount)}) - 12)`,
    units: 10n ** 26n,
  },
] as const;

function wholeOf(amount: string): string {
  return `ltrim(substr(${amount}, 1, length(${amount}) - 15), '-')`;
}

/** SQL of the sum of each part, the smallest first. */
function partSums(amount: string, sign: string): readonly string[] {
  const signOf = `iif(substr(${amount}, 1, 1) = '-', -1, 1)`;
  return PARTS.map(
    ({ of }) =>
      `coalesce(sum(${sign} * ${signOf} * CAST(${of(amount)} AS INTEGER)) ` +
      `FILTER (WHERE ${amount} <> '${ZERO}'), 0)`,
  );
}

/** SQL of the sum of amounts, each multiplied by `sign`, as decimal text. */
export function sumUsd(amount: string, sign = '1'): string {
  return `usd_of(${partSums(amount, sign).join(', ')})`;
}

/**
 * The columns of a sum of amounts of zero or more, which {@link sumOfParts} adds up. Amounts below
 * 10,000 USD are integers of 18 digits: reading one as a whole takes a third of the time of reading
 * its parts.
 */
export function positiveParts(amount: string): readonly (readonly [name: string, sum: string])[] {
  const isShort = `length(${amount}) < 20`;
  const units = `CAST(replace(${amount}, '.', '') AS INTEGER)`;
  const ofShort = [`${units} % 10000000`, `${units} / 10000000`, '0', '0'];
  return PARTS.map(({ of }, index) => {
    const part = `iif(${isShort}, ${ofShort[index] ?? '0'}, CAST(${of(amount)} AS INTEGER))`;
    const isRead = index < 2 ? `${amount} <> '${ZERO}'` : `NOT ${isShort}`;
    return [partName(amount, index), `coalesce(sum(${part}) FILTER (WHERE ${isRead}), 0)`] as const;
  });
}

/** SQL of the sum of columns that {@link positiveParts} names, as decimal text. */
export function sumOfParts(amount: string): string {
  return `usd_of(${PARTS.map((_, index) => `sum(${partName(amount, index)})`).join(', ')})`;
}

function partName(amount: string, index: number): string {
  return `${amount}_${String(index)}`;
}

/** SQL of whether the sum is not zero. It is exact, and calls no function of this process. */
export function sumIsNotZero(amount: string, sign: string): string {
  let carried = '0';
  const isZero = partSums(amount, sign).map((sum, index) => {
    const whole = `(${sum} + ${carried})`;
    const next = PARTS[index + 1]?.units;
    if (next === undefined) return `${whole} = 0`;
    const size = String(next / (PARTS[index]?.units ?? 1n));
    carried = `${whole} / ${size}`;
    return `${whole} % ${size} = 0`;
  });
  return `NOT (${isZero.join(' AND ')})`;
}

export function addSums(database: DatabaseSync): void {
  /** `usd_of(…)`: sums of the parts of amounts, as decimal text. */
  database.function(
    'usd_of',
    { deterministic: true, useBigIntArguments: true, varargs: true },
    (...sums) =>
      numericFromUnits(
        PARTS.reduce((total, { units }, index) => total + units * (sums[index] as bigint), 0n),
      ),
  );
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
