/** The write-ahead log, which grows until its pages are copied into the file. */

import { statSync } from 'node:fs';
import type { Connection } from './connection.js';

/** The owner's own charges make the log this large only during a long read, such as a backup. */
const LARGE_BYTES = 64 * 1024 * 1024;

/**
 * Whether the log should be emptied now, because guests (see `open.ts`) have written much. SQLite
 * itself empties it only when the owner commits, and an idle gateway does not commit.
 */
export function isLogLarge(file: string): boolean {
  return (statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0) > LARGE_BYTES;
}

/**
 * Copies the log into the file and empties it, unless another connection is reading or writing at
 * this moment. Only for the owner of the ledger: see `WriterOptions`.
 */
export function emptyLog(connection: Connection): void {
  connection.withoutPatience(() => {
    connection.get('PRAGMA wal_checkpoint(TRUNCATE)');
  });
}
