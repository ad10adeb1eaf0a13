/** The thread in which an audit of a ledger in PostgreSQL runs, on a connection of its own. */

import { parentPort, workerData } from 'node:worker_threads';
import { Pool } from 'pg';
import type { AuditOptions } from '../audit.js';
import { auditLedger } from '../ledger/audit-ledger.js';
import { yieldToOtherThreads } from '../ledger/background-thread.js';
import { encode } from '../ledger/thread-codec.js';
import { StoreUnavailableError } from '../store.js';
import { createAuditSource } from './audit/source.js';
import { CONNECT_TIMEOUT_MS } from './query.js';

export interface AuditThreadData {
  readonly connectionString: string;
  readonly anchor: AuditOptions['anchor'];
}

/** The last message has a report, or says why the database was unavailable. */
export type AuditThreadMessage =
  | { readonly entries: number }
  | { /** An encoded `AuditReport`. */ readonly report: string }
  | { readonly unavailable: string };

const port = parentPort;
if (port === null) throw new Error('not started as a thread');
const post = (message: AuditThreadMessage) => {
  port.postMessage(message);
};
const { connectionString, anchor } = workerData as AuditThreadData;
yieldToOtherThreads();
const pool = new Pool({
  connectionString,
  max: 1,
  connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
  keepAlive: true,
  application_name: 'gateway-ledger-audit',
});
pool.on('error', () => undefined);
pool.on('connect', (client) => client.on('error', () => undefined));
async function run(): Promise<void> {
  try {
    const report = await auditLedger(createAuditSource(pool), { anchor, onProgress: post });
    post({ report: encode(report) });
  } catch (error) {
    if (!(error instanceof StoreUnavailableError)) throw error;
    post({ unavailable: error.message });
  } finally {
    await pool.end();
  }
}

// Any other error ends the thread with it, and the caller gets it.
void run();
