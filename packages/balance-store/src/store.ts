/**
 * The interface of a balance store, the same for every database.
 *
 * Money is `bigint` in units of 10^-14 USD throughout; token counts are integers. Expected outcomes
 * are values of a discriminated union; faults throw {@link StoreUnavailableError}.
 */

import type {
  AccountChange,
  AccountFilter,
  AccountRecord,
  AccountStatus,
  Actor,
  Adjustment,
  AdjustmentOutcome,
  Closing,
  ClosingOutcome,
  Creation,
  CreationOutcome,
  CreditSource,
  EmptiedBy,
  Fee,
  Reversal,
  ReversalOutcome,
  Transfer,
  TransferOutcome,
  UnspentCredit,
} from './account.js';
import type { ArchiveComparison, ArchiveOptions, ArchiveReport, LedgerArchive } from './archive.js';
import type { BookPage, BookQuery } from './books.js';
import type {
  ClosedMonth,
  MonthOutcome,
  IssuedStatement,
  MonthToClose,
  NewStatement,
  StatementFilter,
} from './closed-month.js';
import type { DocumentFilter, DocumentOutcome, DocumentWrite, StoredDocument } from './document.js';
import type { EventChannel, EventState, NewEvent, StoredEvent } from './event.js';
import type {
  CapUse,
  KeyChange,
  KeyFilter,
  KeyRecord,
  KeyStanding,
  NewKey,
  PresentedKey,
  RotationOutcome,
} from './key.js';
import type { ChargeDetails, EntryFilter, EntryPage, LedgerEntry } from './ledger-entry.js';
import type { Budgets } from './budget.js';
import type { Members, Spender } from './spender.js';
import type { AuditOptions, AuditReport, SealHead } from './audit.js';
import type { Hold, HoldOutcome, HoldRecord, HoldState } from './hold.js';
import type {
  RecordedPart,
  RequestBatch,
  RequestPage,
  RequestPruning,
  RequestQuery,
  RequestSum,
  RequestSumQuery,
} from './request-record.js';
import type { TrailEntry, TrailFilter } from './trail.js';
import type { SpendingQuery, SpendingSum } from './spending.js';
import type { UsageQuery, UsageSum } from './usage.js';

export interface Settlement extends ChargeDetails {
  /**
   * Made by the gateway before the first attempt, and the same on every retry. Never used for
   * another request. 1 to 500 characters. Does not begin as the id of another kind of entry does
   * (`topup:`, `adjustment:`, `transfer:`, `expiry:`, `allowance:`, `fee:` or `opening:`).
   */
  readonly requestId: string;
  readonly keyId: string;
  /**
   * The charge of the request, in units of 10^-14 USD: its tokens at its rates, and its fees. None
   * of them is negative.
   */
  readonly amount: bigint;
  /**
   * `none`: the charge takes at most the part of the balance that other requests do not hold. The
   * rest is written off. A request that has a hold is always charged this way. Caps do not reduce a
   * charge.
   */
  readonly overdraft: 'bounded' | 'none';
  /**
   * Who spends it, as it was when the request was admitted. A replay with another tag or run
   * changes nothing and is no conflict.
   */
  readonly spender?: Spender | undefined;
}

export interface BalanceAfter {
  /** The account's balance after this entry, in units of 10^-14 USD; may be negative. */
  readonly balance: bigint;
  /** Whether the key's standing is `active` (see {@link Standing}). */
  readonly isActive: boolean;
}

export interface Charged extends BalanceAfter {
  /**
   * The part of the amount that could not be charged, in units of 10^-14 USD. The charge was the
   * amount minus this part. It is above zero only for charges without overdraft, and is the
   * operator's loss. If the balance did not cover it, all keys of the account stay exhausted until
   * the next credit.
   */
  readonly writtenOff: bigint;
}

