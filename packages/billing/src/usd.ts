/**
 * Exact US dollars: a `bigint` count of 10^-14 USD.
 *
 * Rates have at most six decimals per million tokens. `readRates` refuses a cache factor if the
 * price of one token would not be a whole number of this unit. Therefore no charge is ever rounded.
 */

import { readDecimal } from './decimal.js';

export const USD_DECIMALS = 14;

/**
 * The text is not an exact amount. The message quotes it (at most 40 characters) and names the
 * problem.
 */
export class UsdFormatError extends Error {
  override readonly name = 'UsdFormatError';
}

/**
 * Reads a decimal USD amount such as `"5"`, `"-0.25"` or `"0.00000000000001"`, exactly.
 *
 * @returns the amount in units of 10^-14 USD.
 * @throws {UsdFormatError} on anything else: an exponent, a plus sign, leading zeros, a bare point,
 * more than 14 decimals or more than 24 digits before the point.
 */
export function parseUsd(text: string): bigint {
  const reading = readDecimal(text, { decimals: USD_DECIMALS, sign: 'signed' });
  if (reading.outcome === 'invalid') {
    const quoted = text.length > 40 ? `${text.slice(0, 40)}…` : text;
    throw new UsdFormatError(`USD amount "${quoted}" ${reading.problem}`);
  }
  return reading.scaled;
}

/**
 * Writes an amount as its shortest exact decimal: `500000000000000n` is `"5"`, `1n` is
 * `"0.00000000000001"`. The result is a valid JSON number and {@link parseUsd} reads it back
 * unchanged.
 *
 * @param amount - In units of 10^-14 USD.
 */
export function formatUsd(amount: bigint): string {
  const magnitude = amount < 0n ? -amount : amount;
  const sign = amount < 0n ? '-' : '';
  const digits = magnitude.toString().padStart(USD_DECIMALS + 1, '0');
  const whole = digits.slice(0, -USD_DECIMALS);
  const fraction = digits.slice(-USD_DECIMALS).replace(/0+$/, '');
  return fraction === '' ? sign + whole : `${sign}${whole}.${fraction}`;
}
