/**
 * Brings a PostgreSQL database to this version's schema: its migrations, then its functions and the
 * view of keys.
 *
 * For migrations it uses the folders, the table and the advisory lock of Prisma's migrator.
 * Operators may therefore run `prisma migrate deploy` first; functions and view are applied when
 * the store opens.
 */

import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { Pool, PoolClient } from 'pg';
import { DatabaseUnsuitableError, SchemaMismatchError, SchemaTooOldError } from '../errors.js';
import { assertNoneMissing, missingMigrations, readSqlFiles } from '../ledger/tables/migrations.js';
import type { AppliedMigration, Migration } from '../ledger/tables/migrations.js';
import { renamedMigrations } from '../ledger/tables/renamed-migrations.js';
import type { RenamedMigration } from '../ledger/tables/renamed-migrations.js';
import { ADVISORY_LOCKS } from './advisory-locks.js';
import { applyFunctions, readChangedFunctions } from './functions.js';
import { KEY_VIEW } from './key-view.js';

/**
 * Applies the missing migrations and the changed functions. Several processes may call it at once.
 *
 * @throws {SchemaTooNewError} when the database has a migration that this version does not know.
 * @throws {SchemaMismatchError} when a migration differs from this version's, is missing before an
 *   applied one, or was left unfinished by another program and cannot be applied.
 */
export async function migrate(pool: Pool): Promise<void> {
  const client = await pool.connect();
  try {
    // Usually nothing is missing: then no lock is taken, and no right to change the schema is
    // needed.
    const { missing, renamed } = await readHistory(client);
    const changed = await readChangedFunctions(client);
    if (missing.length + renamed.length + changed.length > 0) {
      await client.query('SELECT pg_advisory_lock($1)', [ADVISORY_LOCKS.migration]);
      await client.query(CREATE_HISTORY);
      const history = await readHistory(client);
      for (const names of history.renamed) await rename(client, names);
      for (const migration of history.missing) {
        await apply(client, migration, history.unfinished.has(migration.name));
      }
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
 * @throws {SchemaTooOldError} when a migration is missing or unfinished, or a function or the view
 *   of keys has another text.
 * @throws {SchemaTooNewError} when a newer version has migrated the database.
 * @throws {SchemaMismatchError} when a migration differs from this version's, or is missing before
 *   an applied one.
 */
export async function assertMigrated(pool: Pool): Promise<void> {
  const client = await pool.connect();
  try {
    assertNoneMissing((await readHistory(client)).missing);
    const [changed] = await readChangedFunctions(client);
    if (changed !== undefined) {
      const kind = changed.name === KEY_VIEW ? 'view' : 'function';
      throw new SchemaTooOldError(
        `the database has another text of the ${kind} ${changed.name}: open the ledger once ` +
          'with a role that may change it',
      );
    }
  } finally {
    client.release();
  }
}

interface History {
  readonly missing: readonly Migration[];
  readonly renamed: readonly RenamedMigration[];
  /**
   * The missing ones that another program, such as Prisma's migrator, began. `apply` leaves none,
   * because it records a migration in the transaction that applies it.
   */
  readonly unfinished: ReadonlySet<string>;
}

async function readHistory(client: PoolClient): Promise<History> {
  const migrations = readSqlFiles('prisma/migrations', (name) => join(name, 'migration.sql'));
  const rows = await readApplied(client);
  const applied = rows.filter(({ is_finished }) => is_finished);
  const unfinished = rows.filter(({ is_finished }) => !is_finished);
  return {
    missing: missingMigrations(migrations, applied),
    renamed: renamedMigrations(applied),
    unfinished: new Set(unfinished.map(({ name }) => name)),
  };
}

interface HistoryRow extends AppliedMigration {
  readonly is_finished: boolean;
}

async function readApplied(client: PoolClient): Promise<readonly HistoryRow[]> {
  const { rows: found } = await client.query<{ exists: boolean }>(
    "SELECT to_regclass('_prisma_migrations') IS NOT NULL AS exists",
  );
  if (found[0]?.exists !== true) return [];
  const { rows } = await client.query<HistoryRow>(
    'SELECT migration_name AS name, checksum, finished_at IS NOT NULL AS is_finished ' +
      'FROM _prisma_migrations WHERE rolled_back_at IS NULL ORDER BY migration_name',
  );
  return rows;
}

/**
 * Applies and records a migration in one transaction, so that both happen or neither does. One that
 * is unfinished is tried again: whoever began it has failed, or it would hold the lock, and
 * PostgreSQL undoes a script that fails.
 */
async function apply(
  client: PoolClient,
  { name, sql, checksum }: Migration,
  isUnfinished: boolean,
): Promise<void> {
  await client.query('BEGIN');
  try {
    await client.query(sql);
  } catch (error) {
    if (!isUnfinished || !(error instanceof Error) || lacksRight(error) !== undefined) throw error;
    throw new SchemaMismatchError(
      `migration ${name} was begun by another program, which did not finish it, and cannot be ` +
        `applied again (${error.message}): restore the backup of the database from before it`,
      { cause: error },
    );
  }
  if (isUnfinished) await giveUpUnfinished(client, name);
  await client.query(
    'INSERT INTO _prisma_migrations (id, checksum, finished_at, migration_name, logs, ' +
      'rolled_back_at, started_at, applied_steps_count) ' +
      'VALUES ($1, $2, clock_timestamp(), $3, NULL, NULL, now(), 1)',
    [randomUUID(), checksum, name],
  );
  await client.query('COMMIT');
}

/** Prisma's migrator may have begun a renamed migration again under its present name. */
async function rename(client: PoolClient, { from, to }: RenamedMigration): Promise<void> {
  await client.query('BEGIN');
  await giveUpUnfinished(client, to);
  await client.query(
    'UPDATE _prisma_migrations SET migration_name = $2 WHERE migration_name = $1',
    [from, to],
  );
  await client.query('COMMIT');
}

async function giveUpUnfinished(client: PoolClient, name: string): Promise<void> {
  await client.query(
    'UPDATE _prisma_migrations SET rolled_back_at = now() ' +
      'WHERE migration_name = $1 AND finished_at IS NULL AND rolled_back_at IS NULL',
    [name],
  );
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