export type SettleOutcome =
  | ({ readonly outcome: 'settled' } & Charged)
  /** The request was settled before with the same contents: nothing changed. */
  | ({ readonly outcome: 'replayed' } & Charged)
  /** The request id has other contents in the ledger: no charge, but an alarm row is written. */
  | { readonly outcome: 'conflict' }
  /**
   * The settlement is malformed, would make the ledger unsound (its amount is not that of its
   * tokens, rates and fees) or has an unknown key. It is quarantined, and nothing is charged. If a
   * member is at fault, the reason names it.
   */
  | { readonly outcome: 'quarantined'; readonly reason: string };

export interface TopUp {
  /** Chosen by the caller; a replay with the same id credits nothing. */
  readonly topUpId: string;
  /** The account, or a key of it. */
  readonly to: { readonly accountId: string } | { readonly keyId: string };
  /** In units of 10^-14 USD. Above zero. */
  readonly amount: bigint;
  /** `paid` when absent. */
  readonly source?: CreditSource | undefined;
  /** The unused part of the credit is taken back at this time, by an entry. */
  readonly expiresAt?: Date | undefined;
  /**
   * The operator's account from which the money comes: `cash:<provider>` for paid credit
   * (`cash:manual` when absent), `given` for promotional credit.
   */
  readonly counter?: string | undefined;
  /** In units of 10^-14 USD: what was paid beside the amount, and is owed as tax. */
  readonly tax?: bigint | undefined;
  /** `refuse`: nothing is credited if no key of the account may make requests. */
  readonly withoutUsableKey?: 'credit' | 'refuse' | undefined;
  /** Can be erased later. */
  readonly note?: string | undefined;
  /** The id of a payment or an order. */
  readonly reference?: string | undefined;
  readonly by: Actor;
}

export type TopUpOutcome =
  | {
      readonly outcome: 'credited' | 'replayed';
      readonly accountId: string;
      /** The account's balance after this entry, in units of 10^-14 USD. */
      readonly balance: bigint;
      /** How many keys of the account may make requests now. */
      readonly activeKeys: number;
    }
  /** The top-up id was used before for another account or with other contents. */
  | { readonly outcome: 'conflict' }
  | { readonly outcome: 'unknown' | 'account_closed' | 'no_usable_key' };

/**
 * Whether a key may make requests, and if not, why it is disabled.
 *
 * No column stores the standing. On PostgreSQL the SQL function `standing_of` derives it from the
 * rows of the key and its account on each read. In the embedded ledger
 * `embedded/sqlite/standing.ts` does the same. A key is disabled or enabled nowhere else, so a
 * credit that races with an exhausting charge cannot leave the key in the wrong state.
 *
 * - `exhausted`: the balance is zero or below, or a response since the last credit cost more than
 *   the balance could cover (`uncovered` is above zero).
 * - `suspended`: the key or its account was suspended. `revoked`: decided by an operator, for good.
 * - `expired`: `expiresAt` has passed.
 */
export type Standing =
  | {
      readonly standing: KeyStanding;
      /** In units of 10^-14 USD, as is `uncovered`. */
      readonly balance: bigint;
      /** Written off since money was last added, because the balance did not cover it. */
      readonly uncovered: bigint;
      /** Of an exhausted key: what took the balance to zero; absent for charges. */
      readonly emptiedBy?: EmptiedBy;
      /** The cap with the smallest unused part; absent for a key without caps. */
      readonly cap?: CapUse;
      /** Present if the account has budgets: see {@link Budgets.readBudgets}. */
      readonly isBudgeted?: true;
    }
  | { readonly standing: 'unknown' };

/** A request that used tokens upstream and will never be charged. Kept for the operator. */
export interface QuarantinedUsage {
  readonly requestId: string;
  readonly keyId: string;
  readonly model: string;
  readonly reason: string;
}

export interface QuarantineRecord extends QuarantinedUsage {
  readonly createdAt: Date;
}

export interface QuarantineFilter {
  /** Inclusive. */
  readonly from: Date;
  /** Exclusive. */
  readonly until: Date;
  readonly limit: number;
}

