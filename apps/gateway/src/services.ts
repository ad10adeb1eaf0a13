/** The services that the routes use. `client-server.ts` builds them once per process. */

import type { Logger } from 'pino';
import type { PriceTable } from '@gateway/billing';
import type { Limiter } from '@gateway/rate-limiter';
import type { Activity } from './activity.js';
import type { ByteBudget } from './byte-budget.js';
import type { Config } from './config.js';
import type { RequestLedger } from './open-store.js';
import type { RequestPreparer } from './preparation/preparer.js';
import type { RelayPatience } from './relay/relay.js';
import type { Telemetry } from './telemetry/telemetry.js';
import type { UpstreamClient } from './upstream/client.js';

export interface Services {
  readonly store: RequestLedger;
  readonly limiter: Limiter;
  readonly prices: PriceTable;
  readonly upstream: UpstreamClient;
  readonly patience: RelayPatience;
  readonly telemetry: Telemetry;
  readonly log: Logger;
  readonly activity: Activity;
  readonly maxBodyBytes: number;
  /** The memory for request bodies and unread responses. */
  readonly memory: ByteBudget;
  readonly preparer: RequestPreparer;
  readonly trustedProxies: number;
  readonly corsOrigins: ReadonlySet<string>;
  readonly overdraft: Config['overdraft'];
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}
