/** The credits that an entry changed, as its column `lots` has them. */

import type { CreditSource } from '../../account.js';
import { numericFromUnits, unitsFromNumeric } from '../../numeric.js';

export interface LotChange {
  /** The id of the credit. */
  readonly lot: string;
  /** What was added to its unspent part, in units of 10^-14 USD; below zero if it was taken. */
  readonly amount: bigint;
  /** Only if the entry made the credit. */
  readonly terms?: { readonly source: CreditSource; readonly expiresAt: Date | null } | undefined;
}

type Written = readonly [
  lot: string,
  amount: string,
  ...terms: readonly [] | readonly [source: CreditSource, expiresAt: string | null],
];

/** @returns JSON; `null` if the entry changed none */
export function lotChangesText(changes: readonly LotChange[]): string | null {
  if (changes.length === 0) return null;
  const written = changes.map(({ lot, amount, terms }): Written => [
    lot,
    numericFromUnits(amount),
    ...(terms === undefined
      ? ([] as const)
      : ([terms.source, terms.expiresAt?.toISOString() ?? null] as const)),
  ]);
  return JSON.stringify(written);
}

export function lotChangesOf(text: string | null): readonly LotChange[] {
  if (text === null) return [];
  return (JSON.parse(text) as readonly Written[]).map(([lot, amount, source, expiresAt]) => ({
    lot,
    amount: unitsFromNumeric(amount),
    terms:
      source === undefined
        ? undefined
        : { source, expiresAt: expiresAt == null ? null : new Date(expiresAt) },
  }));
}