/** Amounts are in units of 10^-14 USD. */
export interface LedgerSummary {
  /** Number of keys by standing. */
  readonly keys: Readonly<Record<Exclude<Standing['standing'], 'unknown'>, number>>;
  /** Number of keys that need the previous pepper: see {@link KeyFilter.pepper}. */
  readonly keysUnderPreviousPepper: number;
  readonly accounts: number;
  /** Money that customers have not used: the sum of all balances above zero. */
  readonly unspent: bigint;
  /** The sum of all balances below zero, as an amount above zero. */
  readonly overdrawn: bigint;
  /** Quarantined usages: set aside and never charged. */
  readonly quarantined: number;
  /** Settlements whose request id was settled before with other contents. Repeats count once. */
  readonly conflicts: number;
  readonly orphanedHolds: number;
  /** Sum of all credit that has expired. */
  readonly expired: bigint;
  readonly writtenOff: bigint;
  /** Events given up: after their last attempt, or by `pruneEvents` without any. */
  readonly undeliveredEvents: number;
  /** When the oldest event that is neither delivered nor given up was written. */
  readonly oldestPendingEventAt: Date | undefined;
  /** When the hash chain was last extended. */
  readonly lastSealAt: Date | undefined;
  /** The latest time of an entry. New entries of its account are not earlier. */
  readonly lastEntryAt: Date | undefined;
  /** How far the clock of the ledger is behind that time: 0 unless the clock was set back. */
  readonly clockBehindMs: number;
}

/** See {@link BalanceStore.charging}. */
export interface ChargingState {
  /** Why no charge can be recorded. While it is set, requests are refused. */
  readonly fault: StoreUnavailableError | undefined;
  /** How far the database's clock is ahead of this process's; `undefined` if not known. */
  readonly clockSkewMs: number | undefined;
}

export interface FindOptions {
  /**
   * Whether to read the record although it is cached. For changes that a key may no longer make if
   * it was rotated, suspended or restricted through another store a moment ago. False when absent.
   */
  readonly isFresh?: boolean;
}

export interface BalanceStore extends Members, Budgets {
  /**
   * Creates an account with a first key and a first credit, or a key of an account that exists.
   * Creates all of it or nothing.
   */
  create(creation: Creation): Promise<CreationOutcome>;
  /** Creates a key with an account of its own, under the same name. */
  createKey(key: NewKey): Promise<{ readonly record: KeyRecord; readonly credential: string }>;
  /**
   * Finds the key of a credential. `undefined` for a text that was never issued as one, and for the
   * former credential of a rotated key once its grace period is over.
   *
   * If the credential is stored under the previous pepper, this stores it under the current one,
   * once. If storing it fails, the next look-up tries again.
   *
   * `presented` says whether the credential is the current one of the key or a replaced one.
   *
   * The record is cached for up to one second; in the process that owns an embedded ledger, for as
   * long as nothing but charges is committed. Changes made through this store show at once, except
   * charges and other bookings. Use {@link BalanceStore.readStanding} to decide whether the key may
   * make a request: its answer includes every change that was committed before the call.
   */
  findKeyByCredential(credential: string, options?: FindOptions): Promise<PresentedKey | undefined>;
  /**
   * Returns, without waiting, the record that {@link BalanceStore.findKeyByCredential} found in the
   * last minute. The record may be out of date, and its credential may no longer work: look the key
   * up before the request is served. With the record, other work, such as checking the limits, can
   * begin during that look-up.
   */
  recallKey(credential: string): PresentedKey | undefined;
  getKey(keyId: string): Promise<KeyRecord | undefined>;
  /** @throws {RangeError} when `after` does not belong to a list in this order. */
  listKeys(filter: KeyFilter): Promise<readonly KeyRecord[]>;
  /**
   * If an operator suspends a key, or one that is suspended already, only operators resume it.
   *
   * @param reason - For the trail.
   */
  suspendKey(keyId: string, by?: Actor, reason?: string): Promise<KeyRecord | undefined>;
  /**
   * Lifts a suspension. A revoked key stays revoked.
   *
   * @throws {SetByOperatorError} A holder resumes a key that an operator suspended.
   */
  resumeKey(keyId: string, by?: Actor): Promise<KeyRecord | undefined>;
  /** Disables the key permanently. Its account keeps its money. */
  revokeKey(keyId: string, by?: Actor): Promise<KeyRecord | undefined>;
  /**
   * @throws {ExternalIdTakenError}
   * @throws {SetByOperatorError} A holder exceeds a cap, a limit, an expiry, the models or the
   * networks that an operator set. See {@link OperatorBounds}.
   */
  updateKey(keyId: string, change: KeyChange, by?: Actor): Promise<KeyRecord | undefined>;
  /**
   * Gives a key a new credential. Its id, account, limits and history stay.
   *
   * @param options.graceMs - How long the old credential still works; 0 when absent. A credential
   * that is still in its grace period from an earlier rotation stops working at once.
   * @param options.rotationId - Chosen by the caller; a replay with the same id changes nothing.
   * Rotations and creations share one set of ids: use an id for only one of them.
   */
  rotateKey(
    keyId: string,
    options: {
      readonly graceMs?: number | undefined;
      readonly rotationId?: string | undefined;
      readonly by: Actor;
    },
  ): Promise<RotationOutcome>;
  /**
   * Writes into the trail that a link for this key was made. Anyone who has a read-only link may
   * read everything that the key may read.
   *
   * @param link.isOnce - The link shows a new credential of the key, once.
   * @returns `undefined`, and nothing is written, if there is no such key.
   */
  recordLink(
    keyId: string,
    link: { readonly expiresAt: Date; readonly isOnce?: boolean; readonly by: Actor },
  ): Promise<KeyRecord | undefined>;

