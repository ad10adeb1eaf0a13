/** The mark on a directory whose ledger was moved to PostgreSQL. */

import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { LedgerMovedError } from '../errors.js';

const MARK = 'moved-to-postgresql';

export async function markAsMoved(dataDir: string): Promise<void> {
  await writeFile(
    join(dataDir, MARK),
    `This ledger was moved to PostgreSQL on ${new Date().toISOString()}.\n` +
      'Charges are booked there. Keep this file: without it, the same balances could be spent twice.\n',
  );
}

export function assertNotMoved(dataDir: string): void {
  if (!existsSync(join(dataDir, MARK))) return;
  throw new LedgerMovedError(
    `the ledger in ${dataDir} was moved to PostgreSQL: set DATABASE_URL to that database`,
  );
}
