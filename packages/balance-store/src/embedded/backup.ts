/** Copies a ledger while it is in use. */

import { closeSync, existsSync, openSync, renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { LedgerFileError } from '../errors.js';
import { newMark } from './generation.js';
import { ledgerFile } from './open.js';
import { DatabaseSync, backup } from './sqlite/node-sqlite.js';
import { syncToDisk } from '../ledger/sync-to-disk.js';

export interface LedgerBackup {
  readonly dataDir: string;
  /** The file to write. Must not exist. */
  readonly to: string;
  /** Called from time to time with the finished part of the work, from 0 to 1. */
  readonly onProgress?: (done: number) => void;
}

/** Pages per step. Between two steps this process can do other work. */
const PAGES_PER_STEP = 2_000;

/**
 * Writes one file with the state of the ledger at the moment of the call. The gateway continues to
 * charge meanwhile. To restore the backup, stop the gateway, remove `ledger.db-wal` and
 * `ledger.db-shm`, and copy the file over `ledger.db`.
 *
 * @throws {LedgerFileError} when there is no ledger, the file to write exists, or the check of the
 * copy finds damage. If SQLite cannot read the ledger at all, its own error.
 */
export async function backUpEmbeddedLedger({
  dataDir,
  to,
  onProgress,
}: LedgerBackup): Promise<void> {
  const file = ledgerFile(dataDir);
  if (!existsSync(file)) throw new LedgerFileError(`there is no ledger in ${dataDir}`);
  if (existsSync(to)) throw new LedgerFileError(`${to} exists: a backup overwrites nothing`);
  const unfinished = `${to}.unfinished`;
  rmSync(unfinished, { force: true });
  // Only this user may read the file.
  closeSync(openSync(unfinished, 'wx', 0o600));
  const source = new DatabaseSync(file, { readOnly: true });
  try {
    // Reads from a snapshot. Without it, each charge would make the copy start again.
    source.exec('BEGIN');
    source.prepare('SELECT 1 FROM sqlite_schema').get();
    await backup(source, unfinished, {
      rate: PAGES_PER_STEP,
      progress: ({ totalPages, remainingPages }) => {
        onProgress?.((totalPages - remainingPages) / totalPages);
      },
    });
  } finally {
    source.close();
  }
  markAsCopy(unfinished);
  syncToDisk(unfinished);
  renameSync(unfinished, to);
  syncToDisk(dirname(to));
  onProgress?.(1);
}

/**
 * Gives the copy a random mark of its own (see `generation.ts`), turns off the write-ahead log, so
 * that it is a single file, and checks it for damage.
 */
function markAsCopy(file: string): void {
  const copy = new DatabaseSync(file);
  try {
    copy.exec(`PRAGMA journal_mode = DELETE; PRAGMA user_version = ${String(newMark())}`);
    const [damage] = copy.prepare('PRAGMA quick_check(1)').all();
    if (damage?.['quick_check'] !== 'ok') {
      throw new LedgerFileError(`the ledger is damaged: ${String(damage?.['quick_check'])}`);
    }
  } finally {
    copy.close();
  }
}
