/**
 * Brings a PostgreSQL database to this version's schema: its migrations, then its functions.
 *
 * For migrations it uses the folders, the table and the advisory lock of Prisma's migrator.
 * Operators may therefore run `prisma migrate deploy` first; the functions are applied when the
 * store opens.
 */

import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { Pool, PoolClient } from 'pg';
import { DatabaseUnsuitableError, SchemaMismatchError, SchemaTooOldError } from '../errors.js';
import { assertNoneMissing, missingMigrations, readSqlFiles } from '../ledger/migrations.js';
import type { AppliedMigration, Migration } from '../ledger/migrations.js';
import { ADVISORY_LOCKS } from './advisory-locks.js';
import { applyFunctions, readChangedFunctions } from './functions.js';

/**
 * Applies the missing migrations and the changed functions. Several processes may call it at once.
 *
 * @throws {SchemaTooNewError} when the database has a migration that this version does not know.
 * @throws {SchemaMismatchError} when a migration failed earlier or differs from this version's.
 */
export async function migrate(pool: Pool): Promise<void> {
  const client = await pool.connect();
  try {
    // Usually nothing is missing: then no lock is taken, and no right to change the schema is
    // needed.
    if ((await readMissing(client)).length > 0 || (await readChangedFunctions(client)).length > 0) {
      await client.query('SELECT pg_advisory_lock($1)', [ADVISORY_LOCKS.migration]);
      await client.query(CREATE_HISTORY);
      for (const migration of await readMissing(client)) await apply(client, migration);
      await applyFunctions(client, await readChangedFunctions(client));
      await client.query('SELECT pg_advisory_unlock($1)', [ADVISORY_LOCKS.migration]);
    }
    client.release();
  } catch (error) {
    // Closing the connection releases the lock and rolls back the open transaction.
    client.release(true);
    throw lacksRight(error) ?? error;
  }
}

/** PostgreSQL's code for a right that the role does not have. */
const INSUFFICIENT_PRIVILEGE = '42501';

function lacksRight(error: unknown): DatabaseUnsuitableError | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined;
  if (error.code !== INSUFFICIENT_PRIVILEGE) return undefined;
  return new DatabaseUnsuitableError(
    `the role of DATABASE_URL lacks a right to migrate the ledger (${error.message}): let it own the ` +
      'database or its schema',
    { cause: error },
  );
}

/**
 * @throws {SchemaTooOldError} when a migration is missing or a function has another text.
 * @throws {SchemaTooNewError} when a newer version has migrated the database.
 * @throws {SchemaMismatchError} when a migration failed earlier, or differs from this version's.
 */
export async function assertMigrated(pool: Pool): Promise<void> {
  const client = await pool.connect();
  try {
    assertNoneMissing(await readMissing(client));
    const [changed] = await readChangedFunctions(client);
    if (changed !== undefined) {
      throw new SchemaTooOldError(
        `the database has another text of the function ${changed.name}: open the ledger once ` +
          'with a role that may change it',
      );
    }
  } finally {
    client.release();
  }
}

async function readMissing(client: PoolClient): Promise<readonly Migration[]> {
  const migrations = readSqlFiles('prisma/migrations', (name) => join(name, 'migration.sql'));
  return missingMigrations(migrations, await readApplied(client));
}

async function readApplied(client: PoolClient): Promise<readonly AppliedMigration[]> {
  const { rows: found } = await client.query<{ exists: boolean }>(
    "SELECT to_regclass('_prisma_migrations') IS NOT NULL AS exists",
  );
  if (found[0]?.exists !== true) return [];
  const { rows } = await client.query<AppliedMigration & { readonly is_finished: boolean }>(
    'SELECT migration_name AS name, checksum, finished_at IS NOT NULL AS is_finished ' +
      'FROM _prisma_migrations WHERE rolled_back_at IS NULL ORDER BY migration_name',
  );
  const unfinished = rows.find(({ is_finished }) => !is_finished);
  if (unfinished !== undefined) {
    throw new SchemaMismatchError(
      `migration ${unfinished.name} failed earlier: resolve it with "prisma migrate resolve"`,
    );
  }
  return rows;
}

/** Applies and records a migration in one transaction, so that both happen or neither does. */
async function apply(client: PoolClient, { name, sql, checksum }: Migration): Promise<void> {
  await client.query('BEGIN');
  await client.query(sql);
  await client.query(
    'INSERT INTO _prisma_migrations (id, checksum, finished_at, migration_name, logs, ' +
      'rolled_back_at, started_at, applied_steps_count) ' +
      'VALUES ($1, $2, clock_timestamp(), $3, NULL, NULL, now(), 1)',
    [randomUUID(), checksum, name],
  );
  await client.query('COMMIT');
}

/** Prisma's own table of applied migrations. */
const CREATE_HISTORY = `CREATE TABLE IF NOT EXISTS _prisma_migrations (
  id VARCHAR(36) PRIMARY KEY NOT NULL,
  checksum VARCHAR(64) NOT NULL,
  finished_at TIMESTAMPTZ,
  migration_name VARCHAR(255) NOT NULL,
  logs TEXT,
  rolled_back_at TIMESTAMPTZ,
  started_at TIMESTAMPTZ NOT NULL DEFAULT now(),
  applied_steps_count INTEGER NOT NULL DEFAULT 0
)`;
