/** What the endpoints for the holder of a key need. `process` builds it once per process. */

import type { Config } from '../config/config.js';
import type { ExchangeParts } from '../exchange/exchange-parts.js';
import type { KeyTokens } from '../ledger/key-tokens.js';
import type { Payments } from '../payments/payments.js';

export interface CustomerParts extends Pick<
  ExchangeParts,
  | 'store'
  | 'limiter'
  | 'bookOf'
  | 'memory'
  | 'responses'
  | 'readLinks'
  | 'sameKeyInBothHeaders'
  | 'telemetry'
  | 'log'
  | 'now'
> {
  /** Sessions of the customer's page. */
  readonly pageSessions: KeyTokens;
  /** `undefined` unless a provider is configured. */
  readonly payments: Payments | undefined;
  /** Where customers buy credit. */
  readonly topUpUrl: string | undefined;
  /** Whether notices can be sent by mail. */
  readonly sendsMail: boolean;
  /** Whether the bundled simulator answers in place of a model. */
  readonly isSimulated: boolean;
  /** Who runs the gateway, for its customers. */
  readonly operator: Config['operator'];
}
