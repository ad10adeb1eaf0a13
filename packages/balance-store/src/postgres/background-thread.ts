/**
 * The thread in which the work that reads a whole ledger in PostgreSQL runs, on connections of its
 * own.
 */

import { workerData } from 'node:worker_threads';
import { createBackgroundOperations } from '../ledger/database/background-work.js';
import { yieldToOtherThreads } from '../ledger/threads/background-thread.js';
import type { StartedThreadData } from '../ledger/threads/messages.js';
import { serveThread } from '../ledger/threads/serve-thread.js';
import { createAuditSource } from './audit/source.js';
import { openPool } from './query.js';

export interface BackgroundThreadData {
  readonly connectionString: string;
}

const { connectionString, port } = workerData as BackgroundThreadData & StartedThreadData;
yieldToOtherThreads();
const pool = openPool({
  connectionString,
  max: 2,
  application_name: 'gateway-ledger-background',
});

serveThread({
  port,
  operations: createBackgroundOperations(createAuditSource(pool)),
  // Ends this thread, with the work in progress and its connections.
  onStop: () => process.exit(),
});
