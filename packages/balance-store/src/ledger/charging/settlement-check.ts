/**
 * What a settlement must be before it is written, on either database. An entry never changes, so an
 * audit would report a wrong one for ever.
 */

import type { SettledFee, SettledRates, SettledUsage } from '../../ledger-entry.js';
import type { Settlement } from '../../store.js';
import { assertAmount, assertId } from '../rules/argument-checks.js';
import { assertSpender } from '../rules/spender-checks.js';
import { reservedPrefixOf } from '../rules/entry-ids.js';
import { listPriceOf } from '../rules/list-price.js';
import { sumOfFees } from '../rows/pricing-text.js';

/**
 * Why a settlement cannot be charged, in a sentence that begins with the member at fault;
 * `undefined` if it can. Whether its key exists is for the database to say.
 */
export function settlementProblem(settlement: Settlement): string | undefined {
  try {
    assertSettlement(settlement);
    return undefined;
  } catch (error) {
    // A TypeError reports a value of another type, from a caller that is not type-checked.
    if (error instanceof RangeError || error instanceof TypeError) return error.message;
    throw error;
  }
}

/** @throws {RangeError} */
function assertSettlement(settlement: Settlement): void {
  const { requestId, usage, rates, pricing, amount, cost } = settlement;
  assertId('requestId', requestId);
  const prefix = reservedPrefixOf(requestId);
  if (prefix !== undefined) {
    throw new RangeError(`requestId begins with ${prefix}, as ids of other entries do`);
  }
  for (const member of TEXTS) {
    if (settlement[member]?.includes('\0') === true) throw new RangeError(`${member} contains NUL`);
  }
  assertUsage(usage);
  assertRates(rates);
  pricing?.fees.forEach(assertFee);
  const expected = listPriceOf(usage, rates) + sumOfFees(pricing?.fees);
  if (amount !== expected) {
    throw new RangeError(
      `amount is ${String(amount)}, but the tokens at their rates, with the fees, cost ` +
        String(expected),
    );
  }
  assertAmount('amount', amount);
  if (settlement.spender !== undefined) assertSpender(settlement.spender);
  if (cost !== undefined) assertPrice('cost', cost);
}

/** Columns of the ledger besides the id. */
const TEXTS = ['keyId', 'model', 'endpoint', 'upstreamId', 'upstreamAccount'] as const;

/** The counts are columns of 32 bits. */
const MAX_TOKENS = 2 ** 31 - 1;

function assertUsage(usage: SettledUsage): void {
  assertCount('inputTokens', usage.inputTokens);
  assertCount('outputTokens', usage.outputTokens);
  assertCount('cacheReadInputTokens', usage.cacheReadInputTokens);
  assertCount('cacheCreationInputTokens', usage.cacheCreationInputTokens);
  assertCount('cacheCreation1hInputTokens', usage.cacheCreation1hInputTokens);
  if (usage.cacheCreation1hInputTokens > usage.cacheCreationInputTokens) {
    throw new RangeError(
      'usage.cacheCreation1hInputTokens is more than usage.cacheCreationInputTokens',
    );
  }
}

function assertCount(name: keyof SettledUsage, count: number): void {
  if (Number.isInteger(count) && count >= 0 && count <= MAX_TOKENS) return;
  throw new RangeError(
    `usage.${name} is ${String(count)}, not an integer from 0 to ${String(MAX_TOKENS)}`,
  );
}

/** All settlements of a model share one object of rates. */
const checkedRates = new WeakSet<SettledRates>();

function assertRates(rates: SettledRates): void {
  if (checkedRates.has(rates)) return;
  assertPrice('rates.inputPerToken', rates.inputPerToken);
  assertPrice('rates.outputPerToken', rates.outputPerToken);
  assertPrice('rates.cacheReadPerToken', rates.cacheReadPerToken);
  assertPrice('rates.cacheWrite5mPerToken', rates.cacheWrite5mPerToken);
  assertPrice('rates.cacheWrite1hPerToken', rates.cacheWrite1hPerToken);
  checkedRates.add(rates);
}

function assertFee({ what, units, perUnit }: SettledFee): void {
  if (!Number.isSafeInteger(units) || units < 0) {
    throw new RangeError(`pricing.fees: ${String(units)} units of ${what}, not an integer from 0`);
  }
  assertPrice('pricing.fees', perUnit);
}

function assertPrice(name: string, price: bigint): void {
  if (price < 0n) throw new RangeError(`${name} is negative`);
  assertAmount(name, price);
}
