/** The services that the routes use. `client-server.ts` builds them once per process. */

import type { Logger } from 'pino';
import type { PriceTable } from '@gateway/billing';
import type { Limiter, Policy } from '@gateway/rate-limiter';
import type { Activity } from './activity.js';
import type { ByteBudget } from './byte-budget.js';
import type { Config } from './config.js';
import type { RequestLedger } from './open-store.js';
import type { PageFiles } from './pages/page-files.js';
import type { RequestPreparer } from './preparation/preparer.js';
import type { ReadLinks } from './read-links.js';
import type { ResponseKeeping } from './response-memory/keep-response.js';
import type { Payments } from './payments/payments.js';
import type { RelayPatience } from './relay/relay.js';
import type { Charge } from './relay/settle-charge.js';
import type { Telemetry } from './telemetry/telemetry.js';
import type { Tracing } from './tracing/tracing.js';
import type { UpstreamClient } from './upstream/client.js';
import type { RefusalWitness } from './upstream/refusal-witness.js';

export interface Services {
  readonly store: RequestLedger;
  readonly limiter: Limiter;
  /** The limits that the keys of an account share. */
  readonly accountLimits: Policy;
  /** The table in force until {@link Services.pricesUntil}. */
  readonly prices: PriceTable;
  /** When the rates change next, in milliseconds since the epoch. */
  readonly pricesUntil: number;
  /** Updates `prices`, `pricesUntil` and `preparer` to the table that is in force at `now`. */
  readonly changePrices: (now: number) => void;
  readonly upstream: UpstreamClient;
  readonly refusals: RefusalWitness;
  readonly patience: RelayPatience;
  readonly telemetry: Telemetry;
  /** `undefined`: no traces are made. */
  readonly tracing: Tracing | undefined;
  readonly log: Logger;
  readonly activity: Activity;
  readonly maxBodyBytes: number;
  /** The memory for request bodies and unread responses. */
  readonly memory: ByteBudget;
  readonly preparer: RequestPreparer;
  /** `undefined`: no responses are kept. */
  readonly responses: ResponseKeeping | undefined;
  /** Counts a charge for the upstream account that answered; only with several accounts. */
  readonly chargedTo: (account: string, charge: Charge) => void;
  /** `undefined` unless a provider is configured. */
  readonly payments: Payments | undefined;
  readonly trustedProxies: number;
  readonly sameKeyInBothHeaders: Config['sameKeyInBothHeaders'];
  readonly corsOrigins: ReadonlySet<string>;
  readonly overdraft: Config['overdraft'];
  /** Features that cost more than tokens and that the operator allows nevertheless. */
  readonly allowedFeatures: Config['allowedFeatures'];
  readonly readLinks: ReadLinks;
  /** Where customers buy credit. */
  readonly topUpUrl: string | undefined;
  /** Who runs the gateway, for its customers. */
  readonly operator: Config['operator'];
  /** The page for holders of keys; `undefined` if there is none. */
  readonly customerPage: PageFiles | undefined;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}
