/**
 * The thread in which the work that reads a whole ledger in PostgreSQL runs, on connections of its
 * own.
 */

import { workerData } from 'node:worker_threads';
import { Pool } from 'pg';
import { LedgerArchiveError } from '../errors.js';
import { createBackgroundOperations } from '../ledger/background-work.js';
import { yieldToOtherThreads } from '../ledger/threads/background-thread.js';
import type { Fault, StartedThreadData } from '../ledger/threads/messages.js';
import { serveThread } from '../ledger/threads/serve-thread.js';
import { StoreUnavailableError } from '../store.js';
import { createAuditSource } from './audit/source.js';
import { CONNECT_TIMEOUT_MS } from './query.js';

export interface BackgroundThreadData {
  readonly connectionString: string;
}

const { connectionString, port } = workerData as BackgroundThreadData & StartedThreadData;
yieldToOtherThreads();
const pool = new Pool({
  connectionString,
  max: 2,
  connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
  keepAlive: true,
  application_name: 'gateway-ledger-background',
});
pool.on('error', () => undefined);
pool.on('connect', (client) => client.on('error', () => undefined));

serveThread({
  port,
  operations: createBackgroundOperations(createAuditSource(pool)),
  faultOf,
  // Ends this thread, with the work in progress and its connections.
  onStop: () => process.exit(),
});

function faultOf(error: unknown): Fault {
  if (error instanceof StoreUnavailableError) return 'unavailable';
  if (error instanceof LedgerArchiveError) return 'archive';
  return error instanceof RangeError ? 'refused' : 'mistake';
}
