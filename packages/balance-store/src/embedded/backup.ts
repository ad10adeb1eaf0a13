/** Copies a ledger while it is in use. */

import { closeSync, existsSync, openSync, renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { LedgerFileError } from '../errors.js';
import { newMark } from './files/generation.js';
import { ledgerFile } from './open.js';
import { DatabaseSync } from './sqlite/node-sqlite.js';
import { syncToDisk } from '../ledger/base/sync-to-disk.js';

export interface LedgerBackup {
  readonly dataDir: string;
  /** The file to write. Must not exist. */
  readonly to: string;
  /** Called with the finished part of the work, 0 at the beginning and 1 at the end. */
  readonly onProgress?: (done: number) => void;
}

/**
 * Writes one file with the state of the ledger at the moment of the call. The gateway continues to
 * charge meanwhile, but this process can do no other work. The file has none of the texts that
 * were erased before, because its unused parts are empty. To restore it, stop the gateway, remove
 * `ledger.db-wal` and `ledger.db-shm`, and copy the file over `ledger.db`.
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
  onProgress?.(0);
  // Lets the caller show it.
  await setImmediate();
  const source = new DatabaseSync(file, { readOnly: true });
  try {
    // Reads from a snapshot, and writes only what the ledger contains: a copy of the pages would
    // also have what their unused parts contain, such as erased texts.
    source.prepare('VACUUM INTO ?').run(unfinished);
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
