/**
 * A lock that lets only one process make an archive at a time. The operating system frees it when
 * the process ends.
 */

import { join } from 'node:path';
import { isBusy } from '../sqlite/faults.js';
import { DatabaseSync } from '../sqlite/node-sqlite.js';

/** @returns a function that releases the lock; `undefined` if another process has it. */
export function takeArchiveLock(dataDir: string): (() => Promise<void>) | undefined {
  const database = new DatabaseSync(join(dataDir, 'archive.lock'));
  try {
    database.exec('PRAGMA busy_timeout = 0; BEGIN EXCLUSIVE');
  } catch (error) {
    database.close();
    if (!isBusy(error)) throw error;
    return undefined;
  }
  return () => {
    database.close();
    return Promise.resolve();
  };
}
