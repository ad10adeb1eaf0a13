/**
 * Converts amounts to and from the text in the ledger's columns: USD with 14 decimals, as
 * PostgreSQL writes them.
 */

import { numericFromUnits } from '../../numeric.js';

const DECIMALS = 14;
/** The limit of PostgreSQL's NUMERIC(38,14), in units of 10^-14 USD. */
const LIMIT = 10n ** 38n;

export const ZERO = numericFromUnits(0n);

/** @throws {RangeError | SyntaxError} if the text is not USD with 14 decimals. */
export function unitsOf(text: string): bigint {
  const point = text.length - DECIMALS - 1;
  if (text[point] !== '.') throw new RangeError(`"${text.slice(0, 60)}" is not an amount of USD`);
  return BigInt(text.slice(0, point) + text.slice(point + 1));
}

/** @throws {RangeError} for an amount that PostgreSQL could not store. */
export function textOf(units: bigint): string {
  if (units >= LIMIT || units <= -LIMIT) throw new RangeError('an amount is out of range');
  return numericFromUnits(units);
}

/** @throws {RangeError} */
export function assertNotNegative(amount: bigint): void {
  if (amount < 0n) throw new RangeError('an amount is negative');
}
