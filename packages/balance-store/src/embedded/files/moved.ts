/** The mark on a directory whose ledger was moved to PostgreSQL. */

import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { LedgerMovedError } from '../../errors.js';
import { syncToDisk } from '../../ledger/base/sync-to-disk.js';

const MARK = 'moved-to-postgresql';

/** The mark is on disk when it returns. */
export function markAsMoved(dataDir: string): void {
  const mark = join(dataDir, MARK);
  writeFileSync(
    mark,
    `This ledger was moved to PostgreSQL on ${new Date().toISOString()}.\n` +
      'Charges are booked there. Keep this file: without it, the same balances could be spent twice.\n',
  );
  syncToDisk(mark);
  syncToDisk(dataDir);
}

/** @throws {LedgerMovedError} */
export function assertNotMoved(dataDir: string): void {
  if (!existsSync(join(dataDir, MARK))) return;
  throw new LedgerMovedError(
    `the ledger in ${dataDir} was moved to PostgreSQL: set DATABASE_URL to that database`,
  );
}
