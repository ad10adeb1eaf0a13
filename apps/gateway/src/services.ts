/** What the routes are composed of. Built once per process in `front.ts`; tests build their own. */

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
  /** What clients may make this process take for bodies and unread answers. */
  readonly memory: ByteBudget;
  readonly preparer: RequestPreparer;
  readonly trustedProxies: number;
  readonly corsOrigins: ReadonlySet<string>;
  readonly overdraft: Config['overdraft'];
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}
