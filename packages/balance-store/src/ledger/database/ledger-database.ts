/**
 * The operations of a balance store that depend on the database. Everything else, such as group
 * commit, is written once above this interface. The audit is also written once; each database calls
 * it with its own `LedgerScan`.
 *
 * Unless a method says otherwise, it throws `StoreUnavailableError` when the database does not
 * answer.
 */

import type { AccountFilter, AccountRecord } from '../../account.js';
import type { ArchiveComparison, ArchiveFileSummary, ArchiveProgress } from '../../archive.js';
import type { AuditOptions, AuditReport, SealHead } from '../../audit.js';
import type { BudgetUse } from '../../budget.js';
import type { BookPage, BookQuery } from '../../books.js';
import type { IssuedStatement, StatementFilter } from '../../closed-month.js';
import type { DocumentFilter, StoredDocument } from '../../document.js';
import type { EventChannel, EventState, StoredEvent } from '../../event.js';
import type { Hold, HoldOutcome, HoldRecord, HoldState } from '../../hold.js';
import type { KeyFilter, KeyRecord, PresentedKey } from '../../key.js';
import type { EntryFilter, LedgerEntry } from '../../ledger-entry.js';
import type {
  LedgerSummary,
  QuarantineFilter,
  QuarantineRecord,
  QuarantinedUsage,
  Standing,
} from '../../store.js';
import type { Spender } from '../../spender.js';
import type { TrailEntry, TrailFilter } from '../../trail.js';
import type { SpendingQuery, SpendingSum } from '../../spending.js';
import type { UsageQuery, UsageSum } from '../../usage.js';
import type { ArchiveRange } from '../archive/plan.js';
import type { ArchiveToPrepare, PreparedArchive } from '../archive/prepare-archive.js';
import type { CarryRow } from '../rows/carry-row.js';
import type { ClosingRow } from '../rows/stored-closed-month.js';
import type { LedgerScan } from '../scan/ledger-scan.js';
import type { RunBook } from '../books/index.js';
import type { AccountState, Lot } from '../books/transaction.js';
import type { ChargingChecks } from '../charging/charge-watch.js';
import type { SettleDriver } from '../charging/committer.js';
import type { SpenderTable } from '../queries/spenders.js';
import type { EntryPosition } from '../queries/entry-cursor.js';
import type { CredentialHashes } from '../rules/pepper.js';
import type { RequestTables } from '../requests/request-tables.js';

export interface LedgerDatabase {
  readonly accounts: AccountTable;
  readonly keys: KeyTable;
  readonly holds: HoldTable;
  readonly entries: EntryTable;
  readonly events: EventTable;
  readonly documents: DocumentTable;
  readonly spenders: SpenderTable;
  readonly seals: SealTable;
  readonly archives: ArchiveTables;
  readonly settling: SettleDriver;
  readonly requests: RequestTables;
  readonly charging: ChargingChecks;

  /** A key's standing after all commits that finished before the call, by whomever. */
  readStanding(keyId: string): Promise<Standing>;
  /** The budgets that count a request now; of the last commit that finished before the call. */
  readBudgets(keyId: string, spender: Spender | undefined): Promise<readonly BudgetUse[]>;
  /** Runs one of `books` in a transaction. */
  readonly book: RunBook;
  readUsage(query: UsageQuery): Promise<readonly UsageSum[]>;
  readSpending(query: SpendingQuery): Promise<readonly SpendingSum[]>;
  spendingNamedSince(accountId: string | undefined): Promise<Date | undefined>;
  readBooks(query: BookQuery): Promise<BookPage>;
  /** Oldest first. */
  listClosedMonths(): Promise<readonly ClosingRow[]>;
  listStatements(filter: StatementFilter): Promise<readonly IssuedStatement[]>;
  /**
   * Adds at most `limit` hourly totals of usage to the daily totals.
   *
   * @param before - Only earlier hours. In hours since 1970-01-01 UTC.
   * @returns how many hourly totals it added; also 0 while another process is rolling up.
   */
  rollUpUsage(before: number, limit: number): Promise<number>;
  quarantine(usage: QuarantinedUsage): Promise<void>;
  /** Oldest first. */
  listQuarantined(filter: QuarantineFilter): Promise<readonly QuarantineRecord[]>;
  /** Newest first. */
  listTrail(filter: TrailFilter): Promise<readonly TrailEntry[]>;
  /**
   * @param pepperId - The id of the current pepper. `keysUnderPreviousPepper` of the summary counts
   * the keys with a working credential under another pepper.
   */
  summarize(pepperId: string): Promise<LedgerSummary>;
  readonly background: BackgroundWork;
  ping(): Promise<void>;
  close(): Promise<void>;
}

export interface FoundKey {
  readonly record: KeyRecord;
  readonly presented: PresentedKey['presented'];
  /** Whether the credential is still stored under the previous pepper. */
  readonly hasOldHash: boolean;
}

export interface AccountTable {
  get(accountId: string): Promise<AccountRecord | undefined>;
  /** @throws {RangeError} when `after` does not belong to a list in this order. */
  list(filter: AccountFilter): Promise<readonly AccountRecord[]>;
  /** The account's row with its lots, read in one state of the ledger, and the time. */
  readLots(accountId: string): Promise<
    | {
        readonly account: Pick<AccountState, 'balance' | 'spent' | 'allotted'>;
        readonly lots: readonly Lot[];
        readonly at: Date;
      }
    | undefined
  >;
  readBalanceAt(accountId: string, time: Date): Promise<bigint>;
}

