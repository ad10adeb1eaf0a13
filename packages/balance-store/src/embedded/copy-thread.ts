/** The thread that copies an embedded ledger into PostgreSQL. */

import { workerData } from 'node:worker_threads';
import { Client } from 'pg';
import type { StartedThreadData } from '../ledger/threads/messages.js';
import { serveThread } from '../ledger/threads/serve-thread.js';
import { reachingDatabase } from '../postgres/query.js';
import { copyLedger } from './copy-ledger.js';
import { openReader } from './sqlite/connection.js';

export interface CopyThreadData {
  readonly file: string;
  readonly connectionString: string;
}

export interface CopyOperations {
  /** @returns the number of rows of each table */
  readonly copy: () => Promise<readonly (readonly [table: string, rows: number])[]>;
}

const { file, connectionString, port } = workerData as CopyThreadData & StartedThreadData;

serveThread({
  port,
  operations: { copy } satisfies CopyOperations,
  onStop: () => process.exit(),
});

async function copy() {
  const reader = openReader(file);
  try {
    const rows = await reachingDatabase(() =>
      inTransaction((client) => copyLedger(reader, client)),
    );
    return [...rows];
  } finally {
    reader.close();
  }
}

async function inTransaction<Result>(work: (client: Client) => Promise<Result>): Promise<Result> {
  const client = new Client({ connectionString, connectionTimeoutMillis: 5_000 });
  // Without a listener, a lost connection ends the process. The query that needs it also rejects.
  client.on('error', () => undefined);
  await client.connect();
  try {
    await client.query('BEGIN');
    // No gateway may write to the tables while they are compared.
    await client.query('LOCK TABLE account, api_key, trail IN SHARE ROW EXCLUSIVE MODE');
    const result = await work(client);
    await client.query('COMMIT');
    return result;
  } finally {
    await client.end();
  }
}
