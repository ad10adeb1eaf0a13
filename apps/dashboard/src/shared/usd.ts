/**
 * Exact amounts in the browser: a `bigint` count of 10^-14 USD, as in `@gateway/billing`. That
 * package is not imported because its price table would add 30 kB of zod to each page; a test
 * compares the two.
 */

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
  return decimalText(amount, DECIMALS).replace(/\.?0+$/, '');
}

export function sumUsd(amounts: readonly string[]): string {
  return formatUsd(amounts.reduce((sum, text) => sum + parseUsd(text), 0n));
}

/** A comma may only separate thousands, because many people write 7.5 as `7,50`. */
const TYPED = /^-?(?:\d+|[1-9]\d{0,2}(?:,\d{3})+)(?:\.\d+)?$/;

/** Reads an amount that a person typed. It may begin with `$` and have commas between thousands. */
export function readTypedUsd(text: string): string | undefined {
  const typed = text.trim().replace(/^\$/, '');
  const plain = typed.replaceAll(',', '');
  return TYPED.test(typed) && AMOUNT.test(plain) ? formatUsd(parseUsd(plain)) : undefined;
}

/** The same, above zero. */
export function positive(text: string): string | undefined {
  const amount = readTypedUsd(text);
  return amount !== undefined && parseUsd(amount) > 0n ? amount : undefined;
}

/** @returns how to write decimals, if the text has a comma and is not an amount */
export function commaProblem(text: string): string | undefined {
  return text.includes(',') && readTypedUsd(text) === undefined
    ? 'Write decimals with a point, such as 7.50. Commas only separate thousands.'
    : undefined;
}

const SHOWN_DECIMALS = 4;
const LEAST_DECIMALS = 2;

/**
 * A rounded amount for people, such as `$1,234.5679`. A small amount keeps its first two digits, so
 * that it never reads as zero: `$0.000012`.
 *
 * @param leastDecimals - At least so many decimals are shown, so that a column aligns.
 */
export function roundedUsd(text: string, leastDecimals = LEAST_DECIMALS): string {
  const amount = parseUsd(text);
  const magnitude = amount < 0n ? -amount : amount;
  const firstDigit = DECIMALS - magnitude.toString().length + 1;
  const decimals = Math.min(
    DECIMALS,
    Math.max(SHOWN_DECIMALS, leastDecimals, magnitude === 0n ? 0 : firstDigit + 1),
  );
  const unit = 10n ** BigInt(DECIMALS - decimals);
  const scaled = (magnitude + unit / 2n) / unit;
  const shown = decimalText(scaled * unit, DECIMALS);
  const [whole = '', fraction = ''] = shown.split('.');
  const places = fraction.slice(0, decimals).replace(/0+$/, '').padEnd(leastDecimals, '0');
  return `${amount < 0n ? '−' : ''}$${grouped(whole)}.${places}`;
}

/** All digits, such as `$1,234.56789`. */
export function exactUsd(text: string, leastDecimals = 0): string {
  const [whole = '', fraction = ''] = text.replace('-', '').split('.');
  const decimals = fraction.padEnd(leastDecimals, '0');
  const digits = grouped(whole) + (decimals === '' ? '' : `.${decimals}`);
  return `${text.startsWith('-') ? '−' : ''}$${digits}`;
}

/** A tiny amount may stand out of its column: with more zeros, all others would be hard to read. */
const MOST_ALIGNED = 6;

/** The decimals with which a column of amounts aligns at the point. */
export function alignedDecimals(texts: readonly string[]): {
  readonly rounded: number;
  readonly exact: number;
} {
  const most = (shown: readonly string[]) =>
    shown.reduce((count, text) => Math.max(count, (text.split('.')[1] ?? '').length), 0);
  return {
    rounded: Math.min(MOST_ALIGNED, most(texts.map((text) => roundedUsd(text)))),
    exact: most(texts),
  };
}

function grouped(whole: string): string {
  return whole.replace(/\B(?=(\d{3})+$)/g, ',');
}

function decimalText(amount: bigint, decimals: number): string {
  const magnitude = amount < 0n ? -amount : amount;
  const digits = magnitude.toString().padStart(decimals + 1, '0');
  return `${amount < 0n ? '-' : ''}${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`;
}

const CENT_UNITS = 10n ** 12n;

export function usdOfCents(cents: number): string {
  return formatUsd(BigInt(cents) * CENT_UNITS);
}
