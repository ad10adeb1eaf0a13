/**
 * Removes erased texts from the file of the ledger, or of the record of requests. What a statement
 * deletes is overwritten at once (`secure_delete`), but a page that SQLite split or joined may
 * still have an old copy of a row in its unused part, and so may pages that versions without
 * `secure_delete` freed. Only rewriting the whole file removes these. Charges would wait meanwhile,
 * so it is done when the file is closed, or opened the next time; that of requests also when nobody
 * used it for some seconds. A mark in the directory remembers it, also if the process is killed.
 */

import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { syncToDisk } from '../../ledger/base/sync-to-disk.js';
import type { Connection } from '../sqlite/connection.js';
import { isUnavailable } from '../sqlite/faults.js';

const SUFFIX = 'erased-texts-remain';

/** Its mark has the name that earlier versions gave it. */
const LEDGER = 'ledger.db';

/** A larger file is rewritten by way of a temporary file instead of memory. */
const MAX_BYTES_IN_MEMORY = 64 * 1024 * 1024;

/** Call it before an erasure begins. The mark is on disk when it returns. */
export function markErasure(file: string): void {
  const mark = markOf(file);
  if (existsSync(mark)) return;
  writeFileSync(
    mark,
    `Names, notes or requests were erased. The file ${basename(file)} may still have copies of them\n` +
      'in its unused parts, until the gateway has rewritten it: when it stops, or starts again.\n' +
      `This needs as much free space as three times ${basename(file)}.\n`,
    { mode: 0o600 },
  );
  syncToDisk(mark);
  syncToDisk(dirname(mark));
}

/**
 * Rewrites the file if there was an erasure since it was last rewritten. If it cannot be done now,
 * because the disk is full or another process reads the ledger, the mark stays. Only for the owner
 * of the ledger: see `WriterOptions`.
 */
export function rewriteErased(connection: Connection, file: string): void {
  const mark = markOf(file);
  if (!existsSync(mark)) return;
  try {
    const size = connection.get<{ readonly bytes: number }>(
      'SELECT page_count * page_size AS bytes FROM pragma_page_count, pragma_page_size',
    );
    const isLarge = (size?.bytes ?? 0) > MAX_BYTES_IN_MEMORY;
    // SQLite writes the new contents to its log first, so a kill at any moment leaves the ledger
    // as it was or as it will be.
    connection.exec(`PRAGMA temp_store = ${isLarge ? 'FILE' : 'MEMORY'}; VACUUM`);
    connection.exec('PRAGMA temp_store = MEMORY');
    const emptied = connection.get<{ readonly busy: number }>('PRAGMA wal_checkpoint(TRUNCATE)');
    if (emptied?.busy !== 0) return;
  } catch (error) {
    if (isUnavailable(error)) return;
    throw error;
  }
  rmSync(mark);
}

function markOf(file: string): string {
  const name = basename(file);
  return join(dirname(file), name === LEDGER ? SUFFIX : `${name}-${SUFFIX}`);
}
