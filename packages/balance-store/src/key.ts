/**
 * API keys as they are stored. The form and the hash of their credentials are in `credential.ts`.
 */

import type { ListOrder } from './list-order.js';
import type { Metadata } from './metadata.js';

/**
 * That a key may name the members that spend, in each request. `create`: a name that is not known
 * makes a member, in this group if one is given; otherwise the request is refused.
 */
export interface Naming {
  readonly unknown: 'refuse' | 'create';
  readonly groupId?: string | undefined;
}

export interface KeyLimits {
  /** Requests of this key in flight at once. */
  readonly concurrency: number;
  /** Requests that may start at the same moment after a pause. */
  readonly burst: number;
  /** Sustained rate at which the burst refills. */
  readonly requestsPerMinute: number;
}

export const CAP_PERIODS = ['day', 'week', 'month', 'total'] as const;

/** They begin at 00:00 UTC: each day, each Monday, or on the first day of each month. */
export type CapPeriod = (typeof CAP_PERIODS)[number];

/**
 * The most that a key may use of its account's balance in each period, in units of 10^-14 USD: a
 * budget of this key alone. `null`: no cap.
 */
export type KeyCaps = Readonly<Record<CapPeriod, bigint | null>>;

/** A cap, and the part of it used since its period began, in units of 10^-14 USD. */
export interface CapUse {
  readonly period: CapPeriod;
  readonly cap: bigint;
  /** The sum of charges, including the parts that were written off. */
  readonly used: bigint;
}

/** `manage`: the key may also list, create, rotate, suspend and cap the keys of its account. */
export type KeyScope = 'use' | 'manage';

export type KeyState = 'active' | 'suspended' | 'revoked';
/** Whether a key may make requests, and if not, why: see `Standing`. */
export type KeyStanding = KeyState | 'exhausted' | 'expired';

export interface KeyRecord {
  /** `key_` and a sortable id: safe in logs. */
  readonly id: string;
  readonly accountId: string;
  readonly name: string;
  /** The operator's own id of the key. Unique among keys. */
  readonly externalId: string | null;
  readonly metadata: Metadata;
  /** First and last characters of the credential, for display: `gw_Ab3d…9xYz`. */
  readonly hint: string;
  /**
   * The operator's decision about this key. Expiry, the balance and the suspension of its account
   * can disable an `active` key as well: see `standing`.
   */
  readonly state: KeyState;
  readonly expiresAt: Date | null;
  readonly scope: KeyScope;
  /** The models that it may use; `null` for all. */
  readonly models: readonly string[] | null;
  /** The networks from which it may be used, such as `192.0.2.0/24`; `null` for all. */
  readonly allowedNetworks: readonly string[] | null;
  readonly limits: KeyLimits;
  /** Whose key it is; `null` for a key that belongs to no member. */
  readonly memberId: string | null;
  /** The path of the member's group; empty if it is in none. */
  readonly groups: string;
  /** `null`: the key names nobody. */
  readonly naming: Naming | null;
  readonly caps: KeyCaps;
  /** What this key used in the current period of each cap, and in `total`; `null` without a cap. */
  readonly used: Readonly<Record<CapPeriod, bigint | null>>;
  /** The prices of its account: see `AccountRecord`. */
  readonly prices: string | null;
  /** When its account can have the next allowance: see `AccountRecord`. */
  readonly allowanceDueAt: Date | null;
  /** When a credit of its account expires next: see `AccountRecord`. */
  readonly nextExpiryAt: Date | null;
  /**
   * The balance of its account, in units of 10^-14 USD; may be negative. Credit that has expired is
   * not in it.
   */
  readonly balance: bigint;
  /**
   * Sum of all charges of this key so far, without the parts that were written off, in units of
   * 10^-14 USD.
   */
  readonly spent: bigint;
  /** Sum of all top-ups of its account so far, in units of 10^-14 USD. */
  readonly credited: bigint;
  /** Sum of all write-offs of this key: parts of charges that could not be charged. */
  readonly writtenOff: bigint;
  /** Until when the previous credential works; `null` if no previous one works. */
  readonly previousUntil: Date | null;
  /** By the database's clock. */
  readonly standing: KeyStanding;
  /** Whether the key's standing is `active`. False: the key is disabled. */
  readonly isActive: boolean;
  readonly createdAt: Date;
  /** When the last charge was recorded. */
  readonly lastChargedAt: Date | null;
}

/** A key that was found by its credential. */
export interface PresentedKey extends KeyRecord {
  /**
   * `replaced`: a rotation has replaced the credential, which works until `previousUntil`. The
   * caller decides what such a credential may still do.
   */
  readonly presented: 'current' | 'replaced';
}

export interface NewKey {
  readonly name: string;
  readonly limits: KeyLimits;
  readonly expiresAt: Date | null;
  readonly externalId?: string | undefined;
  readonly metadata?: Metadata | undefined;
  readonly scope?: KeyScope | undefined;
  readonly models?: readonly string[] | null | undefined;
  readonly allowedNetworks?: readonly string[] | null | undefined;
  readonly caps?: Partial<KeyCaps> | undefined;
  /** A member of the account. */
  readonly memberId?: string | null | undefined;
  readonly naming?: Naming | null | undefined;
}

export interface KeyChange {
  readonly name?: string;
  readonly limits?: Partial<KeyLimits>;
  readonly expiresAt?: Date | null;
  readonly externalId?: string | null;
  readonly metadata?: Metadata;
  readonly scope?: KeyScope;
  readonly models?: readonly string[] | null;
  readonly allowedNetworks?: readonly string[] | null;
  readonly caps?: Partial<KeyCaps>;
  readonly memberId?: string | null;
  readonly naming?: Naming | null;
}

export interface KeyFilter {
  readonly limit: number;
  /** `newest` when absent. `balance` orders by the balance of the key's account. */
  readonly order?: ListOrder | undefined;
  /** The {@link listCursorOf} of the last key of the previous page. */
  readonly after?: string | undefined;
  readonly accountId?: string | undefined;
  readonly memberId?: string | undefined;
  /**
   * Part of the name or of the hint. Case is ignored. On PostgreSQL, the locale of the database
   * decides which letters differ only in case.
   */
  readonly name?: string | undefined;
  readonly externalId?: string | undefined;
  /** Only records that have all of these pairs. */
  readonly metadata?: Metadata | undefined;
  /**
   * `previous`: only keys, not revoked, with a credential that is still stored under another pepper
   * than the current one. Without that pepper the credential finds no key.
   */
  readonly pepper?: 'previous' | undefined;
  /** Only keys that are not revoked. The number of revoked ones does not slow the list down. */
  readonly withoutRevoked?: true | undefined;
}

export type RotationOutcome =
  | {
      readonly outcome: 'rotated';
      readonly record: KeyRecord;
      /** Not stored anywhere, and cannot be shown again. */
      readonly credential: string;
    }
  /** A rotation with this id was done before. Nothing changed. */
  | { readonly outcome: 'replayed'; readonly record: KeyRecord }
  /** The id was used before for something else. */
  | { readonly outcome: 'conflict' }
  | { readonly outcome: 'revoked' }
  | { readonly outcome: 'unknown_key' };
