/**
 * Exact amounts in the browser: a `bigint` count of 10^-14 USD, as in `@gateway/billing`. That
 * package is not imported because its price table would add 30 kB of zod to each page; a test
 * compares the two.
 */

import { OWN_STYLE, decimalText, readDecimal, typedText } from './numbers.js';
import type { NumberStyle } from './numbers.js';

const DECIMALS = 14;
const AMOUNT = /^(-?)(\d+)(?:\.(\d{1,14}))?$/;

/** @throws {RangeError} if the text is not a decimal amount of at most 14 decimals. */
export function parseUsd(text: string): bigint {
  const [, sign, whole, fraction = ''] = AMOUNT.exec(text) ?? [];
  if (whole === undefined) throw new RangeError(`"${text}" is not an amount in USD`);
  const magnitude = BigInt(whole + fraction.padEnd(DECIMALS, '0'));
  return sign === '-' ? -magnitude : magnitude;
}

/** The shortest exact decimal, such as `0.00000000000001`. */
export function formatUsd(amount: bigint): string {
  return plainDecimal(amount, DECIMALS).replace(/\.?0+$/, '');
}

export function sumUsd(amounts: readonly string[]): string {
  return formatUsd(amounts.reduce((sum, text) => sum + parseUsd(text), 0n));
}

/**
 * Reads an amount that a person typed, in the language of the browser. It may begin with `$`.
 *
 * @returns the exact decimal with a point
 */
export function readTypedUsd(text: string, style = OWN_STYLE): string | undefined {
  const plain = readDecimal(text.trim().replace(/^\$/, ''), style);
  return plain !== undefined && AMOUNT.test(plain) ? formatUsd(parseUsd(plain)) : undefined;
}

/** The same, above zero. */
export function positive(text: string): string | undefined {
  const amount = readTypedUsd(text);
  return amount !== undefined && parseUsd(amount) > 0n ? amount : undefined;
}

/** @returns how to write decimals, if the text has separators and is not an amount */
export function separatorProblem(text: string, style = OWN_STYLE): string | undefined {
  if (!/[.,'’]/.test(text) || readTypedUsd(text, style) !== undefined) return undefined;
  const [decimals, thousands] = [typedText('7.50', style), decimalText('12345', style)];
  return `Write decimals as ${decimals} and thousands as ${thousands} or 12345.`;
}

const SHOWN_DECIMALS = 4;
const LEAST_DECIMALS = 2;

interface Shown {
  /** At least so many decimals are shown, so that a column aligns. */
  readonly least?: number | undefined;
  /** At most so many, unless the amount would read as zero. */
  readonly most?: number | undefined;
  readonly style?: NumberStyle | undefined;
}

/**
 * A rounded amount for people, such as `$1,234.5679`. A small amount keeps its first two digits, so
 * that it never reads as zero: `$0.000012`.
 */
export function roundedUsd(text: string, shown: Shown = {}): string {
  const { least = LEAST_DECIMALS, most = SHOWN_DECIMALS, style } = shown;
  const amount = parseUsd(text);
  const magnitude = amount < 0n ? -amount : amount;
  const firstDigit = DECIMALS - magnitude.toString().length + 1;
  const decimals = Math.min(DECIMALS, Math.max(most, least, magnitude === 0n ? 0 : firstDigit + 1));
  const unit = 10n ** BigInt(DECIMALS - decimals);
  const rounded = ((magnitude + unit / 2n) / unit) * unit;
  return exactUsd(formatUsd(amount < 0n ? -rounded : rounded), { least, style });
}

/** All digits, such as `$1,234.56789`. */
export function exactUsd(text: string, { least = 0, style = OWN_STYLE }: Shown = {}): string {
  const [whole = '', fraction = ''] = text.replace('-', '').split('.');
  const decimals = fraction.padEnd(least, '0');
  const digits = decimalText(decimals === '' ? whole : `${whole}.${decimals}`, style);
  return `${text.startsWith('-') ? '−' : ''}$${digits}`;
}

/** All digits in a sentence or a button, such as `1,234.5 USD`. */
export function usdText(text: string): string {
  return `${decimalText(text)} USD`;
}

/** A tiny amount may stand out of its column: with more zeros, all others would be hard to read. */
const MOST_ALIGNED = 6;

/** The decimals with which a column of amounts aligns at the point. */
export function alignedDecimals(texts: readonly string[]): {
  readonly rounded: number;
  readonly exact: number;
} {
  const most = (shown: readonly string[], decimal: string) =>
    shown.reduce((count, text) => Math.max(count, (text.split(decimal)[1] ?? '').length), 0);
  const rounded = texts.map((text) => roundedUsd(text));
  return {
    rounded: Math.min(MOST_ALIGNED, most(rounded, OWN_STYLE.decimal)),
    exact: most(texts, '.'),
  };
}

function plainDecimal(amount: bigint, decimals: number): string {
  const magnitude = amount < 0n ? -amount : amount;
  const digits = magnitude.toString().padStart(decimals + 1, '0');
  return `${amount < 0n ? '-' : ''}${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`;
}

const CENT_UNITS = 10n ** 12n;

export function usdOfCents(cents: number): string {
  return formatUsd(BigInt(cents) * CENT_UNITS);
}
