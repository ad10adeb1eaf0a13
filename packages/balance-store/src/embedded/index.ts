/**
 * The balance store without a server: PGlite, which is PostgreSQL compiled to WebAssembly, in a
 * worker thread. One process at a time may have a directory open.
 *
 * It survives the process being killed. It never calls fsync, so a power cut may lose recent
 * charges.
 */

import type { BalanceStore } from '../store.js';
import { openEmbedded } from './open.js';
import type { EmbeddedStoreOptions } from './open.js';

export { moveEmbeddedLedger } from './move.js';
export type { LedgerMove, LedgerMoveReport } from './move.js';
export type { EmbeddedStoreOptions } from './open.js';

/**
 * Opens the store, creating or migrating its database first.
 *
 * @throws {EmbeddedStoreLockedError} when another live process has the directory open.
 * @throws {SchemaTooNewError} when a newer version has migrated it.
 * @throws {LedgerMovedError} when the ledger was moved to PostgreSQL.
 * @throws {PepperMismatchError} when all of its keys were issued under another pepper.
 */
export async function openEmbeddedStore(options: EmbeddedStoreOptions): Promise<BalanceStore> {
  return (await openEmbedded(options)).store;
}
