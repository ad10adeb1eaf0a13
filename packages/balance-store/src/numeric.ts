/** Converts between `bigint` units of 10^-14 USD and the database's decimal text. */

const DECIMALS = 14;
const NUMERIC_TEXT = /^(-?)(\d+)(?:\.(\d+))?$/;

/** Writes units of 10^-14 USD as USD with all 14 decimals: `1n` is `"0.00000000000001"`. */
export function numericFromUnits(units: bigint): string {
  const sign = units < 0n ? '-' : '';
  const magnitude = units < 0n ? -units : units;
  const digits = magnitude.toString().padStart(DECIMALS + 1, '0');
  return `${sign}${digits.slice(0, -DECIMALS)}.${digits.slice(-DECIMALS)}`;
}

/**
 * Converts USD, in the form in which the database writes it, to units of 10^-14 USD.
 *
 * @throws {RangeError} when the text is not a plain decimal or is finer than 10^-14 USD. This
 * package never writes such a value, and rounding it would hide that something else did.
 */
export function unitsFromNumeric(text: string): bigint {
  const [, sign, whole = '', decimals = ''] = NUMERIC_TEXT.exec(text) ?? [];
  const fraction = decimals.slice(0, DECIMALS).padEnd(DECIMALS, '0');
  if (whole === '' || /[1-9]/.test(decimals.slice(DECIMALS))) {
    throw new RangeError(`"${text.slice(0, 60)}" is not an amount of USD with at most 14 decimals`);
  }
  const units = BigInt(whole + fraction);
  return sign === '-' ? -units : units;
}
