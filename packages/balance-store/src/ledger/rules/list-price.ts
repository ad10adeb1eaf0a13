/** Tokens times rates. */

import type { SettledRates, SettledUsage } from '../../ledger-entry.js';

/** In units of 10^-14 USD. Counts must be integers. */
export function listPriceOf(
  usage: Readonly<Record<keyof SettledUsage, number | bigint>>,
  rates: SettledRates,
): bigint {
  const write1h = BigInt(usage.cacheCreation1hInputTokens);
  return (
    BigInt(usage.inputTokens) * rates.inputPerToken +
    BigInt(usage.outputTokens) * rates.outputPerToken +
    BigInt(usage.cacheReadInputTokens) * rates.cacheReadPerToken +
    (BigInt(usage.cacheCreationInputTokens) - write1h) * rates.cacheWrite5mPerToken +
    write1h * rates.cacheWrite1hPerToken
  );
}
