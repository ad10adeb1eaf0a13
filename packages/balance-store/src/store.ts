/**
 * The interface of a balance store, the same for every database.
 *
 * Money is `bigint` in units of 10^-14 USD throughout; token counts are integers. Expected outcomes
 * are values of a discriminated union; faults throw {@link StoreUnavailableError}.
 */

import type { KeyLimits, KeyRecord, NewKey } from './key.js';
import type {
  EntryFilter,
  EntryPage,
  LedgerEntry,
  SettledRates,
  SettledUsage,
} from './ledger-entry.js';
import type { AuditOptions, AuditReport, SealHead } from './audit.js';
import type { Hold, HoldOutcome, HoldRecord, HoldState } from './hold.js';

export interface Settlement {
  /** Made by the gateway before the first attempt and reused on every retry. Never reused after. */
  readonly requestId: string;
  readonly keyId: string;
  /** The charge of the request at its rates, in units of 10^-14 USD. Never negative. */
  readonly amount: bigint;
  /**
   * `none`: the charge takes at most the balance less the holds of other requests, and the rest is
   * written off. A request that has a hold is always charged this way.
   */
  readonly overdraft: 'bounded' | 'none';
  readonly model: string;
  readonly usage: SettledUsage;
  readonly rates: SettledRates;
  /** Which format the client spoke: `messages` or `chat.completions`. */
  readonly endpoint: string;
  readonly streamed: boolean;
  /** The upstream's own id of the message, if it sent one. */
  readonly upstreamId: string | undefined;
  /** Oddities of the usage object, for the operator. At most 500 characters are kept. */
  readonly remarks?: string | undefined;
}

export interface BalanceAfter {
  /** Balance after this entry, in units of 10^-14 USD; may be negative. */
  readonly balance: bigint;
  /** Whether the key's standing is `active` (see {@link Standing}). */
  readonly isActive: boolean;
}

export interface Charged extends BalanceAfter {
  /**
   * The part of the amount that the balance could not cover, in units of 10^-14 USD. The key was
   * charged the amount less this. Above zero only for charges without overdraft. It is the
   * operator's loss, and the key stays exhausted until its next credit.
   */
  readonly writtenOff: bigint;
}

export type SettleOutcome =
  | ({ readonly outcome: 'settled' } & Charged)
  /** The request was settled before with the same contents: nothing changed. */
  | ({ readonly outcome: 'replayed' } & Charged)
  /** The request id has other contents in the ledger: no charge, but an alarm row is written. */
  | { readonly outcome: 'conflict' }
  /** The database refuses this row as malformed: it is quarantined, and nothing is charged. */
  | { readonly outcome: 'quarantined'; readonly reason: string };

export interface TopUp {
  /** Chosen by the caller; a replay with the same id credits nothing. */
  readonly topUpId: string;
  readonly keyId: string;
  /** In units of 10^-14 USD. Above zero. */
  readonly amount: bigint;
  /** The operator or system that made the top-up, for the audit trail. Not a secret. */
  readonly actor: string;
}

export type TopUpOutcome =
  | ({ readonly outcome: 'credited' } & BalanceAfter)
  | ({ readonly outcome: 'replayed' } & BalanceAfter)
  /** The top-up id was used before for another key or amount. */
  | { readonly outcome: 'conflict' }
  | { readonly outcome: 'unknown_key' };

/**
 * Whether a key may make requests, and if not, why it is disabled.
 *
 * No column stores the standing. The SQL function `standing_of` derives it from the key's row on
 * each read, through the view `key_standing`. That function is the only place where a key is
 * disabled or enabled, so a credit that races an exhausting charge cannot leave the key in the
 * wrong state.
 *
 * - `exhausted`: the balance is zero or below, or a response since the last credit cost more than
 *   the balance could cover (`uncovered` is above zero).
 * - `suspended`, `revoked`: decided by an operator. `expired`: `expiresAt` has passed.
 */
export type Standing =
  | {
      readonly standing: 'active' | 'exhausted' | 'suspended' | 'revoked' | 'expired';
      /** In units of 10^-14 USD, as is `uncovered`. */
      readonly balance: bigint;
      /** The sum of all write-offs since the last credit. */
      readonly uncovered: bigint;
    }
  | { readonly standing: 'unknown' };

/** A request that used tokens upstream and will never be charged. Kept for the operator. */
export interface QuarantinedUsage {
  readonly requestId: string;
  readonly keyId: string;
  readonly model: string;
  readonly reason: string;
}

/** Amounts are in units of 10^-14 USD. */
export interface LedgerSummary {
  /** Number of keys by standing. */
  readonly keys: Readonly<Record<Exclude<Standing['standing'], 'unknown'>, number>>;
  /** Money that customers have paid and not used: the sum of all balances above zero. */
  readonly unspent: bigint;
  /** The sum of all balances below zero, as an amount above zero. */
  readonly overdrawn: bigint;
  /** Quarantined usages: set aside and never charged. */
  readonly quarantined: number;
  /** Request ids that were settled again with other contents. */
  readonly conflicts: number;
  readonly orphanedHolds: number;
  /** When the hash chain was last extended. */
  readonly lastSealAt: Date | undefined;
}

