/**
 * What a balance store does, whatever database it stands on.
 *
 * Money is `bigint` in units of 10^-14 USD throughout; token counts are integers. Expected outcomes
 * are values of a discriminated union, faults throw {@link StoreUnavailableError}.
 */

import type { KeyLimits, KeyRecord, NewKey } from './key.js';
import type { EntryFilter, EntryPage, LedgerEntry } from './ledger-entry.js';
import type { AuditOptions, AuditReport, SealHead } from './audit.js';
import type { Hold, HoldOutcome, HoldRecord, HoldState } from './hold.js';

/** The four token classes of one finished request, and the one-hour part of the cache writes. */
export interface SettledUsage {
  /** Prompt tokens that neither came from the cache nor were written to it. */
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cacheReadInputTokens: number;
  /** All cache writes, of either lifetime. */
  readonly cacheCreationInputTokens: number;
  /** The part of `cacheCreationInputTokens` with a lifetime of one hour. */
  readonly cacheCreation1hInputTokens: number;
}

/**
 * The rates one request was priced at, per token, in units of 10^-14 USD. Recorded with the entry, so
 * that an audit can recompute the amount whatever happened to the price table since.
 */
export interface SettledRates {
  readonly inputPerToken: bigint;
  readonly outputPerToken: bigint;
  readonly cacheReadPerToken: bigint;
  readonly cacheWrite5mPerToken: bigint;
  readonly cacheWrite1hPerToken: bigint;
}

export interface Settlement {
  /** Made by the gateway before the first attempt and reused on every retry. Unique for ever. */
  readonly requestId: string;
  readonly keyId: string;
  /** What the request costs at its rates, in units of 10^-14 USD. Never negative. */
  readonly amount: bigint;
  /**
   * `none`: the charge takes at most what is left of the balance beyond the holds of other requests,
   * and the rest is written off. A request that has a hold is charged this way in any case.
   */
  readonly overdraft: 'bounded' | 'none';
  readonly model: string;
  readonly usage: SettledUsage;
  readonly rates: SettledRates;
  /** Which format the client spoke: `messages` or `chat.completions`. */
  readonly endpoint: string;
  readonly streamed: boolean;
  /** The upstream's own id of the message, when it gave one. */
  readonly upstreamId: string | undefined;
  /** What was odd about the usage object, for the operator. At most 500 characters are kept. */
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
   * The part of the amount that the balance could not cover, in units of 10^-14 USD: the key was charged
   * the amount less this. Above zero only for charges without overdraft. It is the operator's loss, and
   * the key stays exhausted until its next credit.
   */
  readonly writtenOff: bigint;
}

export type SettleOutcome =
  | ({ readonly outcome: 'settled' } & Charged)
  /** The same request was settled before with the same contents: nothing changed. */
  | ({ readonly outcome: 'replayed' } & Charged)
  /** The request id is in the ledger with other contents: nothing charged, an alarm row written. */
  | { readonly outcome: 'conflict' }
  /** The database refuses this row as malformed: set aside in the quarantine, nothing charged. */
  | { readonly outcome: 'quarantined'; readonly reason: string };

export interface TopUp {
  /** Chosen by the caller; a replay with the same id credits nothing. */
  readonly topUpId: string;
  readonly keyId: string;
  /** In units of 10^-14 USD. Above zero. */
  readonly amount: bigint;
  /** Who did it, for the audit trail: never a secret. */
  readonly actor: string;
}

export type TopUpOutcome =
  | ({ readonly outcome: 'credited' } & BalanceAfter)
  | ({ readonly outcome: 'replayed' } & BalanceAfter)
  /** The top-up id was used before for another key or amount. */
  | { readonly outcome: 'conflict' }
  | { readonly outcome: 'unknown_key' };

/**
 * What admission needs to know. Derived from the key's row whenever it is read, by the SQL function
 * `standing_of`: a key is disabled or enabled nowhere else.
 *
 * - `exhausted`: the balance is zero or below, or a response since the last credit cost more than the
 *   balance could cover (`uncovered` is above zero).
 * - `suspended`, `revoked`: an operator decided so. `expired`: its `expiresAt` has passed.
 */
export type Standing =
  | {
      readonly standing: 'active' | 'exhausted' | 'suspended' | 'revoked' | 'expired';
      /** In units of 10^-14 USD, as is `uncovered`. */
      readonly balance: bigint;
      /** What was written off since the last credit. */
      readonly uncovered: bigint;
    }
  | { readonly standing: 'unknown' };

/** A request whose cost upstream will never be charged, kept for the operator. */
export interface QuarantinedUsage {
  readonly requestId: string;
  readonly keyId: string;
  readonly model: string;
  readonly reason: string;
}