export interface KeyTable {
  get(keyId: string): Promise<KeyRecord | undefined>;
  /**
   * @param pepperId - The id of the current pepper.
   * @throws {RangeError} when `after` does not belong to a list in this order.
   */
  list(filter: KeyFilter, pepperId: string): Promise<readonly KeyRecord[]>;
  /**
   * Finds a key by its credential, or by its previous one while that still works. Each statement
   * compares the hashes under both peppers, so that a renewal at the same time cannot hide the
   * key.
   */
  find(hashes: CredentialHashes): Promise<FoundKey | undefined>;
  /**
   * A number that changes with each commit, by whomever, that may have changed more of a key than
   * charges do; undefined while that is not known. Absent if the database cannot know it.
   */
  readonly version?: () => number | undefined;
}

export interface EventTable {
  /** Oldest first by default. */
  list(filter: {
    readonly order?: 'oldest' | 'newest' | undefined;
    readonly state?: EventState | undefined;
    readonly accountId?: string | undefined;
    readonly after?: bigint | undefined;
    readonly limit: number;
  }): Promise<readonly StoredEvent[]>;
  /** Takes the oldest unfinished event of each account, if that event is due. */
  takeDue(options: {
    readonly channel: EventChannel;
    readonly limit: number;
    readonly leaseMs: number;
  }): Promise<readonly StoredEvent[]>;
  /** @param result.retryAt - `null` if the event is delivered or given up. */
  finish(
    channel: EventChannel,
    seq: bigint,
    result: {
      readonly isDelivered: boolean;
      readonly error: string | null;
      readonly retryAt: Date | null;
    },
  ): Promise<void>;
  /** See `pruneEvents` of the store. */
  prune(options: EventPruning): Promise<number>;
}

export interface DocumentTable {
  get(kind: string, id: string): Promise<StoredDocument | undefined>;
  /** Newest first. */
  list(filter: DocumentFilter): Promise<readonly StoredDocument[]>;
}

export interface EventPruning {
  readonly finishedBefore: Date;
  readonly giveUp:
    { readonly before: Date; readonly channels: readonly EventChannel[] } | undefined;
  /** The most events that one call gives up for each channel, and the most that it deletes. */
  readonly limit: number;
}

export interface HoldTable {
  /** Returns one outcome per hold, in the given order. */
  place(holds: readonly Hold[], lifetimeMs: number): Promise<readonly HoldOutcome[]>;
  /** Extends live holds, and marks those that have expired as orphaned. */
  renew(requestIds: readonly string[], lifetimeMs: number): Promise<void>;
  release(requestIds: readonly string[]): Promise<void>;
  /** Newest first. */
  list(filter: {
    readonly state: HoldState;
    readonly limit: number;
  }): Promise<readonly HoldRecord[]>;
  count(state: HoldState): Promise<number>;
}

export interface EntryTable {
  find(keyId: string, id: string): Promise<LedgerEntry | undefined>;
  findMany(ids: readonly string[]): Promise<readonly LedgerEntry[]>;
  /**
   * Newest first. Entries of one account are ordered by number, those of all accounts by time and
   * id.
   *
   * @param before - Only entries that come after this position in that order.
   */
  list(
    filter: Omit<EntryFilter, 'cursor'>,
    before: EntryPosition | undefined,
  ): Promise<readonly LedgerEntry[]>;
}

export interface SealTable {
  head(): Promise<SealHead | undefined>;
  /**
   * Pages with the ids of accounts. With `changed`, only those with entries since two minutes
   * before the last block.
   */
  accountIds(which: 'all' | 'changed'): AsyncIterable<readonly string[]>;
  /**
   * Seals at most `maxEntries` entries of these accounts or of the {@link TRAIL} as the next block.
   *
   * @returns how many entries were sealed; also 0 while another process is sealing.
   */
  sealBlock(accountIds: readonly string[], maxEntries: number): Promise<number>;
}

/** Called with the number of charges that are done. */
export type OnCharges = ((charges: number) => void) | undefined;

/** The work that reads the whole ledger, or a whole file of an archive, beside all requests. */
export interface BackgroundWork {
  /** @throws {StoreUnavailableError} @throws {BackgroundWorkError} */
  audit(options: AuditOptions): Promise<AuditReport>;
  /**
   * Writes the file of an archive, unless it exists, and reads it again.
   *
   * @returns what the ledger records of it; `undefined` if the archive would have no charges
   * @throws {LedgerArchiveError} when a file of this name is not that of this archive, or cannot be
   * written.
   */
  prepareArchive(
    archive: ArchiveToPrepare,
    onProgress: (progress: ArchiveProgress) => void,
  ): Promise<PreparedArchive | undefined>;
  /** The sums of the charges to archive, in the order of account, number and key. */
  carries(range: ArchiveRange): AsyncIterable<CarryRow>;
  /** @throws {LedgerArchiveError} names the line that is wrong. */
  verifyArchive(file: string, onProgress: OnCharges): Promise<ArchiveFileSummary>;
  compareArchive(file: string, onProgress: OnCharges): Promise<ArchiveComparison>;
}

/** What is read of archives besides their {@link BackgroundWork}. */
export type ArchiveSource = Pick<LedgerScan, 'archives' | 'carriesAfter' | 'hasCarriedCharges'>;

export interface ArchiveTables {
  /**
   * Keeps other processes from archiving, until it is released or this process ends.
   *
   * @returns a function that releases the lock; `undefined` if another process has it.
   */
  lock(): Promise<(() => Promise<void>) | undefined>;
  readonly source: ArchiveSource;
  /**
   * Deletes the charges of these ranges in one transaction. The database refuses to delete charges
   * that no archive carries.
   *
   * @returns how many charges it deleted
   */
  deleteCharges(ranges: readonly SeqRange[]): Promise<number>;
}

/** A range of an account's entries; both ends belong to it. */
export interface SeqRange {
  readonly accountId: string;
  readonly from: bigint;
  readonly to: bigint;
}
