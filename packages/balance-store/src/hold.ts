/** Holds: money set aside for requests in flight, so that a balance never falls below zero. */

import type { BudgetUse, ChainRoom } from './budget.js';
import type { KeyStanding } from './key.js';
import type { Spender } from './spender.js';

export interface Hold {
  /** Id of the request, which will be settled under the same id. */
  readonly requestId: string;
  readonly keyId: string;
  /** The most the request can cost, in units of 10^-14 USD. Never negative. */
  readonly amount: bigint;
  /** Who spends it. */
  readonly spender?: Spender | undefined;
}

export type HoldOutcome =
  | {
      readonly outcome: 'held';
      /** In units of 10^-14 USD, before holds are subtracted. */
      readonly balance: bigint;
      /** All live holds of the account, this one included. */
      readonly held: bigint;
    }
  /** The balance less all live holds does not cover the amount: nothing is held. */
  | {
      readonly outcome: 'short';
      readonly balance: bigint;
      /** All live holds of the account. */
      readonly held: bigint;
      /** The amount that is missing, in units of 10^-14 USD. */
      readonly shortfall: bigint;
    }
  /**
   * A budget that applies, or a cap of the key, leaves too little: nothing is held, in this and in
   * all other budgets.
   */
  | {
      readonly outcome: 'over_budget';
      /** Of a chain: its last budget. */
      readonly use: BudgetUse;
      readonly chain?: ChainRoom | undefined;
    }
  | {
      readonly outcome: 'inactive';
      readonly standing: Exclude<KeyStanding, 'active'> | 'unknown';
    };

/**
 * `orphaned`: the hold expired without a charge or a release, because the process that placed it
 * died or lost the database. The upstream may have done work that was never charged.
 */
export type HoldState = 'live' | 'orphaned';

export interface HoldRecord extends Omit<Hold, 'spender'> {
  readonly accountId: string;
  readonly createdAt: Date;
  /** When the hold became an orphan; `null` for a live one. */
  readonly orphanedAt: Date | null;
}
