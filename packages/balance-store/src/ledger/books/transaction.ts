/**
 * The database operations that the functions in `books` need: one transaction over the ledger's
 * tables. Either all of its writes happen, or none. Amounts are in units of 10^-14 USD.
 */

import type { CreatedAccount, CreditSource, EntryReason } from '../../account.js';
import type { LedgerArchive } from '../../archive.js';
import type { DocumentWrite, StoredDocument } from '../../document.js';
import type { NewEvent } from '../../event.js';
import type { KeyRecord } from '../../key.js';
import type { CarryRow } from '../rows/carry-row.js';
import type { SpenderRows } from '../rows/spender-rows.js';
import type { Row, SomeColumns } from '../tables/tables.js';
import type { AllowanceMonth } from '../rules/allowance.js';
import type { Side } from '../rules/sides.js';
import type { HashRenewal } from '../rules/pepper.js';

export interface LedgerTransaction {
  /**
   * Locks these accounts against charges and other bookings until the transaction ends, in the
   * order in which every transaction locks them. Unknown ids are left out. Call it before any
   * write; later calls may name only accounts that this transaction has locked or created.
   */
  lockAccounts(accountIds: readonly string[]): Promise<ReadonlyMap<string, AccountState>>;
  /**
   * The time of the database's clock, or of the last entry of the accounts that are locked if that
   * is later. Must be read after the locks are taken, so that an account's entries are in order of
   * time.
   */
  now(): Promise<Date>;
  saveAccount(account: AccountState): Promise<void>;
  /** The sum of the account's live holds. */
  heldBy(accountId: string): Promise<bigint>;
  /** How many keys of the account may make requests if its balance allows it. */
  countUsableKeys(accountId: string): Promise<number>;
  /** Whether at least so many keys of the account are not revoked. */
  hasKeys(accountId: string, count: number): Promise<boolean>;

  findEntry(id: string): Promise<KnownEntry | undefined>;
  insertEntry(entry: BookedEntry): Promise<void>;
  /** What a reversal must know of an entry that is no charge; `undefined` if there is none. */
  movement(id: string): Promise<KnownMovement | undefined>;
  /** Whether an entry undoes this one. */
  isReversed(id: string): Promise<boolean>;
  /** Adds to the sums of an account's hour. @param hour - In hours since 1970-01-01 UTC. */
  addMoney(accountId: string, hour: number, sides: readonly Side[]): Promise<void>;
  /** Accounts after this id whose entries do not say from where money came, in the order of ids. */
  accountsToOpen(after: string, limit: number): Promise<readonly string[]>;

  /** Lots with an unused part, in the order in which charges use them. */
  lotsOf(accountId: string): Promise<readonly Lot[]>;
  /** Also if nothing of it is left. */
  lot(id: string): Promise<Lot | undefined>;
  saveLot(lot: Lot): Promise<void>;
  /** Active accounts after this id whose last allowance is of a month before this one. */
  accountsWithDueAllowance(
    after: string,
    month: AllowanceMonth,
    limit: number,
  ): Promise<readonly string[]>;
  /** Accounts after this id with an expired lot that has an unused part, in the order of ids. */
  accountsWithExpiredLots(after: string, limit: number): Promise<readonly string[]>;

