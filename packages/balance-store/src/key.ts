/**
 * API keys as they are stored. The form and the hash of their credentials are in `credential.ts`.
 */

export interface KeyLimits {
  /** Requests of this key in flight at once. */
  readonly concurrency: number;
  /** Requests that may start at the same moment after a pause. */
  readonly burst: number;
  /** Sustained rate at which the burst refills. */
  readonly requestsPerMinute: number;
}

export type KeyState = 'active' | 'suspended' | 'revoked';

export interface KeyRecord {
  /** `key_` and a sortable id: safe in logs. */
  readonly id: string;
  readonly name: string;
  /** First and last characters of the credential, for display: `gw_Ab3d…9xYz`. */
  readonly hint: string;
  /**
   * The operator's decision. Expiry and balance can disable an `active` key as well: see `isActive`
   * and `Standing`.
   */
  readonly state: KeyState;
  readonly expiresAt: Date | null;
  readonly limits: KeyLimits;
  /** In units of 10^-14 USD; may be negative. */
  readonly balance: bigint;
  /** Sum of all charges so far, in units of 10^-14 USD. */
  readonly spent: bigint;
  /** Sum of all top-ups so far, in units of 10^-14 USD. */
  readonly credited: bigint;
  /**
   * Sum of all write-offs, in units of 10^-14 USD: parts of charges that the balance did not cover.
   */
  readonly writtenOff: bigint;
  /**
   * Whether the key's standing is `active`, by the database's clock. False: the key is disabled.
   */
  readonly isActive: boolean;
  readonly createdAt: Date;
  /** When the last charge was recorded. */
  readonly lastChargedAt: Date | null;
}

export interface NewKey {
  readonly name: string;
  readonly limits: KeyLimits;
  readonly expiresAt: Date | null;
}
