/** The balance store on PostgreSQL: any number of processes may share one database. */

import { Pool } from 'pg';
import type { PoolConfig } from 'pg';
import { openDatabaseStore } from '../database/database-store.js';
import type { BalanceStore } from '../store.js';

export interface PostgresStoreOptions {
  /** `postgres://user:password@host:port/database`, or any form that `pg` reads. */
  readonly connectionString: string;
  /** Secret that credentials are hashed with. Not in the database; the same for all replicas. */
  readonly pepper: string;
  /** Sizes of the two connection pools: 6 for requests and 2 for operators when absent. */
  readonly poolSizes?: { readonly hot?: number; readonly admin?: number };
  /** How long a hold lives after its process has died; 5 minutes when absent. */
  readonly holdLifetimeMs?: number;
}

/** A database that does not accept a connection within this time is unavailable. */
const CONNECT_TIMEOUT_MS = 5_000;
/** Timeout of one query of an operator. Each page of an audit is one query. */
const ADMIN_TIMEOUT_MS = 30_000;

/**
 * Opens the store; applies missing migrations first, safely from several processes at once.
 *
 * @throws {StoreUnavailableError} when the database cannot be reached.
 * @throws {SchemaTooNewError} when a newer version has migrated it.
 * @throws {PepperMismatchError} when all its keys were issued under another pepper.
 */
export async function openPostgresStore(options: PostgresStoreOptions): Promise<BalanceStore> {
  const { connectionString, pepper, poolSizes, holdLifetimeMs } = options;
  const common: PoolConfig = {
    connectionString,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    idleTimeoutMillis: 60_000,
    keepAlive: true,
    application_name: 'gateway-balance-store',
  };
  // Two pools, so that a request never waits for the connection of an audit or of a ledger page.
  const hot = new Pool({ ...common, max: poolSizes?.hot ?? 6 });
  const admin = new Pool({
    ...common,
    max: poolSizes?.admin ?? 2,
    query_timeout: ADMIN_TIMEOUT_MS,
  });
  const closeDatabase = async () => {
    await Promise.all([hot.end(), admin.end()]);
  };
  try {
    return await openDatabaseStore({
      hot,
      admin,
      pepper,
      lanes: 2,
      holdLifetimeMs,
      closeDatabase,
    });
  } catch (error) {
    await closeDatabase();
    throw error;
  }
}
