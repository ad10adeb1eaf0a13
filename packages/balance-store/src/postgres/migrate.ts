/**
 * Brings a database to this version's schema when a store opens.
 *
 * Uses the folders, the table and the advisory lock of Prisma's migrator. Operators may therefore
 * run `prisma migrate deploy` instead; after one of the two, the other has nothing to do.
 */

import { createHash, randomUUID } from 'node:crypto';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Pool, PoolClient } from 'pg';
import { SchemaMismatchError, SchemaTooNewError } from '../errors.js';

interface Migration {
  readonly name: string;
  readonly sql: string;
  readonly checksum: string;
}

/** The advisory lock that Prisma's own migrator takes. */
const MIGRATION_LOCK = 72_707_369;

/**
 * Applies the missing migrations. Several processes may call it at once.
 *
 * @throws {SchemaTooNewError} when the database has a migration that this version does not know.
 * @throws {SchemaMismatchError} when a migration failed earlier or differs from this version's.
 */
export async function migrate(pool: Pool): Promise<void> {
  const migrations = readMigrations();
  const client = await pool.connect();
  try {
    // Usually nothing is missing: then no lock is taken, and no right to change the schema is
    // needed.
    if (missing(migrations, await readApplied(client)).length > 0) {
      await client.query('SELECT pg_advisory_lock($1)', [MIGRATION_LOCK]);
      await client.query(CREATE_HISTORY);
      for (const migration of missing(migrations, await readApplied(client))) {
        await apply(client, migration);
      }
      await client.query('SELECT pg_advisory_unlock($1)', [MIGRATION_LOCK]);
    }
    client.release();
  } catch (error) {
    // Closing the connection releases the lock and rolls back the open transaction.
    client.release(true);
    throw error;
  }
}

interface AppliedMigration {
  readonly migration_name: string;
  readonly checksum: string;
  readonly is_finished: boolean;
}

async function readApplied(client: PoolClient): Promise<readonly AppliedMigration[]> {
  const { rows: found } = await client.query<{ exists: boolean }>(
    "SELECT to_regclass('_prisma_migrations') IS NOT NULL AS exists",
  );
  if (found[0]?.exists !== true) return [];
  const { rows } = await client.query<AppliedMigration>(
    'SELECT migration_name, checksum, finished_at IS NOT NULL AS is_finished ' +
      'FROM _prisma_migrations WHERE rolled_back_at IS NULL ORDER BY migration_name',
  );
  return rows;
}

function missing(
  migrations: readonly Migration[],
  applied: readonly AppliedMigration[],
): readonly Migration[] {
  const known = new Map(migrations.map((migration) => [migration.name, migration]));
  const later = applied.find((migration) => !known.has(migration.migration_name));
  if (later !== undefined) {
    throw new SchemaTooNewError(
      `the database has migration ${later.migration_name}, which this version does not know: a newer ` +
        'version applied it. Start that version or a newer one',
    );
  }
  for (const { migration_name: name, checksum, is_finished } of applied) {
    if (!is_finished) {
      throw new SchemaMismatchError(
        `migration ${name} failed earlier: resolve it with "prisma migrate resolve"`,
      );
    }
    if (known.get(name)?.checksum !== checksum) {
      throw new SchemaMismatchError(
        `migration ${name} differs from the one that was applied to this database`,
      );
    }
  }
  const names = new Set(applied.map((migration) => migration.migration_name));
  return migrations.filter((migration) => !names.has(migration.name));
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

function readMigrations(): readonly Migration[] {
  const folder = migrationsFolder();
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
    .sort()
    .map((name) => {
      const sql = readFileSync(join(folder, name, 'migration.sql'), 'utf8');
      return { name, sql, checksum: createHash('sha256').update(sql).digest('hex') };
    });
}

/** Searches upwards for the package's root: how far above this file it is depends on the build. */
function migrationsFolder(): string {
  let directory = dirname(fileURLToPath(import.meta.url));
  for (;;) {
    const folder = join(directory, 'prisma', 'migrations');
    if (existsSync(folder)) return folder;
    const parent = dirname(directory);
    if (parent === directory) throw new SchemaMismatchError('the package lacks its migrations');
    directory = parent;
  }
}