  findCreation(id: string): Promise<KnownCreation | undefined>;
  insertCreation(id: string, creation: KnownCreation): Promise<void>;
  isExternalIdTaken(of: 'account' | 'api_key', externalId: string, id: string): Promise<boolean>;
  insertAccount(account: NewAccountRow): Promise<void>;
  updateAccount(accountId: string, change: AccountRowChange): Promise<void>;
  accountRecord(accountId: string): Promise<CreatedAccount | undefined>;
  insertKey(key: NewKeyRow): Promise<void>;
  updateKey(keyId: string, change: KeyRowChange): Promise<void>;
  keyRecord(keyId: string): Promise<KeyRecord | undefined>;
  keyIdsOf(accountId: string): Promise<readonly string[]>;
  /** Gives the key another credential. The old one works until `previousUntil`. */
  replaceCredential(
    keyId: string,
    credential: KeyCredential,
    previousUntil: Date | null,
  ): Promise<void>;
  /** Replaces the old hash where it is stored. @returns each credential whose hash it replaced */
  renewHash(renewal: HashRenewal): Promise<readonly RenewedHash[]>;
  /** Accounts after this id with a key for {@link LedgerTransaction.takeExpiringKeys}. */
  accountsWithExpiringKeys(after: string, before: Date, limit: number): Promise<readonly string[]>;
  /**
   * Keys of these accounts that are active, have not expired, and expire at `before` or earlier. A
   * key is taken only once for the same expiry.
   */
  takeExpiringKeys(accountIds: readonly string[], before: Date): Promise<readonly ExpiringKey[]>;

  /** If an event with this id exists already, it is not changed. */
  insertEvent(event: NewEvent): Promise<void>;
  getDocument(
    kind: string,
    id: string,
  ): Promise<Pick<StoredDocument, 'version' | 'data'> | undefined>;
  /**
   * @returns whether it was written; false if the document no longer has the version that was read.
   */
  writeDocument(write: DocumentWrite): Promise<boolean>;
  /** The number of the last archive; 0 if there is none. No other is recorded meanwhile. */
  lastArchive(): Promise<number>;
  insertArchive(archive: LedgerArchive): Promise<void>;
  insertCarries(carries: readonly CarryRow[]): Promise<void>;
  /** How many charges the sums with this archive's number have in all. */
  chargesCarriedFor(archive: number): Promise<number>;
  /** Deletes at most `limit` sums whose archive is not recorded. @returns how many */
  deleteUnrecordedCarries(limit: number): Promise<number>;
  /** What closes months and numbers statements. */
  readonly months: ClosedMonthRows;
  /** Groups, members and budgets. */
  readonly spenders: SpenderRows;
  /**
   * Numbers these entries after all others. Must be called last, because it locks the trail until
   * the transaction ends.
   */
  appendTrail(entries: readonly TrailRow[]): Promise<void>;
  insertPersonalTexts(texts: readonly PersonalText[]): Promise<void>;
  erasePersonalTexts(accountId: string): Promise<void>;
  /** Replaces the hash of each creation of the account. @param hash - In hexadecimal. */
  replaceCreationHashes(accountId: string, hash: string): Promise<void>;
}

export interface ClosedMonthRows {
  /** No other transaction closes a month or issues a statement until this one ends. */
  lockClosings(): Promise<void>;
  /** Oldest first. */
  closedMonths(): Promise<readonly Row<'ClosedMonth'>[]>;
  insertClosedMonth(row: Row<'ClosedMonth'>): Promise<void>;
  issuedStatement(
    month: string,
    accountId: string,
    kind: string,
  ): Promise<Row<'IssuedStatement'> | undefined>;
  /** The last number of this issuer; 0 if there is none. */
  lastStatement(issuer: string): Promise<number>;
  insertStatement(row: Row<'IssuedStatement'>): Promise<void>;
}

export const ACCOUNT_STATE = [
  'id',
  'state',
  'lowBalance',
  'allowance',
  'allowanceStart',
  'noticeShares',
  'noticeBase',
  'balance',
  'spent',
  'credited',
  'adjusted',
  'expired',
  'uncovered',
  'given',
  'opened',
  'allotted',
  'nextExpiryAt',
  'emptiedBy',
  'seq',
  'lastChargedAt',
  'lastBookedAt',
] as const;

type StoredState = Pick<Row<'Account'>, (typeof ACCOUNT_STATE)[number]>;

/** An account's row, while a transaction changes it. */
type Kept = 'id' | 'state' | 'lowBalance' | 'allowance' | 'noticeShares' | 'lastChargedAt';
export type AccountState = Pick<StoredState, Kept> & {
  -readonly [Name in Exclude<keyof StoredState, Kept>]: StoredState[Name];
};

