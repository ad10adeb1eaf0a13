/** Reads decimal strings as scaled integers. Amounts, rates and factors are all read here. */

/**
 * The ledger's `NUMERIC(38,14)` holds amounts below 10^24. The limit also bounds the work of
 * `BigInt`.
 */
const MAX_INTEGER_DIGITS = 24;

export type DecimalReading =
  | { readonly outcome: 'read'; readonly scaled: bigint }
  | { readonly outcome: 'invalid'; readonly problem: string };

export interface DecimalFormat {
  /** The result is scaled by 10^decimals; a text with more decimals than this is invalid. */
  readonly decimals: number;
  readonly sign: 'signed' | 'unsigned';
}

/**
 * Reads `text` exactly, or describes what is wrong with it. Nothing is rounded, trimmed or assumed.
 */
export function readDecimal(text: string, format: DecimalFormat): DecimalReading {
  const match = /^(-?)([0-9]+)(?:\.([0-9]+))?$/.exec(text);
  if (match === null) return { outcome: 'invalid', problem: problemOf(text) };
  const [, sign = '', whole = '', fraction = ''] = match;
  if (sign !== '' && format.sign === 'unsigned') return invalid('must not be negative');
  if (whole.length > 1 && whole.startsWith('0')) return invalid('has leading zeros');
  if (whole.length > MAX_INTEGER_DIGITS) {
    return invalid(`has more than ${MAX_INTEGER_DIGITS} digits before the point`);
  }
  if (fraction.length > format.decimals) {
    return invalid(`has ${fraction.length} decimals, but at most ${format.decimals} are allowed`);
  }
  const magnitude = BigInt(whole + fraction.padEnd(format.decimals, '0'));
  return { outcome: 'read', scaled: sign === '' ? magnitude : -magnitude };
}

function invalid(problem: string): DecimalReading {
  return { outcome: 'invalid', problem };
}

function problemOf(text: string): string {
  if (text === '') return 'is empty';
  if (/^[+-]?[0-9.]+[eE][+-]?[0-9]+$/.test(text)) return 'has an exponent';
  if (text.startsWith('+')) return 'has a plus sign';
  return 'is not a decimal number such as 12.34';
}
