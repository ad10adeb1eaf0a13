/** What the endpoints that call the upstream need. `process` builds it once per process. */

import type { Logger } from 'pino';
import type { Limiter, Policy } from '@gateway/rate-limiter';
import type { Activity } from '../base/activity.js';
import type { Config } from '../config/config.js';
import type { KeyTokens } from '../ledger/key-tokens.js';
import type { Charge } from '../ledger/fold-outcomes.js';
import type { NetworkWatch } from '../observe/leaks/network-watch.js';
import type { Telemetry } from '../observe/telemetry.js';
import type { Tracing } from '../observe/tracing/tracing.js';
import type { UpstreamClient } from '../upstream/client.js';
import type { PriceBookReading } from './price-book.js';
import type { RelayParts } from './relay/relay-parts.js';
import type { ResponseKeeping } from './response-memory/keep-response.js';
import type { HoldLine } from './spending/hold-line.js';
import type { RunBudgets } from './spending/run-budgets.js';
import type { MemberNames } from './spending/member-names.js';

export interface ExchangeParts extends RelayParts, Readonly<Config['exchange']> {
  readonly limiter: Limiter;
  /** The limits that the keys of an account share. */
  readonly accountLimits: Policy;
  /**
   * What an account pays at a time (milliseconds since the epoch).
   *
   * @param prices - As the record of its keys has it.
   */
  readonly bookOf: (prices: string | null, atMs: number) => PriceBookReading;
  readonly upstream: UpstreamClient;
  readonly telemetry: Telemetry;
  /** `undefined`: no traces are made. */
  readonly tracing: Tracing | undefined;
  readonly log: Logger;
  readonly activity: Activity;
  /** `undefined`: networks are not looked at. */
  readonly networks: Pick<NetworkWatch, 'seen'> | undefined;
  readonly maxBodyBytes: number;
  /** `undefined`: no responses are kept. */
  readonly responses: ResponseKeeping | undefined;
  /** Counts a charge for the upstream account that answered; only with several accounts. */
  readonly chargedTo: (account: string, charge: Charge) => void;
  readonly readLinks: KeyTokens;
  /** The members whom keys with that right name. */
  readonly members: MemberNames;
  /** The budgets of runs that requests set. */
  readonly runBudgets: RunBudgets;
  /** Where requests wait for money that others hold; only with `OVERDRAFT=none`. */
  readonly holdLine: HoldLine;
}
