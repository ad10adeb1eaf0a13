import { SEALED_LEDGER } from '../../generated/tables.js';
import type { SealedLedger } from '../../generated/tables.js';
import { unitsFromNumeric } from '../../numeric.js';
import type { CountColumn, RateColumn } from '../tables/charge-columns.js';

/**
 * The charge of the recorded tokens at the recorded rates, and of the recorded fees. Does not use
 * `chargeOf` of `@gateway/billing`, because an audit that shared its code would share its errors.
 */
export function listPriceOf(row: SealedLedger): bigint {
  const count = (name: CountColumn) => BigInt(row[SEALED_LEDGER[name]] ?? 0);
  const rate = (name: RateColumn) => unitsFromNumeric(row[SEALED_LEDGER[name]] ?? '0');
  const write1h = count('cacheCreation1hInputTokens');
  return (
    count('inputTokens') * rate('inputRate') +
    count('outputTokens') * rate('outputRate') +
    count('cacheReadInputTokens') * rate('cacheReadRate') +
    (count('cacheCreationInputTokens') - write1h) * rate('cacheWrite5mRate') +
    write1h * rate('cacheWrite1hRate') +
    feesOf(row)
  );
}

/** The sum of the recorded fees. A text that is none of the ledger's own has none. */
export function feesOf(row: SealedLedger): bigint {
  const text = row[SEALED_LEDGER.pricing] ?? null;
  if (text === null) return 0n;
  try {
    const { fees } = JSON.parse(text) as { fees: readonly (readonly [string, number, string])[] };
    return fees.reduce((sum, [, units, perUnit]) => sum + BigInt(units) * BigInt(perUnit), 0n);
  } catch {
    return 0n;
  }
}
