/** The prices that a table inherits from the one that it extends, multiplied by its factor. */

import { readDecimal } from './decimal.js';
import { FACTOR_DECIMALS, RATE_DECIMALS } from './rates.js';
import { USD_DECIMALS, formatUsd } from './usd.js';

const FACTOR_SCALE = 10n ** BigInt(FACTOR_DECIMALS);

/** The product of two factors, which may have more decimals than a factor may have. */
export function productOf(own = '1', factor: string): string {
  const decimals = 2 * FACTOR_DECIMALS;
  const digits = (scaledFactor(own) * scaledFactor(factor)).toString();
  const padded = digits.padStart(decimals + 1, '0');
  return `${padded.slice(0, -decimals)}.${padded.slice(-decimals)}`.replace(/\.?0+$/, '');
}

export function multipliedFees(
  fees: Readonly<Record<string, string>>,
  factor: string,
  problems: string[],
): Record<string, string> {
  const multiplied: Record<string, string> = {};
  for (const [what, text] of Object.entries(fees)) {
    const product = multiply(text, USD_DECIMALS, [factor]);
    if (product === undefined) continue;
    if (!product.isExact) {
      problems.push(`factor: gives a fee for ${what} with more than ${USD_DECIMALS} decimals`);
    }
    multiplied[what] = product.text;
  }
  return multiplied;
}

const RATES: ReadonlySet<string> = new Set(['rate_in', 'rate_out']);
/** Of a rate below an entry, as in `price_changes[0].speed.fast.rate_in`. */
const RATE_DEPTH = 5;

/** Whether rates are written anywhere in an entry, which need not be valid. */
export function hasRatesWithin(entry: unknown, depth = RATE_DEPTH): boolean {
  if (typeof entry !== 'object' || entry === null || depth === 0) return false;
  return Object.entries(entry).some(
    ([name, member]) => RATES.has(name) || hasRatesWithin(member, depth - 1),
  );
}

/**
 * Multiplies every rate of an entry, wherever it stands. Factors stay, because they multiply rates.
 *
 * @param factors - Decimal strings, checked.
 * @returns the entry, or `undefined` if a rate would have more decimals than a rate may have.
 */
export function withMultipliedRates<Entry extends object>(
  entry: Entry,
  factors: readonly string[],
): Entry | undefined {
  let isExact = true;
  const multiplied = (value: unknown): unknown => {
    if (typeof value !== 'object' || value === null) return value;
    if (Array.isArray(value)) return value.map(multiplied);
    const members = Object.entries(value).map(([name, member]: [string, unknown]) => {
      if (!RATES.has(name) || typeof member !== 'string') return [name, multiplied(member)];
      const product = multiply(member, RATE_DECIMALS, factors);
      isExact &&= product?.isExact ?? true;
      return [name, product?.text ?? member];
    });
    return Object.fromEntries(members) as unknown;
  };
  const result = multiplied(entry) as Entry;
  return isExact ? result : undefined;
}

interface Product {
  readonly text: string;
  /** Whether no decimals were cut off. */
  readonly isExact: boolean;
}

/** @returns `undefined` if a text is not a decimal, which the check of the whole table reports */
function multiply(text: string, decimals: number, factors: readonly string[]): Product | undefined {
  const price = readDecimal(text, { decimals, sign: 'unsigned' });
  if (price.outcome === 'invalid') return undefined;
  const product = factors.reduce((all, each) => all * scaledFactor(each), price.scaled);
  const scale = FACTOR_SCALE ** BigInt(factors.length);
  const inUnits = (product / scale) * 10n ** BigInt(USD_DECIMALS - decimals);
  return { text: formatUsd(inUnits), isExact: product % scale === 0n };
}

function scaledFactor(text: string): bigint {
  const reading = readDecimal(text, { decimals: FACTOR_DECIMALS, sign: 'unsigned' });
  if (reading.outcome === 'invalid') throw new Error(`the factor ${text} was not checked`);
  return reading.scaled;
}