  getAccount(accountId: string): Promise<AccountRecord | undefined>;
  /** @throws {RangeError} when `after` does not belong to a list in this order. */
  listAccounts(filter: AccountFilter): Promise<readonly AccountRecord[]>;
  /**
   * @throws {ExternalIdTakenError}
   * @throws {AccountClosedError} A closed account is to get an allowance.
   */
  updateAccount(
    accountId: string,
    change: AccountChange,
    by?: Actor,
  ): Promise<AccountRecord | undefined>;
  /**
   * Suspends an account with all its keys, those that are created later too, or resumes it. The
   * keys' own states stay as they are. Requests that run are charged as usual.
   *
   * @throws {AccountClosedError}
   */
  setAccountState(
    accountId: string,
    state: Exclude<AccountStatus, 'closed'>,
    by: Actor,
  ): Promise<AccountRecord | undefined>;
  /**
   * Ends an account: revokes its keys, ends its allowance, and books its money so that the balance
   * is 0. All of it or nothing.
   *
   * Refused while holds are live. A request without a hold (`OVERDRAFT=bounded`) may still be in
   * flight: its charge is booked as usual, and is then a debt of the closed account.
   */
  closeAccount(closing: Closing): Promise<ClosingOutcome>;
  /** Its keys stay revoked, and what was booked stays booked. Changes no other account. */
  reopenAccount(
    accountId: string,
    options: { readonly reason: string; readonly by: Actor },
  ): Promise<AccountRecord | undefined>;
  /**
   * Erases all texts that may be about a person: names, external ids and metadata of the account
   * and its keys, and the notes of its entries. Deletes the record of its requests. The hash chain
   * stays sound. Repeating one of the
   * account's creations, rotations or closings with its id is a conflict from then on.
   *
   * @throws {AccountNotClosedError} Money, keys and an allowance would go on.
   */
  eraseAccount(accountId: string, by: Actor): Promise<AccountRecord | undefined>;
  readUnspent(accountId: string): Promise<UnspentCredit | undefined>;

  /**
   * The authoritative admission read. On PostgreSQL, reads of one event-loop tick share one query.
   *
   * Also throws {@link StoreUnavailableError} while charges cannot be recorded, because a request
   * that starts then could not be charged: see {@link BalanceStore.charging}.
   */
  readStanding(keyId: string): Promise<Standing>;

