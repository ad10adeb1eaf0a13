/**
 * Lets only one gateway own a ledger, because that gateway counts the limits and keeps the holds of
 * all keys of the ledger. The owner keeps a file locked while it runs. The operating system frees
 * the lock when the process ends, for any reason. Guests, such as the command line, use the ledger
 * without the lock: SQLite lets processes take turns.
 *
 * The lock's file also stores the marks by which the ledger's file of this directory is recognised
 * (see `generation.ts`).
 */

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { DatabaseSync as Database } from 'node:sqlite';
import { EmbeddedStoreLockedError } from '../../errors.js';
import { isBusy } from '../sqlite/faults.js';
import { DatabaseSync } from '../sqlite/node-sqlite.js';

export interface OwnerLock {
  readGenerations(): Generations | undefined;
  /** The generations are on disk when it returns. */
  writeGenerations(generations: Generations): void;
  release(): void;
}

/** The random marks that the ledger's file may have (see `generation.ts`). */
export interface Generations {
  readonly current: number;
  readonly former: number;
}

/** How long to wait for the lock. A guest that reads the marks locks the file for less time. */
const PATIENCE_MS = 250;

/** @throws {EmbeddedStoreLockedError} when another process has the lock. */
export function takeOwnership(dataDir: string): OwnerLock {
  const database = new DatabaseSync(lockFile(dataDir));
  try {
    // In this mode the lock of the first transaction is kept until the file is closed.
    database.exec(
      `PRAGMA busy_timeout = ${String(PATIENCE_MS)}; ` +
        'PRAGMA locking_mode = EXCLUSIVE; PRAGMA synchronous = FULL; ' +
        'BEGIN EXCLUSIVE; CREATE TABLE IF NOT EXISTS generation ' +
        '(id INTEGER PRIMARY KEY CHECK (id = 1), current INTEGER NOT NULL, former INTEGER NOT NULL) ' +
        'STRICT; COMMIT;',
    );
  } catch (error) {
    database.close();
    if (!isBusy(error)) throw error;
    throw new EmbeddedStoreLockedError(
      `the ledger in ${dataDir} is open in another gateway; stop that one, use another data ` +
        'directory, or let several gateways share a PostgreSQL database',
    );
  }
  return {
    readGenerations: () => readGenerations(database),
    writeGenerations({ current, former }) {
      database
        .prepare('INSERT OR REPLACE INTO generation (id, current, former) VALUES (1, ?, ?)')
        .run(current, former);
    },
    release() {
      database.close();
    },
  };
}

/**
 * Reads the marks for a guest. Returns `undefined` if there are none, or while there is an owner:
 * it has checked that the files belong together, so the guest need not.
 */
export function readGenerationsAsGuest(dataDir: string): Generations | undefined {
  const file = lockFile(dataDir);
  if (!existsSync(file)) return undefined;
  const database = new DatabaseSync(file, { readOnly: true });
  try {
    database.exec('PRAGMA busy_timeout = 0');
    // A first start that was killed at once leaves a file without the table.
    const table = database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'generation'").get();
    return table === undefined ? undefined : readGenerations(database);
  } catch (error) {
    if (isBusy(error)) return undefined;
    throw error;
  } finally {
    database.close();
  }
}

function readGenerations(database: Database): Generations | undefined {
  const row = database.prepare('SELECT current, former FROM generation').get();
  return row === undefined
    ? undefined
    : { current: Number(row['current']), former: Number(row['former']) };
}

function lockFile(dataDir: string): string {
  return join(dataDir, 'ledger.lock');
}