export interface BalanceStore {
  /** Creates a key. The returned credential is not stored anywhere and cannot be shown again. */
  createKey(key: NewKey): Promise<{ readonly record: KeyRecord; readonly credential: string }>;
  /**
   * Finds the key of a credential. `undefined` for a text that was never issued as one.
   *
   * The record is cached for up to one second. Changes made through this store show at once, except
   * those of the balance. Use {@link BalanceStore.readStanding} to decide whether the key may make
   * a request: it is never cached.
   */
  findKeyByCredential(credential: string): Promise<KeyRecord | undefined>;
  getKey(keyId: string): Promise<KeyRecord | undefined>;
  /** Newest first. `after` is the id of the last key of the previous page. */
  listKeys(page: {
    readonly limit: number;
    readonly after?: string;
  }): Promise<readonly KeyRecord[]>;
  suspendKey(keyId: string): Promise<KeyRecord | undefined>;
  /** Lifts a suspension. A revoked key stays revoked. */
  resumeKey(keyId: string): Promise<KeyRecord | undefined>;
  /** Disables the key permanently. */
  revokeKey(keyId: string): Promise<KeyRecord | undefined>;
  updateKey(
    keyId: string,
    change: {
      readonly limits?: Partial<KeyLimits>;
      readonly expiresAt?: Date | null;
      readonly name?: string;
    },
  ): Promise<KeyRecord | undefined>;

  /**
   * The authoritative admission read. Reads of one event-loop tick share one query.
   *
   * Also throws {@link StoreUnavailableError} while settlements have been failing for more than
   * two seconds, because a request that starts then could not be charged.
   */
  readStanding(keyId: string): Promise<Standing>;

  /**
   * Makes the charge of one finished request durable, once. Resolves only when the ledger entry is
   * committed; waits through outages of the database for at most `deadlineMs`.
   *
   * @throws {StoreUnavailableError} The commit may or may not have happened: settle again with the
   * same `requestId`.
   */
  settle(settlement: Settlement, options: { readonly deadlineMs: number }): Promise<SettleOutcome>;
  /**
   * Sets aside the most a request may cost, before it is sent upstream. It replaces `readStanding`
   * for a balance that must never fall below zero. The balance less all live holds must cover the
   * amount. The store keeps the hold alive until the request is settled, which deletes it in the
   * same transaction.
   *
   * Placing a live hold again returns the same outcome. On {@link StoreUnavailableError} the hold
   * may have been placed: call {@link BalanceStore.releaseHold}.
   */
  placeHold(hold: Hold): Promise<HoldOutcome>;
  /**
   * Releases the hold of a request that will not be settled. Returns at once; the database follows
   * soon. If the database stays unavailable, the hold expires.
   */
  releaseHold(requestId: string): void;
  /**
   * Stops keeping a hold alive, as if the process that placed it had ended. Unless the request is
   * settled or the hold is released, it expires and is reported as orphaned.
   */
  abandonHold(requestId: string): void;
  /** Newest first. */
  listHolds(filter: {
    readonly state: HoldState;
    readonly limit: number;
  }): Promise<readonly HoldRecord[]>;
  countHolds(state: HoldState): Promise<number>;
  /** Sets aside a usage object that cannot be trusted. Never charges. */
  quarantine(usage: QuarantinedUsage): Promise<void>;
  topUp(topUp: TopUp): Promise<TopUpOutcome>;

  /** One entry by its request id, only if it belongs to `keyId`. */
  findEntry(keyId: string, requestId: string): Promise<LedgerEntry | undefined>;
  listEntries(filter: EntryFilter): Promise<EntryPage>;
  /** The entries of these request ids, of any key, in no particular order. At most 1,000 ids. */
  findEntries(requestIds: readonly string[]): Promise<readonly LedgerEntry[]>;
  /**
   * Adds the entries that are not in a block yet to the hash chain. Call it about once a minute
   * from every replica: one of them does the work.
   *
   * @param options.all - Looks at every key, not only at those that changed since the last block.
   * @returns the end of the chain, or `undefined` while it is empty.
   */
  sealEntries(options?: { readonly all?: boolean }): Promise<SealHead | undefined>;
  /** Figures of the ledger as a whole, for an operator's monitoring. Reads every key's row. */
  summarize(): Promise<LedgerSummary>;
  /** Recomputes the whole ledger. Reads it page by page, so memory stays bounded. */
  audit(options?: AuditOptions): Promise<AuditReport>;

  /** Resolves when the database answers; throws {@link StoreUnavailableError} otherwise. */
  ping(): Promise<void>;
  /** Settlements accepted but not yet durable. */
  pendingSettlements(): number;
  /** Waits for pending settlements, then closes. */
  close(): Promise<void>;
}

/**
 * The database did not answer. Unless the method says otherwise, it is unknown whether the work was
 * done.
 */
export class StoreUnavailableError extends Error {
  override readonly name = 'StoreUnavailableError';
}
