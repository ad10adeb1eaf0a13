/**
 * What a database does for a balance store. Everything else, from group commit to the audit, is
 * written once above this interface.
 *
 * Unless a method says otherwise, it throws `StoreUnavailableError` when the database does not
 * answer.
 */

import type { AuditOptions, AuditReport, SealHead } from '../audit.js';
import type { Hold, HoldOutcome, HoldRecord, HoldState } from '../hold.js';
import type { KeyLimits, KeyRecord, KeyState } from '../key.js';
import type { EntryFilter, LedgerEntry } from '../ledger-entry.js';
import type { LedgerSummary, QuarantinedUsage, Standing, TopUp, TopUpOutcome } from '../store.js';
import type { SettleDriver } from './committer.js';
import type { EntryPosition } from './entry-cursor.js';

export interface LedgerDatabase {
  readonly keys: KeyTable;
  readonly holds: HoldTable;
  readonly entries: EntryTable;
  readonly seals: SealTable;
  readonly settling: SettleDriver;

  /** Reads a key's standing from committed rows. Never cached. */
  readStanding(keyId: string): Promise<Standing>;
  /** @param topUp.amount - Above zero. */
  topUp(topUp: TopUp): Promise<TopUpOutcome>;
  quarantine(usage: QuarantinedUsage): Promise<void>;
  summarize(): Promise<LedgerSummary>;
  audit(options: AuditOptions): Promise<AuditReport>;
  ping(): Promise<void>;
  close(): Promise<void>;
}

export interface NewKeyRow {
  readonly id: string;
  readonly name: string;
  readonly hint: string;
  readonly credentialHmac: Uint8Array<ArrayBuffer>;
  readonly pepperId: string;
  readonly expiresAt: Date | null;
  readonly limits: KeyLimits;
}

export interface KeyChange extends Partial<KeyLimits> {
  readonly state?: KeyState;
  readonly name?: string;
  readonly expiresAt?: Date | null;
}

export interface KeyTable {
  insert(row: NewKeyRow): Promise<void>;
  /** @param onlyInState - Changes nothing if the key is in another state. */
  update(keyId: string, change: KeyChange, onlyInState?: KeyState): Promise<void>;
  get(keyId: string): Promise<KeyRecord | undefined>;
  /** Newest first. */
  list(page: { readonly limit: number; readonly after?: string }): Promise<readonly KeyRecord[]>;
  find(credentialHmac: Buffer): Promise<KeyRecord | undefined>;
}

export interface HoldTable {
  /** Returns one outcome per hold, in the given order. */
  place(holds: readonly Hold[], lifetimeMs: number): Promise<readonly HoldOutcome[]>;
  /** Extends live holds, and makes orphans of those that have expired. */
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
   * Newest first: by number the entries of one key, by time and id those of all keys.
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
  /** Pages of keys: all, or only those with entries since two minutes before the last block. */
  keyIds(which: 'all' | 'changed'): AsyncIterable<readonly string[]>;
  /**
   * Seals at most `maxEntries` entries of these keys as the next block.
   *
   * @returns how many; 0 also while another process is sealing.
   */
  sealBlock(keyIds: readonly string[], maxEntries: number): Promise<number>;
}
