/**
 * The file of the record of requests. It lies beside the ledger, with a thread of its own, so that
 * no charge waits for it and a backup of the ledger stays small. Losing it loses no money: the
 * gateway then begins a new one.
 */

import { closeSync, existsSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { rewriteErased } from './erasure.js';
import { openWriter } from '../sqlite/connection.js';
import type { Connection, WriterOptions } from '../sqlite/connection.js';
import { migrate } from '../sqlite/migrate.js';

export function requestsFile(dataDir: string): string {
  return join(dataDir, 'requests.db');
}

export function openRequests(file: string, options: WriterOptions): Connection {
  makePrivate(file);
  const connection = openWriter(file, options);
  try {
    // A power cut may lose the requests of the last seconds, but cannot damage the file.
    connection.exec('PRAGMA synchronous = NORMAL; PRAGMA cache_size = -4096');
    migrate(connection, 'sqlite/requests');
    if (options.checkpoints) rewriteErased(connection, file);
    return connection;
  } catch (error) {
    connection.close();
    throw error;
  }
}

/**
 * SQLite gives the log the permissions of the file, but would create the file readable by
 * everybody.
 */
export function makePrivate(file: string): void {
  if (!existsSync(file)) closeSync(openSync(file, 'a', 0o600));
}