/** The columns of a locked account that a transaction may have changed. */
export function changeableColumns({
  id: _,
  state: _state,
  lowBalance: _lowBalance,
  allowance: _allowance,
  noticeShares: _noticeShares,
  lastChargedAt: _lastChargedAt,
  ...changeable
}: AccountState): Omit<AccountState, Kept> {
  return changeable;
}

/** The time of the account's last entry; `null` if it has none. */
export function lastEntryAt({
  lastChargedAt,
  lastBookedAt,
}: Pick<AccountState, 'lastChargedAt' | 'lastBookedAt'>): Date | null {
  return latestOf(lastChargedAt, lastBookedAt);
}

export function latestOf<First extends Date | null>(
  first: First,
  ...others: readonly (Date | null)[]
): First | Date {
  let latest: First | Date = first;
  for (const time of others) {
    if (time !== null && (latest === null || time > latest)) latest = time;
  }
  return latest;
}

export interface KnownEntry {
  readonly accountId: string;
  readonly hash: string;
  readonly balanceAfter: bigint;
}

export type BookedEntry = Pick<
  Row<'Ledger'>,
  | 'id'
  | 'accountId'
  | 'seq'
  | 'delta'
  | 'balanceAfter'
  | 'createdAt'
  | 'expiresAt'
  | 'reference'
  | 'noteId'
  | 'tax'
  | 'fee'
  | 'lots'
  | 'reverses'
> & {
  readonly kind: 'top_up' | 'adjustment' | 'expiry';
  readonly hash: string;
  readonly actor: string;
  readonly source: CreditSource | null;
  readonly reason: EntryReason | null;
  readonly given: bigint;
  readonly counter: string;
};

export const MOVEMENT_MEMBERS = [
  'id',
  'accountId',
  'kind',
  'reason',
  'delta',
  'counter',
  'tax',
  'lots',
] as const;

export type KnownMovement = Pick<Row<'Ledger'>, (typeof MOVEMENT_MEMBERS)[number]>;

export type Lot = Omit<Row<'CreditLot'>, 'source' | 'remaining'> & {
  readonly source: CreditSource;
  remaining: bigint;
};

export interface KnownCreation {
  readonly hash: string;
  readonly accountId: string;
  readonly keyId: string | null;
}

/** A column without a value has its default. */
export type NewAccountRow = SomeColumns<'Account'> &
  Pick<Row<'Account'>, 'id' | 'name' | 'createdAt'>;

export type AccountRowChange = SomeColumns<'Account'>;

export interface KeyCredential {
  readonly hint: string;
  readonly credentialHmac: Uint8Array;
  readonly pepperId: string;
}

export interface RenewedHash {
  readonly keyId: string;
  readonly accountId: string;
  readonly before: Pick<KeyCredential, 'credentialHmac' | 'pepperId'>;
}

/** The columns that a new key has no value for: they have defaults, or stay null. */
type Later =
  | 'state'
  | 'previousHmac'
  | 'previousUntil'
  | 'previousPepperId'
  | 'expiryNotifiedAt'
  | 'spent'
  | 'writtenOff'
  | `${'day' | 'week' | 'month'}${'Start' | 'Base'}`
  | 'lastChargedAt';

/** A column without a value is NULL. */
export type NewKeyRow = Given<Omit<Row<'ApiKey'>, Later>>;

type Given<Columns> = {
  readonly [Name in keyof Columns as null extends Columns[Name] ? never : Name]: Columns[Name];
} & {
  readonly [Name in keyof Columns as null extends Columns[Name] ? Name : never]?:
    Columns[Name] | undefined;
};

export type KeyRowChange = SomeColumns<'ApiKey'>;

export interface ExpiringKey {
  readonly keyId: string;
  readonly accountId: string;
  readonly expiresAt: Date;
}

export type TrailRow = Omit<Row<'Trail'>, 'seq'>;

export type PersonalText = Row<'PersonalText'>;