  /**
   * Makes the charge of one finished request durable, once. Resolves only when the outcome is
   * committed; waits through outages of the database for at most `deadlineMs`, which may be
   * `Infinity`.
   *
   * @throws {RangeError} when `deadlineMs` is not above 0: nothing was charged.
   * @throws {StoreUnavailableError} The commit may or may not have happened: settle again with the
   * same `requestId`.
   */
  settle(settlement: Settlement, options: { readonly deadlineMs: number }): Promise<SettleOutcome>;
  /**
   * Settles the charges of one request as {@link BalanceStore.settle} does, all in one transaction
   * and in this order, so that no other charge and no hold comes between them. The first has the
   * id of the request's hold. One that cannot be stored is quarantined alone, and the others are
   * then in transactions of their own.
   *
   * @returns the outcome of each, in this order
   */
  settleTogether(
    settlements: readonly Settlement[],
    options: { readonly deadlineMs: number },
  ): Promise<readonly SettleOutcome[]>;
  /**
   * Sets aside the most a request may cost, before it is sent upstream. It replaces `readStanding`
   * for a balance that must never fall below zero. The balance less all live holds must cover the
   * amount, and so must the caps of the key. The store keeps the hold alive until the request is
   * settled, which deletes it in the same transaction.
   *
   * Placing a live hold again holds no more money. On {@link StoreUnavailableError} the hold may
   * have been placed: call {@link BalanceStore.releaseHold}.
   */
  placeHold(hold: Hold): Promise<HoldOutcome>;
  /**
   * Releases the hold of a request that will not be settled. Returns at once; the database is
   * changed soon afterwards. If the database stays unavailable, the hold expires.
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
  /** Oldest first. */
  listQuarantined(filter: QuarantineFilter): Promise<readonly QuarantineRecord[]>;
  topUp(topUp: TopUp): Promise<TopUpOutcome>;
  adjust(adjustment: Adjustment): Promise<AdjustmentOutcome>;
  reverse(reversal: Reversal): Promise<ReversalOutcome>;
  bookFee(fee: Fee): Promise<AdjustmentOutcome>;
  /** Moves money between two accounts: two entries in one transaction. */
  transfer(transfer: Transfer): Promise<TransferOutcome>;
  /**
   * Books what is due of an account: takes back what is left of credits that have expired, and
   * gives an active account the allowance of this month. Changes nothing if nothing is due.
   * `expire` does the same for all accounts, within a minute; this is for a request that comes
   * before.
   */
  bookDue(accountId: string): Promise<void>;
  /**
   * Renews allowances, takes back the unused part of credits that have expired, and writes the
   * event `key.expiring` for keys that expire within `keysWithinMs`. Call it about once a minute
   * from every replica.
   *
   * Money that is held for requests in flight is left until a later call. Also marks holds that
   * have expired as orphaned, so that they no longer hold money.
   *
   * @returns how many entries and `key.expiring` events it wrote.
   */
  expire(options: { readonly keysWithinMs: number }): Promise<number>;

  /**
   * Sums of charges, sorted by the first requested dimension, then by the next ones.
   *
   * @throws {RangeError} The query has more sums than its `maxSums`, or `from` or `until` is not a
   *   whole hour.
   */
  readUsage(query: UsageQuery): Promise<readonly UsageSum[]>;
  /**
   * Sums of charges by who spent, sorted as `readUsage` sorts them. Charges that name no member,
   * group, tag or run are sums too, so that all sums together are those of `readUsage`, exactly,
   * unless the query is limited to a member, a group, a tag or a run.
   *
   * @throws {RangeError} The query has more sums than its `maxSums`, or `from` or `until` is not a
   *   whole hour.
   */
  readSpending(query: SpendingQuery): Promise<readonly SpendingSum[]>;
  /**
   * The beginning of the first hour with a charge that names a member, a group, a tag or a run, of
   * this account or of any; `undefined` if there is none. Earlier charges name none.
   */
  spendingNamedSince(accountId?: string): Promise<Date | undefined>;
  /** Sums of entries before and within a range of time, by account, page by page, and in all. */
  readBooks(query: BookQuery): Promise<BookPage>;
  /**
   * Closes a month that is over: no entry gets a time in it any more. Months are closed in order,
   * each once; closing one again returns what was stored.
   *
   * @throws {RangeError} `from` or `until` is not a whole hour.
   */
  closeMonth(month: MonthToClose): Promise<MonthOutcome>;
  /** Oldest first. */
  listClosedMonths(): Promise<readonly ClosedMonth[]>;
  /**
   * Stores a statement of a closed month with the next number of its issuer. If the account has one
   * of this kind and month, returns that one.
   *
   * @returns `undefined` if the month is not closed
   */
  issueStatement(statement: NewStatement): Promise<IssuedStatement | undefined>;
  /** By account. */
  listStatements(filter: StatementFilter): Promise<readonly IssuedStatement[]>;
  /**
   * The balance of an account before the first entry at or after this time.
   *
   * @throws {RangeError} The time is in an archived period and not a whole hour, so the balance is
   * not known.
   */
  readBalanceAt(accountId: string, time: Date): Promise<bigint>;

