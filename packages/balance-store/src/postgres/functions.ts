/**
 * The SQL functions of the ledger: the files in `prisma/functions`, and the digests of sealed rows,
 * which follow from the tables. A function is applied again when its text changes, and so is the
 * view of keys. The table `schema_function` records the hash of each text.
 */

import type { PoolClient } from 'pg';
import { TABLES } from '../generated/tables.js';
import { checksumOf, readSqlFiles } from '../ledger/tables/migrations.js';
import type { Migration } from '../ledger/tables/migrations.js';
import { columnsOf } from '../ledger/tables/tables.js';
import { KEY_VIEW, readKeyView, replaceKeyView } from './key-view.js';

/** What differs from what was applied: functions, and then the view, which calls some of them. */
export async function readChangedFunctions(client: PoolClient): Promise<readonly Migration[]> {
  const applied = await readApplied(client);
  return [
    ...readSqlFiles('prisma/functions', (name) => name),
    digestFunction('entry_digest', 'Ledger', 'l'),
    digestFunction('trail_digest', 'Trail', 't'),
    readKeyView(),
  ].filter(({ name, checksum }) => applied.get(name) !== checksum);
}

async function readApplied(client: PoolClient): Promise<ReadonlyMap<string, string>> {
  const { rows: found } = await client.query<{ exists: boolean }>(
    "SELECT to_regclass('schema_function') IS NOT NULL AS exists",
  );
  if (found[0]?.exists !== true) return new Map();
  // A migration may have dropped the view, because it removes one of its columns.
  const { rows } = await client.query<{ name: string; checksum: string }>(
    'SELECT name, checksum FROM schema_function WHERE name <> $1 OR to_regclass($1) IS NOT NULL',
    [KEY_VIEW],
  );
  return new Map(rows.map(({ name, checksum }) => [name, checksum]));
}

/** Applies all of them or none. */
export async function applyFunctions(
  client: PoolClient,
  functions: readonly Migration[],
): Promise<void> {
  if (functions.length === 0) return;
  await client.query('BEGIN');
  // A function may call another one that is applied after it.
  await client.query('SET LOCAL check_function_bodies = off');
  for (const { name, sql, checksum } of functions) {
    if (name === KEY_VIEW) await replaceKeyView(client, sql);
    else await client.query(sql);
    await client.query(
      'INSERT INTO schema_function (name, checksum) VALUES ($1, $2) ' +
        'ON CONFLICT (name) DO UPDATE SET checksum = excluded.checksum',
      [name, checksum],
    );
  }
  await client.query('COMMIT');
}

/**
 * A function that returns the digest of a row: every column, in the order of the schema, but
 * younger ones where they are absent.
 */
function digestFunction(
  name: string,
  model: 'Ledger' | 'Trail',
  /** PostgreSQL cannot change it later. */
  parameter: string,
): Migration {
  const fields = Object.values(columnsOf(model)).map((column) => {
    const value = `${parameter}.${column.name}`;
    if (column.isAdded === true) {
      const named = `sealed_field('${column.name}') || sealed_field(${value}::TEXT)`;
      return `CASE WHEN ${value} IS NULL THEN '' ELSE ${named} END`;
    }
    if (column.kind === 'time') return `sealed_moment(${value})`;
    if (column.kind === 'bytes') return `sealed_field(encode(${value}, 'hex'))`;
    return `sealed_field(${value}${column.kind === 'text' ? '' : '::TEXT'})`;
  });
  const sql =
    `CREATE OR REPLACE FUNCTION ${name}(${parameter} ${TABLES[model].table}) RETURNS BYTEA\n` +
    'LANGUAGE sql STABLE AS $$\n' +
    `  SELECT substr(sha256(convert_to(\n    ${fields.join('\n    || ')},\n    'UTF8')), 1, 16)\n$$;\n`;
  return { name, sql, checksum: checksumOf(sql) };
}
