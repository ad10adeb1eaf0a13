/** Shorter forms of exact values, for a terminal. `--wide`, pipes and files have the exact ones. */

import { formatUsd, parseUsd } from '@gateway/billing';

/** In units of 10^-14 USD. */
const DECIMALS = 14;
const MOST_DECIMALS = 4;
const LEAST_DECIMALS = 2;
const AMOUNT = /^-?\d+(\.\d+)?$/;

/**
 * An amount with two to four decimals, as the pages show it. A small one keeps its first two
 * digits, so that it never reads as zero: `0.000012`. Other texts stay as they are.
 *
 * @param least - At least so many decimals, so that a column aligns: {@link alignedDecimals}.
 */
export function shortUsd(text: string, least = LEAST_DECIMALS): string {
  if (!AMOUNT.test(text)) return text;
  const amount = parseUsd(text);
  const magnitude = amount < 0n ? -amount : amount;
  const firstDigit = DECIMALS - magnitude.toString().length + 1;
  const decimals = Math.min(DECIMALS, Math.max(MOST_DECIMALS, amount === 0n ? 0 : firstDigit + 1));
  const unit = 10n ** BigInt(DECIMALS - decimals);
  const rounded = ((magnitude + unit / 2n) / unit) * unit;
  const [whole = '', fraction = ''] = formatUsd(amount < 0n ? -rounded : rounded).split('.');
  return `${whole}.${fraction.padEnd(least, '0')}`;
}

/** Tiny amounts may stand out of their column. With more zeros, the others are hard to read. */
export function alignedDecimals(texts: readonly string[]): number {
  const decimals = texts.map((text) => (shortUsd(text).split('.')[1] ?? '').length);
  return Math.min(MOST_DECIMALS, Math.max(LEAST_DECIMALS, ...decimals));
}

/** Both ends of a range, to the minute. */
export function shortRange(from: string, until: string): string {
  const [first, last] = [from, until].map((time) =>
    shortTime(time).replace(/(\d\d:\d\d):00Z$/, '$1Z'),
  );
  return `From ${first ?? ''} until ${last ?? ''}`;
}

/** Times without milliseconds: `2026-11-30 12:00:05Z`. */
export function shortTime(text: string): string {
  return text.replaceAll(/(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(?:\.\d{3})?Z/g, '$1 $2Z');
}

const EIGHTHS = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];

/** A bar of at most `width` characters; what is not zero has at least the thinnest one. */
export function bar(value: bigint, most: bigint, width: number): string {
  if (value <= 0n || most <= 0n) return '';
  const eighths = Math.max(1, Number((value * BigInt(width * 8)) / most));
  return '█'.repeat(Math.floor(eighths / 8)) + (EIGHTHS[eighths % 8] ?? '');
}

const LEVELS = '▁▂▃▄▅▆▇█';

/** One character for each value: `▁▂▅▇`. Zero is a dot, so that it differs from the smallest. */
export function sparkline(values: readonly bigint[]): string {
  const most = values.reduce((max, value) => (value > max ? value : max), 1n);
  return values
    .map((value) => (value <= 0n ? '·' : (LEVELS[Number((value * 7n) / most)] ?? '')))
    .join('');
}