  /** Writes an event that no change of the ledger causes. An event with an `id` is written once. */
  recordEvent(event: NewEvent): Promise<void>;
  /**
   * Creates or changes a document, only if its version is still the one that was read. If several
   * calls change the same version at once, one of them succeeds.
   *
   * @throws {RangeError} An argument cannot be stored, such as `data` above 64 KiB of JSON.
   */
  writeDocument(write: DocumentWrite): Promise<DocumentOutcome>;
  getDocument(kind: string, id: string): Promise<StoredDocument | undefined>;
  /** Newest first. */
  listDocuments(filter: DocumentFilter): Promise<readonly StoredDocument[]>;
  /** Oldest first by default. `after` is the number of the last event of the previous page. */
  listEvents(filter: {
    readonly order?: 'oldest' | 'newest' | undefined;
    readonly state?: EventState | undefined;
    readonly accountId?: string | undefined;
    readonly after?: bigint | undefined;
    readonly limit: number;
  }): Promise<readonly StoredEvent[]>;
  /**
   * Takes the oldest unfinished event of each account, if it is due, so that the events of an
   * account arrive in order. No other call for this channel takes these events before `leaseMs` has
   * passed.
   */
  takeDueEvents(options: {
    readonly channel: EventChannel;
    readonly limit: number;
    readonly leaseMs: number;
  }): Promise<readonly StoredEvent[]>;
  /** @param result.retryAt - When to try again; absent to give up. */
  finishEvent(
    channel: EventChannel,
    seq: bigint,
    result:
      | { readonly outcome: 'delivered' }
      | { readonly outcome: 'failed'; readonly error: string; readonly retryAt: Date | undefined },
  ): Promise<void>;
  /**
   * Deletes old events, at most 1,000 in one call.
   *
   * @param options.finishedBefore - Deletes events that were written before this time and are
   * delivered or given up by each channel.
   * @param options.giveUp - First gives up pending events that were written before this time and
   * never tried by these channels, at most 1,000 for each. For a process that does not deliver by
   * them. When absent, no event is given up.
   * @returns how many it deleted.
   */
  pruneEvents(options: {
    readonly finishedBefore: Date;
    readonly giveUp?:
      { readonly before: Date; readonly channels: readonly EventChannel[] } | undefined;
  }): Promise<number>;
  /** Newest first. */
  listTrail(filter: TrailFilter): Promise<readonly TrailEntry[]>;

  /**
   * One entry by its id, only if it is a charge of the key `keyId`, or an entry of its account that
   * is not a charge.
   */
  findEntry(keyId: string, id: string): Promise<LedgerEntry | undefined>;
  listEntries(filter: EntryFilter): Promise<EntryPage>;
  /** The entries of these request ids, of any key, in no particular order. At most 1,000 ids. */
  findEntries(requestIds: readonly string[]): Promise<readonly LedgerEntry[]>;
  /**
   * Adds the entries that are not in a block yet to the hash chain. Call it about once a minute
   * from every replica: one of them does the work.
   *
   * @param options.all - Looks at every account, not only at those that changed since the last
   * block.
   * @returns the end of the chain, or `undefined` while it is empty.
   */
  sealEntries(options?: { readonly all?: boolean }): Promise<SealHead | undefined>;
  /**
   * Adds the hourly totals of past hours to the daily totals, with which `readUsage` answers
   * quickly. Call it about once a minute from every replica: one of them does the work. Without it,
   * and for charges that come late, the answers are the same and only take longer.
   *
   * @param options.before - Only hours that have ended by this time; five minutes ago when absent.
   * @returns how many hourly totals it added.
   */
  rollUpUsage(options?: { readonly before?: Date }): Promise<number>;
  /** Figures of the ledger as a whole, for an operator's monitoring. Reads the rows of all keys. */
  summarize(): Promise<LedgerSummary>;

