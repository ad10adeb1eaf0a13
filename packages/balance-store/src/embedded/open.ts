/** Opening an embedded store, with its pool for those who need more than the store. */

import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Pool } from 'pg';
import { openDatabaseStore } from '../database/database-store.js';
import type { BalanceStore } from '../store.js';
import { lockDirectory } from './directory-lock.js';
import { assertNotMoved } from './moved.js';
import { startPglite } from './pglite.js';

export interface EmbeddedStoreOptions {
  /** Created when missing. Belongs to the store alone. */
  readonly dataDir: string;
  /** Secret under which credentials are hashed. Keep it apart from the directory. */
  readonly pepper: string;
  /** How long a hold outlives its process; 5 minutes when absent. */
  readonly holdLifetimeMs?: number;
}

/** The first start compiles the engine and creates the database. */
const CONNECT_TIMEOUT_MS = 60_000;
const QUERY_TIMEOUT_MS = 30_000;

export async function openEmbedded({
  dataDir,
  pepper,
  holdLifetimeMs,
}: EmbeddedStoreOptions): Promise<{ readonly store: BalanceStore; readonly pool: Pool }> {
  await mkdir(dataDir, { recursive: true });
  assertNotMoved(dataDir);
  const lock = await lockDirectory(dataDir);
  const pglite = startPglite(join(dataDir, 'pglite'));
  // PGlite is a single session: one connection, whose queries take turns.
  const pool = new Pool({
    stream: pglite.connect,
    user: 'postgres',
    database: 'postgres',
    max: 1,
    idleTimeoutMillis: 0,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: QUERY_TIMEOUT_MS,
  });
  const closeDatabase = async () => {
    await pool.end();
    await pglite.stop();
    await lock.release();
  };
  try {
    const store = await openDatabaseStore({
      hot: pool,
      admin: pool,
      pepper,
      lanes: 1,
      holdLifetimeMs,
      closeDatabase,
    });
    return { store, pool };
  } catch (error) {
    await closeDatabase();
    throw error;
  }
}
