/** The balance store on PostgreSQL: any number of processes may share one database. */

import type { Pool, PoolConfig } from 'pg';
import { assertDuration } from '../ledger/rules/argument-checks.js';
import type { BackgroundOperations } from '../ledger/database/background-work.js';
import { createBalanceStore } from '../ledger/store/balance-store.js';
import { assertPepperFits, assertPeppers, pepperIdsOf } from '../ledger/rules/pepper.js';
import type { PepperUse } from '../ledger/rules/pepper.js';
import { BACKGROUND_LIMITS } from '../ledger/threads/background-thread.js';
import { builtFile } from '../ledger/threads/built-file.js';
import { createThread } from '../ledger/threads/thread-client.js';
import type { BalanceStore } from '../store.js';
import type { BackgroundThreadData } from './background-thread.js';
import { assertServerFits, openSessions } from './charging.js';
import { assertMigrated, migrate } from './migrate.js';
import { nameSearchRemark } from './name-search.js';
import { createPostgresDatabase } from './postgres-database.js';
import { WRITE_TIMEOUT_MS, openPool, queryRows, reachingDatabase } from './query.js';

export interface PostgresStoreOptions {
  /** `postgres://user:password@host:port/database`, or any form that `pg` reads. */
  readonly connectionString: string;
  /** The secret that credentials are hashed with. The database lacks it; all replicas share it. */
  readonly pepper: string;
  /**
   * The secret that `pepper` replaces. A credential that is stored under it still finds its key,
   * and is stored under `pepper` from then on.
   */
  readonly previousPepper?: string | undefined;
  /**
   * Sizes of the two connection pools: 6 for requests and 2 for operators when absent. At least 2
   * for operators, because an archive keeps one connection while it reads with another.
   */
  readonly poolSizes?: { readonly hot?: number; readonly admin?: number };
  /**
   * How long a hold lives after its last renewal if its process dies: at most 2^31-1, and 5 minutes
   * when absent.
   */
  readonly holdLifetimeMs?: number;
  /**
   * Whether to apply missing migrations, and to check that the server can keep a ledger and that
   * charges can be recorded; true when absent. False for a process that only reads, which may use a
   * standby.
   */
  readonly migrate?: boolean;
  /**
   * For a process that serves requests: opens all connections for them at once, keeps them open,
   * and checks twice a second that charges can be recorded, on a connection of its own.
   */
  readonly serving?: boolean;
}

const BACKGROUND_FILE = builtFile('postgres/background-thread', import.meta.url);
/** After this time without a call, the thread ends: it is seldom needed. */
const BACKGROUND_IDLE_MS = 10_000;
const MIN_ADMIN_CONNECTIONS = 2;
/** Timeout of operators' queries that set none of their own: those of Prisma, and migrations. */
const ADMIN_TIMEOUT_MS = 30_000;
/** How many batches of settlements may be in flight at once. */
const BATCHES_IN_FLIGHT = 2;

/**
 * Opens the store. Applies missing migrations first, safely from several processes at once.
 *
 * @throws {StoreUnavailableError} when the database cannot be reached, or records no charge now.
 * @throws {SchemaTooNewError} when a newer version has migrated it.
 * @throws {SchemaTooOldError} when a migration is missing and `migrate` is false.
 * @throws {SchemaMismatchError} when a migration failed earlier, or differs from this version's.
 * @throws {PepperMismatchError} when all its keys were issued under other peppers.
 * @throws {DatabaseUnsuitableError} when the server cannot keep a ledger, or the role may not
 * create its tables.
 * @throws {RangeError} when the pool for operators is too small, or `holdLifetimeMs` is not above 0
 * or longer than a timer can be.
 */
export async function openPostgresStore(options: PostgresStoreOptions): Promise<BalanceStore> {
  const { connectionString, pepper, previousPepper, poolSizes, holdLifetimeMs, serving } = options;
  const peppers = { pepper, previousPepper };
  assertPeppers(peppers);
  assertDuration('holdLifetimeMs', holdLifetimeMs);
  const adminConnections = poolSizes?.admin ?? MIN_ADMIN_CONNECTIONS;
  if (adminConnections < MIN_ADMIN_CONNECTIONS) {
    throw new RangeError(`poolSizes.admin: must be at least ${String(MIN_ADMIN_CONNECTIONS)}`);
  }
  const common: PoolConfig = {
    connectionString,
    idleTimeoutMillis: 60_000,
    application_name: 'gateway-balance-store',
  };
  // Two pools, so that a request never waits for the connection of an audit or of a ledger page.
  const hotConnections = poolSizes?.hot ?? 6;
  const hot = openPool({
    ...common,
    min: serving === true ? hotConnections : 0,
    max: hotConnections,
  });
  const admin = openPool({
    ...common,
    max: adminConnections,
    query_timeout: ADMIN_TIMEOUT_MS,
  });
  const watch = openPool({ ...common, max: 2 });
  const record = openPool({ ...common, max: 1 });
  const charges = options.migrate !== false;
  const background = createThread<BackgroundOperations>(
    { file: BACKGROUND_FILE, data: { connectionString } satisfies BackgroundThreadData },
    { idleTimeoutMs: BACKGROUND_IDLE_MS, limits: BACKGROUND_LIMITS },
  );
  const database = createPostgresDatabase({ hot, admin, watch, record, background });
  try {
    await reachingDatabase(async () => {
      if (charges) await assertServerFits(watch);
      await (charges ? migrate(admin) : assertMigrated(admin));
      assertPepperFits(await readPepperUse(admin, pepperIdsOf(peppers)));
    });
    if (charges) {
      await database.charging.probe();
      // Prisma's first query compiles its WebAssembly and its own code, for 0.1 s. Later, this
      // would delay all requests.
      await database.entries.list({ limit: 1 }, undefined);
      if (serving === true) await openSessions(hot);
    }
  } catch (error) {
    await database.close();
    throw error;
  }
  return createBalanceStore({
    database,
    peppers,
    maxInFlight: BATCHES_IN_FLIGHT,
    holdLifetimeMs,
    serving,
  });
}

/**
 * Checks, without a ledger, that a server can keep one.
 *
 * @returns sentences about what will work less well on it than on others
 * @throws {DatabaseUnsuitableError} when it cannot.
 * @throws {StoreUnavailableError} when it cannot be reached.
 */
export async function checkPostgresServer(connectionString: string): Promise<readonly string[]> {
  const pool = openPool({ connectionString, max: 2 });
  try {
    return await reachingDatabase(async () => {
      await assertServerFits(pool);
      const remark = await nameSearchRemark(pool);
      return remark === undefined ? [] : [remark];
    });
  } finally {
    await pool.end();
  }
}

async function readPepperUse(pool: Pool, pepperIds: readonly string[]): Promise<PepperUse> {
  const [found] = await queryRows<{ hasKeys: boolean; hasKeysOfPeppers: boolean }>(pool, {
    text:
      'SELECT EXISTS (SELECT FROM api_key) AS "hasKeys", ' +
      'EXISTS (SELECT FROM api_key WHERE pepper_id = ANY($1)) AS "hasKeysOfPeppers"',
    values: [pepperIds],
    timeoutMs: WRITE_TIMEOUT_MS,
  });
  return found ?? { hasKeys: false, hasKeysOfPeppers: false };
}
