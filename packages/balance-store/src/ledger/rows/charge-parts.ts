/** The parts of a charge that reserves paid, as its column `parts` has them. */

import type { ChargePart } from '../../budget.js';
import { numericFromUnits, unitsFromNumeric } from '../../numeric.js';

type Written = readonly [budgetId: string, paidBy: string, amount: string];

/** The SQL function `split_charges` writes the same. @returns JSON; `null` if there are none */
export function chargePartsText(parts: readonly ChargePart[]): string | null {
  if (parts.length === 0) return null;
  const written = parts.map(({ budgetId, paidBy, amount }): Written => [
    budgetId,
    paidBy,
    numericFromUnits(amount),
  ]);
  return JSON.stringify(written);
}

/** @returns none if the text is not what the ledger writes: an audit reports it */
export function chargePartsOf(text: string | null): readonly ChargePart[] {
  if (text === null) return [];
  try {
    return (JSON.parse(text) as readonly Written[]).map(([budgetId, paidBy, amount]) => ({
      budgetId,
      paidBy,
      amount: unitsFromNumeric(amount),
    }));
  } catch {
    return [];
  }
}
