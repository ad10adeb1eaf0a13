/** Derives the price of one token of each class from published rates, without rounding. */

import { readDecimal } from './decimal.js';
import { USD_DECIMALS } from './usd.js';

/** Prices per token, in units of 10^-14 USD. */
export interface Rates {
  readonly inputPerToken: bigint;
  readonly outputPerToken: bigint;
  readonly cacheReadPerToken: bigint;
  /** Cache writes that live five minutes. */
  readonly cacheWrite5mPerToken: bigint;
  /** Cache writes that live one hour. */
  readonly cacheWrite1hPerToken: bigint;
}

/** Rates as published: decimal strings. */
export interface PublishedRates {
  /** USD per million input tokens, at most six decimals. */
  readonly rateIn: string;
  /** USD per million output tokens, at most six decimals. */
  readonly rateOut: string;
  /** Multiples of the input rate. */
  readonly factors: CacheFactors;
}

/**
 * Prices of cached tokens as multiples of the input rate: decimal strings, at most six decimals.
 */
export interface CacheFactors {
  readonly cacheRead: string;
  readonly cacheWrite: string;
  readonly cacheWrite1h: string;
}

/** The specification's factors: reads at 10 %, writes of either lifetime at 125 %. */
export const SPECIFIED_FACTORS: CacheFactors = {
  cacheRead: '0.10',
  cacheWrite: '1.25',
  cacheWrite1h: '1.25',
};

/** Decimals that a published rate may have. */
export const RATE_DECIMALS = 6;
/** Decimals that a factor may have. Whether the resulting price is exact depends on the rate. */
export const FACTOR_DECIMALS = 6;

/** The rates of a response that costs nothing. */
export const UNBILLED_RATES: Rates = {
  inputPerToken: 0n,
  outputPerToken: 0n,
  cacheReadPerToken: 0n,
  cacheWrite5mPerToken: 0n,
  cacheWrite1hPerToken: 0n,
};

const FACTOR_SCALE = 10n ** BigInt(FACTOR_DECIMALS);
/** A rate is read in units of 10^-6 USD per 10^6 tokens, which is 10^-12 USD per token. */
const UNITS_PER_RATE_STEP = 100n;

/**
 * The ledger has 24 digits before the point. Beyond this price per token, a charge of the most
 * tokens would not fit.
 */
export const MAX_PER_TOKEN = 10n ** 28n;
const TOO_LARGE = 'gives a price that the ledger cannot hold';

export type RateField = 'rateIn' | 'rateOut' | keyof CacheFactors;

export interface RateProblem {
  readonly field: RateField;
  readonly problem: string;
}

export type RatesReading =
  | { readonly outcome: 'read'; readonly rates: Rates }
  | { readonly outcome: 'invalid'; readonly problems: readonly RateProblem[] };

/**
 * Turns published rates into prices per token, or reports the fields that cannot be exact, or whose
 * charges could be more than the ledger can hold.
 *
 * Exactness is proven here, once, so that no charge has to be rounded later. A factor is refused
 * when the price of one token would need a finer unit than 10^-14 USD.
 */
export function readRates(published: PublishedRates): RatesReading {
  const problems: RateProblem[] = [];

  const inputPerToken = readRate('rateIn', published.rateIn, problems);
  const outputPerToken = readRate('rateOut', published.rateOut, problems);
  const cached = (field: keyof CacheFactors): bigint =>
    priceAtFactor(field, published.factors[field], inputPerToken, problems);
  const rates: Rates = {
    inputPerToken: inputPerToken ?? 0n,
    outputPerToken: outputPerToken ?? 0n,
    cacheReadPerToken: cached('cacheRead'),
    cacheWrite5mPerToken: cached('cacheWrite'),
    cacheWrite1hPerToken: cached('cacheWrite1h'),
  };
  return problems.length === 0 ? { outcome: 'read', rates } : { outcome: 'invalid', problems };
}

function readRate(
  field: 'rateIn' | 'rateOut',
  text: string,
  problems: RateProblem[],
): bigint | undefined {
  const reading = readDecimal(text, { decimals: RATE_DECIMALS, sign: 'unsigned' });
  const perToken = reading.outcome === 'read' ? reading.scaled * UNITS_PER_RATE_STEP : undefined;
  if (perToken !== undefined && perToken <= MAX_PER_TOKEN) return perToken;
  const problem = reading.outcome === 'read' ? TOO_LARGE : reading.problem;
  problems.push({ field, problem });
  return undefined;
}

/**
 * Notes a problem and returns 0 if the price is not exact or too large. Rates with such a 0 are
 * never used.
 */
function priceAtFactor(
  field: keyof CacheFactors,
  text: string,
  inputPerToken: bigint | undefined,
  problems: RateProblem[],
): bigint {
  const reading = readDecimal(text, { decimals: FACTOR_DECIMALS, sign: 'unsigned' });
  if (reading.outcome === 'invalid') {
    problems.push({ field, problem: reading.problem });
    return 0n;
  }
  if (inputPerToken === undefined) return 0n;
  const product = inputPerToken * reading.scaled;
  if (product % FACTOR_SCALE !== 0n) {
    problems.push({
      field,
      problem: `multiplied by the input rate gives a price per token with more than ${USD_DECIMALS} decimals`,
    });
    return 0n;
  }
  const perToken = product / FACTOR_SCALE;
  if (perToken <= MAX_PER_TOKEN) return perToken;
  problems.push({ field, problem: TOO_LARGE });
  return 0n;
}

const TOKEN_CLASSES = {
  inputPerToken: 'input',
  outputPerToken: 'output',
  cacheReadPerToken: 'cache reads',
  cacheWrite5mPerToken: 'cache writes',
  cacheWrite1hPerToken: 'one-hour cache writes',
} as const satisfies Record<keyof Rates, string>;

export type Multiplied =
  | { readonly outcome: 'multiplied'; readonly rates: Rates }
  | { readonly outcome: 'invalid'; readonly problem: string };

/**
 * Multiplies all prices by a factor, or names the class of tokens whose price would not be exact.
 *
 * @param factor - A decimal string with at most six decimals.
 */
export function multiplyRates(rates: Rates, factor: string): Multiplied {
  const reading = readDecimal(factor, { decimals: FACTOR_DECIMALS, sign: 'unsigned' });
  if (reading.outcome === 'invalid') return reading;
  const multiplied: Partial<Record<keyof Rates, bigint>> = {};
  for (const name of Object.keys(TOKEN_CLASSES) as (keyof Rates)[]) {
    const product = rates[name] * reading.scaled;
    if (product % FACTOR_SCALE !== 0n) {
      const problem = `gives a price per token of ${TOKEN_CLASSES[name]} with more than ${USD_DECIMALS} decimals`;
      return { outcome: 'invalid', problem };
    }
    if (product / FACTOR_SCALE > MAX_PER_TOKEN) {
      return { outcome: 'invalid', problem: TOO_LARGE };
    }
    multiplied[name] = product / FACTOR_SCALE;
  }
  return { outcome: 'multiplied', rates: { ...rates, ...multiplied } };
}
