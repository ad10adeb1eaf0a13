/** Whole cents, in which providers count, and the ledger's units of 10^-14 USD. */

import { formatUsd } from '@gateway/billing';

const UNITS_PER_CENT = 10n ** 12n;

/** The conversion is exact. */
export function unitsFromCents(cents: number): bigint {
  return BigInt(cents) * UNITS_PER_CENT;
}

export function usdFromCents(cents: number): string {
  return formatUsd(unitsFromCents(cents));
}

/** The whole cents of an amount, rounded down. It is not for booking. */
export function centsBelow(units: bigint): number {
  const cents = units / UNITS_PER_CENT;
  return Number(units < cents * UNITS_PER_CENT ? cents - 1n : cents);
}

/**
 * @returns `undefined` for an amount that is not whole cents, or too large to be exact as a number
 */
export function centsFromUnits(units: bigint): number | undefined {
  const cents = units / UNITS_PER_CENT;
  const isWhole = cents * UNITS_PER_CENT === units && cents <= BigInt(Number.MAX_SAFE_INTEGER);
  return isWhole ? Number(cents) : undefined;
}
