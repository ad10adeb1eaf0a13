/** Brings a ledger's file to this version's schema. */

import {
  assertNoneMissing,
  missingMigrations,
  readSqlFiles,
} from '../../ledger/tables/migrations.js';
import type { AppliedMigration, Migration } from '../../ledger/tables/migrations.js';
import { renamedMigrations } from '../../ledger/tables/renamed-migrations.js';
import { APPLICATION_ID } from './connection.js';
import type { Connection } from './connection.js';

/** The folder of the ledger's migrations in this package. */
const LEDGER = 'sqlite/migrations';

/**
 * Applies the missing migrations, all or none, and replaces earlier names of applied ones. Several
 * processes may call it at once.
 *
 * @param folder - Where the migrations of the file are; those of the ledger when absent.
 * @throws {SchemaTooNewError} when the file has a migration that this version does not know.
 * @throws {SchemaMismatchError} when a migration differs from this version's, or is missing before
 *   an applied one.
 */
export function migrate(connection: Connection, folder = LEDGER): void {
  // Usually nothing is missing, and the file need not be written.
  const isMissing = readMissing(connection, folder).length > 0;
  if (!isMissing && renamedMigrations(readApplied(connection)).length === 0) return;
  connection.write(() => {
    connection.exec(`PRAGMA application_id = ${String(APPLICATION_ID)}; ${CREATE_HISTORY}`);
    const missing = readMissing(connection, folder);
    for (const { from, to } of renamedMigrations(readApplied(connection))) {
      connection.run('UPDATE schema_migration SET name = ? WHERE name = ?', to, from);
    }
    for (const { name, sql, checksum } of missing) {
      connection.exec(sql);
      connection.run(
        'INSERT INTO schema_migration (name, checksum, applied_at) VALUES (?, ?, ?)',
        name,
        checksum,
        Date.now(),
      );
    }
  });
}

/**
 * @throws {SchemaTooOldError} when a migration is missing.
 * @throws {SchemaTooNewError} when the file has a migration that this version does not know.
 * @throws {SchemaMismatchError} when a migration differs from this version's.
 */
export function assertMigrated(connection: Connection): void {
  assertNoneMissing(readMissing(connection, LEDGER));
}

const CREATE_HISTORY = `CREATE TABLE IF NOT EXISTS schema_migration (
  name TEXT NOT NULL PRIMARY KEY,
  checksum TEXT NOT NULL,
  applied_at INTEGER NOT NULL
) STRICT`;

function readMissing(connection: Connection, folder: string): readonly Migration[] {
  const migrations = readSqlFiles(folder, (name) => name);
  return missingMigrations(migrations, readApplied(connection));
}

function readApplied(connection: Connection): readonly AppliedMigration[] {
  const hasHistory = connection.get(
    "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'schema_migration'",
  );
  if (hasHistory === undefined) return [];
  return connection.all<AppliedMigration>(
    'SELECT name, checksum FROM schema_migration ORDER BY name',
  );
}
