/** What the endpoints that call the upstream need. `process` builds it once per process. */

import type { Logger } from 'pino';
import type { PriceTable } from '@gateway/billing';
import type { Limiter, Policy } from '@gateway/rate-limiter';
import type { Activity } from '../base/activity.js';
import type { ByteBudget } from '../base/byte-budget.js';
import type { Config } from '../config/config.js';
import type { RequestLedger } from '../ledger/open-store.js';
import type { KeyTokens } from '../ledger/key-tokens.js';
import type { Charge } from '../ledger/fold-outcomes.js';
import type { Telemetry } from '../observe/telemetry.js';
import type { Tracing } from '../observe/tracing/tracing.js';
import type { UpstreamClient } from '../upstream/client.js';
import type { RefusalWitness } from '../upstream/refusal-witness.js';
import type { PriceBookReading } from './price-book.js';
import type { ClientPatience } from './relay/client-response.js';
import type { ResponseKeeping } from './response-memory/keep-response.js';

export interface ExchangeParts extends Readonly<Config['exchange']> {
  readonly store: RequestLedger;
  readonly limiter: Limiter;
  /** The limits that the keys of an account share. */
  readonly accountLimits: Policy;
  /**
   * What an account pays at a time (milliseconds since the epoch).
   *
   * @param prices - As the record of its keys has it.
   */
  readonly bookOf: (prices: string | null, atMs: number) => PriceBookReading;
  /** What requests cost the operator, by the prices of each moment; `undefined`: not configured. */
  readonly costs: PriceTable | undefined;
  readonly upstream: UpstreamClient;
  /** Refusals of all customers by the upstream. */
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
  /** `undefined`: no responses are kept. */
  readonly responses: ResponseKeeping | undefined;
  /** Counts a charge for the upstream account that answered; only with several accounts. */
  readonly chargedTo: (account: string, charge: Charge) => void;
  readonly readLinks: KeyTokens;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

export interface RelayPatience extends ClientPatience {
  /**
   * How long the response of an upstream is read after its client has left. Nothing is charged for
   * a response that lasts longer, so this must exceed every real one: a stream of 128,000 tokens
   * takes about half an hour.
   */
  readonly drainMs: number;
  /** A stream of any format is silent for at most this time, from its head to its end. */
  readonly streamSilenceMs: number;
}
