/** What the relay needs. */

import type { PriceTable } from '@gateway/billing';
import type { ByteBudget } from '../../base/byte-budget.js';
import type { Config } from '../../config/config.js';
import type { HomeCosts } from '../../config/home-tables.js';
import type { RequestLedger } from '../../ledger/open-store.js';
import type { RefusalWitness } from '../../upstream/refusal-witness.js';
import type { ClientPatience } from './client-response.js';

export interface SettleParts {
  readonly store: RequestLedger;
  readonly overdraft: Config['exchange']['overdraft'];
  /** What requests cost the operator, by the prices of each moment; `undefined`: not configured. */
  readonly costs: PriceTable | undefined;
  /** `undefined`: what they cost does not depend on the upstream account. */
  readonly homeCosts?: HomeCosts | undefined;
}

export interface RelayParts extends SettleParts {
  /** Refusals of all customers by the upstream. */
  readonly refusals: RefusalWitness;
  /** Limits (429) of the upstream that requests of all customers met. */
  readonly limits: RefusalWitness;
  readonly patience: RelayPatience;
  /** The memory for request bodies and unread responses. */
  readonly memory: ByteBudget;
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
