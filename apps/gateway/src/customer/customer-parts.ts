/** What the endpoints for the holder of a key need. `process` builds it once per process. */

import type { Config } from '../config/config.js';
import type { PricedFeature } from '../config/variables.js';
import type { ExchangeParts } from '../exchange/exchange-parts.js';
import type { Payments } from '../payments/payments.js';

export interface CustomerParts extends Pick<
  ExchangeParts,
  | 'store'
  | 'limiter'
  | 'prices'
  | 'pricesUntil'
  | 'changePrices'
  | 'responses'
  | 'readLinks'
  | 'sameKeyInBothHeaders'
  | 'telemetry'
  | 'log'
  | 'now'
> {
  /** `undefined` unless a provider is configured. */
  readonly payments: Payments | undefined;
  /** Features that cost more than tokens and that the operator allows nevertheless. */
  readonly allowedFeatures: ReadonlySet<PricedFeature>;
  /** Where customers buy credit. */
  readonly topUpUrl: string | undefined;
  /** Whether the bundled simulator answers in place of a model. */
  readonly isSimulated: boolean;
  /** Who runs the gateway, for its customers. */
  readonly operator: Config['operator'];
}