/** Amounts are in units of 10^-14 USD. */
export interface LedgerSummary {
  /** How many keys there are of each standing. */
  readonly keys: Readonly<Record<Exclude<Standing['standing'], 'unknown'>, number>>;
  /** What customers have paid and not used: the sum of all balances above zero. */
  readonly unspent: bigint;
  /** The sum of all balances below zero, as an amount above zero. */
  readonly overdrawn: bigint;
  /** Usage that was set aside and never charged. */
  readonly quarantined: number;
  /** Request ids that came back with other contents. */
  readonly conflicts: number;
  readonly orphanedHolds: number;
  /** When the hash chain was last extended. */
  readonly lastSealAt: Date | undefined;
}

export interface BalanceStore {
  /** Creates a key. The plaintext credential is in the answer and nowhere else, ever. */
  createKey(key: NewKey): Promise<{ readonly record: KeyRecord; readonly credential: string }>;
  /**
   * Finds the key of a credential. `undefined` for anything that was never issued.
   *
   * The record may be up to one second old, except for changes made through this store to anything but
   * its balance: whether the key may go on is for {@link BalanceStore.readStanding} to say.
   */
  findKeyByCredential(credential: string): Promise<KeyRecord | undefined>;
  getKey(keyId: string): Promise<KeyRecord | undefined>;
  /** Newest first. `after` is the id of the last key of the page before. */
  listKeys(page: {
    readonly limit: number;
    readonly after?: string;
  }): Promise<readonly KeyRecord[]>;
  suspendKey(keyId: string): Promise<KeyRecord | undefined>;
  /** Lifts a suspension. A revoked key stays revoked. */
  resumeKey(keyId: string): Promise<KeyRecord | undefined>;
  /** For good. */
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
   * The authoritative admission read. Reads of one event-loop turn are folded into one query.
   *
   * Also throws {@link StoreUnavailableError} while settlements have been failing for more than 2 s, so
   * that no work begins which could not be charged.
   */
  readStanding(keyId: string): Promise<Standing>;

  /**
   * Makes the charge of one finished request durable, once. Resolves only when the ledger entry is
   * committed; waits through outages of the database for at most `deadlineMs`.
   *
   * @throws {StoreUnavailableError} The commit may or may not have happened: settle again with the same `requestId`.
   */
  settle(settlement: Settlement, options: { readonly deadlineMs: number }): Promise<SettleOutcome>;
  /**
   * Sets aside what a request may cost at most, before it is sent upstream: the admission read of a
   * balance that must never fall below zero. The balance less all live holds must cover it. Settling the
   * request takes the hold away in the same transaction; the store keeps it alive until then.
   *
   * Placing a live hold again answers as the first time. On {@link StoreUnavailableError} it may have been
   * placed: {@link BalanceStore.releaseHold} sees to that.
   */
  placeHold(hold: Hold): Promise<HoldOutcome>;
  /**
   * Gives back the hold of a request that will not be settled. It happens soon; should the database be
   * away for long, the hold expires by itself.
   */
  releaseHold(requestId: string): void;
  /**
   * No longer keeps a hold alive, as if the process had ended that placed it: unless its request is settled
   * or gives it back, it expires and is reported as orphaned.
   */
  abandonHold(requestId: string): void;
  /** Newest first. */
  listHolds(filter: {
    readonly state: HoldState;
    readonly limit: number;
  }): Promise<readonly HoldRecord[]>;
  countHolds(state: HoldState): Promise<number>;
  /** Sets aside a usage document that cannot be trusted. Never charges. */
  quarantine(usage: QuarantinedUsage): Promise<void>;
  topUp(topUp: TopUp): Promise<TopUpOutcome>;

  /** One entry by its request id, only if it belongs to `keyId`. */
  findEntry(keyId: string, requestId: string): Promise<LedgerEntry | undefined>;
  listEntries(filter: EntryFilter): Promise<EntryPage>;
  /** The entries of these request ids, in no particular order, whoever they belong to. At most 1,000 ids. */
  findEntries(requestIds: readonly string[]): Promise<readonly LedgerEntry[]>;
  /**
   * Adds entries that are in no block yet to the hash chain. To be called every minute or so, by every
   * replica: one of them does the work.
   *
   * @param options.all - Looks at every key instead of those that changed since the last block.
   * @returns the end of the chain, `undefined` while it is empty.
   */
  sealEntries(options?: { readonly all?: boolean }): Promise<SealHead | undefined>;
  /** Figures of the ledger as a whole, for an operator's monitoring. Reads every key's row. */
  summarize(): Promise<LedgerSummary>;
  /** Recomputes the whole ledger; streams rows, so memory stays bounded. */
  audit(options?: AuditOptions): Promise<AuditReport>;

  /** Resolves when the database answers; throws {@link StoreUnavailableError} otherwise. */
  ping(): Promise<void>;
  /** Settlements taken but not yet durable. */
  pendingSettlements(): number;
  /** Waits for pending settlements, then closes. */
  close(): Promise<void>;
}

/** The database did not answer. Whether the work was done is unknown unless the method says otherwise. */
export class StoreUnavailableError extends Error {
  override readonly name = 'StoreUnavailableError';
}
