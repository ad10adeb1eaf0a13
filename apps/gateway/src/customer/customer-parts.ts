/** What the endpoints for the holder of a key need. `process` builds it once per process. */

import type { Config } from '../config/config.js';
import type { ExchangeParts } from '../exchange/exchange-parts.js';
import type { Exports } from '../http/exports.js';
import type { KeyTokens } from '../ledger/key-tokens.js';
import type { Payments } from '../payments/payments.js';

export interface CustomerParts
  extends
    Readonly<Config['customer']>,
    Pick<
      ExchangeParts,
      | 'store'
      | 'limiter'
      | 'bookOf'
      | 'memory'
      | 'responses'
      | 'readLinks'
      | 'upstream'
      | 'sameKeyInBothHeaders'
      | 'telemetry'
      | 'log'
      | 'now'
    > {
  /** Sessions of the customer's page. */
  readonly pageSessions: KeyTokens;
  /** Links that show a key once. */
  readonly keyLinks: KeyTokens;
  /** Whole lists that are being sent. */
  readonly exports: Exports;
  /** `undefined` unless a provider is configured. */
  readonly payments: Payments | undefined;
  /** Whether the bundled simulator answers in place of a model. */
  readonly isSimulated: boolean;
}
