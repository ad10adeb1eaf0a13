/**
 * The text of a charge's pricing in the ledger: how its rates were chosen, and its fees. Absent for
 * a charge of tokens at the usual rates, which is what every charge was before this column.
 */

import type { SettledFee, SettledPricing } from '../../ledger-entry.js';

interface PricingJson {
  readonly terms: Readonly<Record<string, string>>;
  /** The price of a unit in units of 10^-14 USD. */
  readonly fees: readonly (readonly [what: string, units: number, perUnit: string])[];
}

/** Equal pricings have equal texts. */
export function pricingTextOf(pricing: SettledPricing | undefined): string | null {
  if (pricing === undefined) return null;
  const terms = Object.entries(pricing.terms).sort(([a], [b]) => (a < b ? -1 : 1));
  if (terms.length === 0 && pricing.fees.length === 0) return null;
  const json: PricingJson = {
    terms: Object.fromEntries(terms),
    fees: pricing.fees.map(({ what, units, perUnit }) => [what, units, perUnit.toString()]),
  };
  return JSON.stringify(json);
}

export function pricingOf(text: string | null): SettledPricing | undefined {
  if (text === null) return undefined;
  const { terms, fees } = JSON.parse(text) as PricingJson;
  return {
    terms,
    fees: fees.map(([what, units, perUnit]) => ({ what, units, perUnit: BigInt(perUnit) })),
  };
}

/** In units of 10^-14 USD. */
export function sumOfFees(fees: readonly SettledFee[] | undefined): bigint {
  return (fees ?? []).reduce((sum, { units, perUnit }) => sum + BigInt(units) * perUnit, 0n);
}