  /**
   * Adds requests to the record of requests, which is no part of the ledger. Resolves when they are
   * written, but a crash of the machine may lose the requests of the last seconds.
   *
   * @throws {StoreUnavailableError} The requests may or may not have been recorded. Repeat it with
   * the same `id`: it takes effect once.
   */
  recordRequests(batch: RequestBatch): Promise<void>;
  /** @throws {RangeError} when the cursor is not one of a page of requests. */
  listRequests(query: RequestQuery): Promise<RequestPage>;
  /**
   * Sums the requests that are recorded, those that are only counted too.
   *
   * @throws {RangeError} when a time is not a whole period, or there are more sums than allowed.
   */
  sumRequests(query: RequestSumQuery): Promise<readonly RequestSum[]>;
  /**
   * The beginning of the first hour, or with `labels` of the first day, of which the record has
   * sums of any account; with `requests` the time since which it lists all that ended; `undefined`
   * if it has none. What is earlier was deleted, or nothing was recorded yet.
   */
  requestsRecordedFrom(of: RecordedPart): Promise<Date | undefined>;
  /** Deletes old requests. */
  pruneRequests(pruning: RequestPruning): Promise<void>;
  /**
   * Moves the charges before a day into a file; their sums stay. Charges, audits and reads go on
   * meanwhile. After a crash, the same call continues.
   *
   * Sums of usage, balances and statements of the archived period stay exact. Its charges are no
   * longer found by their ids, so the caller must not charge one of them again.
   *
   * @throws {RangeError} `until` is not 00:00 UTC of a day, or is less than three days ago.
   * @throws {LedgerArchiveError} The archive cannot be made, for example because the ledger is not
   * sound, no charge is left to archive, another archive is being made, or the file cannot be
   * written or belongs to something else. Nothing was deleted.
   */
  archive(options: ArchiveOptions): Promise<ArchiveReport>;
  /** Oldest first. */
  listArchives(): Promise<readonly LedgerArchive[]>;
  /**
   * Verifies the file of an archive, and that the ledger carries its sums.
   *
   * @throws {LedgerArchiveError} The file cannot be read, or is not sound by itself.
   */
  compareArchive(file: string, onProgress?: (charges: number) => void): Promise<ArchiveComparison>;
  /** Recomputes the whole ledger. Reads it page by page, so memory stays bounded. */
  audit(options?: AuditOptions): Promise<AuditReport>;

  /** Resolves when the database answers; throws {@link StoreUnavailableError} otherwise. */
  ping(): Promise<void>;
  /**
   * Whether charges can be recorded at the moment, without waiting. A fault ends by itself within
   * about a second after the database's: a probe is repeated until it succeeds, and charges that
   * wait are tried first.
   *
   * If the store was opened with `serving`, faults are also found while nothing is charged,
   * within about a second. Otherwise only by charges that fail.
   */
  charging(): ChargingState;
  /**
   * Records a charge as far as that is possible without leaving a trace.
   *
   * @throws {StoreUnavailableError} A charge cannot be recorded now.
   */
  probeCharging(): Promise<void>;
  /** Settlements accepted but not yet durable. */
  pendingSettlements(): number;
  /** Waits for pending settlements, then closes. */
  close(): Promise<void>;
}

/**
 * The database did not answer or cannot record charges, or the store is closed. Unless the method
 * says otherwise, it is unknown whether the work was done.
 */
export class StoreUnavailableError extends Error {
  override readonly name = 'StoreUnavailableError';
}
