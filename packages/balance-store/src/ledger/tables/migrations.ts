/**
 * Finds the migrations that a database lacks. Migrations are files of this package, applied in
 * order of name.
 */

import { createHash } from 'node:crypto';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { SchemaMismatchError, SchemaTooNewError, SchemaTooOldError } from '../../errors.js';
import { presentName } from './renamed-migrations.js';

export interface Migration {
  readonly name: string;
  readonly sql: string;
  readonly checksum: string;
}

export interface AppliedMigration {
  readonly name: string;
  readonly checksum: string;
}

/**
 * Reads the SQL files in a folder of this package, in order of name. Each is a file or a folder of
 * its own.
 *
 * @param fileOf - The path of a file, from the name of its entry in the folder.
 */
export function readSqlFiles(
  folder: string,
  fileOf: (entry: string) => string,
): readonly Migration[] {
  const path = join(packageRoot(), folder);
  return readdirSync(path, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() || entry.name.endsWith('.sql'))
    .map(({ name }) => name)
    .sort()
    .map((entry) => {
      const sql = readFileSync(join(path, fileOf(entry)), 'utf8');
      return {
        name: entry.replace(/\.sql$/, ''),
        sql,
        checksum: checksumOf(sql),
      };
    });
}

export function checksumOf(sql: string): string {
  return createHash('sha256').update(sql).digest('hex');
}

/**
 * @throws {SchemaTooNewError} when the database has a migration that this version does not know.
 * @throws {SchemaMismatchError} when a migration differs from the one that was applied, or sorts
 *   before an applied one without being applied itself.
 */
export function missingMigrations(
  migrations: readonly Migration[],
  applied: readonly AppliedMigration[],
): readonly Migration[] {
  const known = new Map(migrations.map((migration) => [migration.name, migration]));
  const later = applied.find(({ name }) => !known.has(presentName(name)));
  if (later !== undefined) {
    throw new SchemaTooNewError(
      `the database has migration ${later.name}, which this version does not know: a newer ` +
        'version applied it. Start that version or a newer one',
    );
  }
  for (const { name, checksum } of applied) {
    if (known.get(presentName(name))?.checksum !== checksum) {
      throw new SchemaMismatchError(
        `migration ${name} differs from the one that was applied to this database`,
      );
    }
  }
  const names = new Set(applied.map(({ name }) => presentName(name)));
  const missing = migrations.filter(({ name }) => !names.has(name));
  assertInOrder(missing, [...names].sort().at(-1));
  return missing;
}

/**
 * A migration that sorts before an applied one would run after it here, but before it on a new
 * database, so that the two could differ.
 */
function assertInOrder([first]: readonly Migration[], last: string | undefined): void {
  if (first === undefined || last === undefined || first.name > last) return;
  throw new SchemaMismatchError(
    `migration ${first.name} is not applied to this database, but ${last}, which comes after it, ` +
      'is: whoever wrote the first must name it by the present time. To open this database, start ' +
      'the version that migrated it',
  );
}

/** @throws {SchemaTooOldError} if any is missing. */
export function assertNoneMissing([first]: readonly Migration[]): void {
  if (first === undefined) return;
  throw new SchemaTooOldError(
    `the database lacks migration ${first.name}: it is empty, or an older version made it`,
  );
}

/**
 * Searches upwards, because the number of folders between this file and the package's root depends
 * on the build.
 */
function packageRoot(): string {
  let directory = dirname(fileURLToPath(import.meta.url));
  for (;;) {
    if (existsSync(join(directory, 'prisma', 'migrations'))) return directory;
    const parent = dirname(directory);
    if (parent === directory) throw new SchemaMismatchError('the package lacks its migrations');
    directory = parent;
  }
}
