/** Holds: money set aside for requests in flight, so that a balance never falls below zero. */

export interface Hold {
  /** Of the request that will be settled under the same id. */
  readonly requestId: string;
  readonly keyId: string;
  /** The most the request can cost, in units of 10^-14 USD. Never negative. */
  readonly amount: bigint;
}

export type HoldOutcome =
  | {
      readonly outcome: 'held';
      /** In units of 10^-14 USD, holds not taken off. */
      readonly balance: bigint;
      /** All live holds of the key, this one included. */
      readonly held: bigint;
    }
  /** It does not fit: nothing is held. */
  | {
      readonly outcome: 'short';
      readonly balance: bigint;
      /** All live holds of the key. */
      readonly held: bigint;
      /** What the balance lacks, in units of 10^-14 USD. */
      readonly shortfall: bigint;
    }
  | {
      readonly outcome: 'inactive';
      readonly standing: 'exhausted' | 'suspended' | 'revoked' | 'expired' | 'unknown';
    };

/**
 * `orphaned`: it expired without a charge or a release, because the process that had placed it died or
 * lost the database. The upstream may have done work that nobody was charged for.
 */
export type HoldState = 'live' | 'orphaned';

export interface HoldRecord extends Hold {
  readonly createdAt: Date;
  /** Of an orphan, when it became one. */
  readonly orphanedAt: Date | null;
}
