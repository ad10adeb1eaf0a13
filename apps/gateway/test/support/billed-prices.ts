/** What the simulated provider bills: the default prices. */

import { defaultPriceTable } from '@gateway/billing';
import type { Rates } from '@gateway/billing';
import type { TokenType } from '@gateway/upstream-simulator';

const RATE_OF: Readonly<Record<TokenType, keyof Rates>> = {
  uncached_input_tokens: 'inputPerToken',
  output_tokens: 'outputPerToken',
  cache_read_input_tokens: 'cacheReadPerToken',
  'cache_creation.ephemeral_5m_input_tokens': 'cacheWrite5mPerToken',
  'cache_creation.ephemeral_1h_input_tokens': 'cacheWrite1hPerToken',
};
const PRICES = defaultPriceTable();

/** In units of 10^-14 USD. */
export function unitsPerToken(model: string, type: TokenType): bigint {
  return PRICES.find(model)?.rates[RATE_OF[type]] ?? 0n;
}
