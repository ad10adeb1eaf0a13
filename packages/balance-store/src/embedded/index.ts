/**
 * The balance store without a server: SQLite, which is part of Node, in one file. Every
 * acknowledged charge is on disk: neither a killed process nor a power cut loses it.
 */

import type { BalanceStore } from '../store.js';
import { openEmbedded } from './open.js';
import type { EmbeddedStoreOptions } from './open.js';

export { backUpEmbeddedLedger } from './backup.js';
export type { LedgerBackup } from './backup.js';
export { moveEmbeddedLedger } from './move.js';
export type { LedgerMove, LedgerMoveReport } from './move.js';
export { ledgerFile } from './open.js';
export type { EmbeddedStoreOptions } from './open.js';
export { openEmbeddedReader } from './reader.js';
export type { EmbeddedReader, EmbeddedReaderOptions } from './reader.js';

/**
 * Opens the store, creating or migrating its file first.
 *
 * @throws {EmbeddedStoreLockedError} when another process owns the ledger.
 * @throws {LedgerFileError} when the file cannot be used.
 * @throws {StoreUnavailableError} when the file cannot be read or written now, or its disk is full.
 * @throws {SchemaTooNewError} when a newer version has migrated it.
 * @throws {SchemaTooOldError} when there is no ledger or a migration is missing, and `migrate` is
 * false. Nothing is created then.
 * @throws {SchemaMismatchError} when a migration differs from this version's.
 * @throws {LedgerMovedError} when the ledger was moved to PostgreSQL.
 * @throws {PepperMismatchError} when all of its keys were issued under other peppers.
 * @throws {RangeError} when `holdLifetimeMs` is not above 0 or longer than a timer can be.
 */
export function openEmbeddedStore(options: EmbeddedStoreOptions): Promise<BalanceStore> {
  return openEmbedded(options);
}
