/**
 * The view `key_standing`: the query in `prisma/views`. It is applied after the migrations, like
 * the SQL functions, so that it has each column of the table of keys without a migration of its
 * own.
 */

import type { PoolClient } from 'pg';
import { SchemaTooNewError } from '../errors.js';
import { checksumOf, readSqlFiles } from '../ledger/tables/migrations.js';
import type { Migration } from '../ledger/tables/migrations.js';
import { columnsOf } from '../ledger/tables/tables.js';

export const KEY_VIEW = 'key_standing';

/** Its checksum changes with the columns of the table of keys, which the query names `k.*`. */
export function readKeyView(): Migration {
  const [view] = readSqlFiles('prisma/views', (name) => name);
  if (view?.name !== KEY_VIEW) throw new Error(`the package lacks the view ${KEY_VIEW}`);
  const columns = Object.values(columnsOf('ApiKey')).map(({ name }) => name);
  return { ...view, checksum: checksumOf([view.sql, ...columns].join('\n')) };
}

/**
 * Replaces the view in the transaction of its caller. PostgreSQL replaces a view only if its
 * columns stay and new ones follow them, so they keep the order in which this database got them.
 *
 * It is not dropped, because a process of the previous version goes on reading it during a rolling
 * upgrade, and because its grants, and views that operators built on it, would be lost.
 *
 * @throws {SchemaTooNewError} when the view has a column that the query lacks.
 */
export async function replaceKeyView(client: PoolClient, sql: string): Promise<void> {
  const query = `(\n${sql}\n) v`;
  const { fields } = await client.query(`SELECT * FROM ${query} LIMIT 0`);
  const wanted = new Set(fields.map(({ name }) => name));
  const present = await columnsOfView(client);
  const unknown = present.find((name) => !wanted.has(name));
  if (unknown !== undefined) {
    throw new SchemaTooNewError(
      `the view ${KEY_VIEW} has the column ${unknown}, which this version does not know: a newer ` +
        'version added it. Start that version or a newer one',
    );
  }
  const columns = [...new Set([...present, ...wanted])].map((name) => `"${name}"`);
  await client.query(
    `CREATE OR REPLACE VIEW "${KEY_VIEW}" AS SELECT ${columns.join(', ')} FROM ${query}`,
  );
}

async function columnsOfView(client: PoolClient): Promise<readonly string[]> {
  const { rows } = await client.query<{ name: string }>(
    'SELECT attname AS name FROM pg_attribute ' +
      'WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped ORDER BY attnum',
    [KEY_VIEW],
  );
  return rows.map(({ name }) => name);
}
