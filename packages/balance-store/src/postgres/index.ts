/** The balance store on PostgreSQL: any number of processes may share one database. */

import { Pool } from 'pg';
import type { PoolConfig } from 'pg';
import { openDatabaseStore } from '../database/database-store.js';
import type { BalanceStore } from '../store.js';

export interface PostgresStoreOptions {
  /** `postgres://user:password@host:port/database`, or any form that `pg` reads. */
  readonly connectionString: string;
  /** Secret under which credentials are hashed. Not in the database; the same for all replicas. */
  readonly pepper: string;
  /** Connections at most; 6 for requests and 2 for operators when absent. */
  readonly poolSizes?: { readonly hot?: number; readonly admin?: number };
  /** How long a hold outlives its process; 5 minutes when absent. */
  readonly holdLifetimeMs?: number;
}

/** A database that does not take a connection in this time is unavailable. */
const CONNECT_TIMEOUT_MS = 2_000;
/** The bound of any one query of an operator: also of each page of an audit. */
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
  // Apart, so that neither an audit nor a page of a long ledger makes a request wait.
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
