/** The tables of both databases are those of `prisma/schema.prisma`. */

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { openEmbeddedStore } from '../../src/embedded/index.js';
import { TABLES } from '../../src/generated/tables.js';
import { columnsOf, keyOf } from '../../src/ledger/tables/tables.js';
import type { Kind, Model } from '../../src/ledger/tables/tables.js';
import { openPostgresStore } from '../../src/postgres/index.js';
import { querySql, usePostgresServer } from '../postgres-server.js';
import type { PostgresServer } from '../postgres-server.js';

const pepper = 'the pepper of the tests of the tables';

type Types = Readonly<Record<Kind, string>>;

/** Each column as one line, so that a difference is easy to read. */
function declared(types: Types): readonly string[] {
  return (Object.keys(TABLES) as Model[])
    .flatMap((model) => {
      const key = keyOf(model);
      return Object.values(columnsOf(model)).map((column) => {
        const place = key.indexOf(column) + 1;
        return lineOf({
          table: TABLES[model].table,
          name: column.name,
          type: types[column.kind],
          isNullable: column.isNullable,
          place,
        });
      });
    })
    .sort();
}

interface Found {
  readonly table: string;
  readonly name: string;
  readonly type: string;
  readonly isNullable: boolean;
  /** The column's place in the primary key; 0 if it is not in it. */
  readonly place: number;
}

function lineOf({ table, name, type, isNullable, place }: Found): string {
  const key = place === 0 ? '' : ` key ${String(place)}`;
  return `${table}.${name} ${type}${isNullable ? ' null' : ''}${key}`;
}

describe('the tables of the schema', () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await usePostgresServer();
  });
  afterAll(() => server.stop());

  it('are those of SQLite', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'balance-store-tables-'));
    const store = await openEmbeddedStore({ dataDir, pepper });
    await store.listRequests({ limit: 1 });
    await store.close();
    const lines = (['ledger.db', 'requests.db'] as const).flatMap((name) => {
      const database = new DatabaseSync(join(dataDir, name), { readOnly: true });
      const found = database
        .prepare(
          'SELECT m.name AS "table", c.name, c.type, NOT c."notnull" AS isNullable, c.pk AS place ' +
            "FROM sqlite_schema m JOIN pragma_table_info(m.name) c WHERE m.type = 'table' " +
            "AND m.name NOT IN ('sqlite_sequence', 'schema_migration')",
        )
        .all() as unknown as readonly (Omit<Found, 'isNullable'> & { isNullable: 0 | 1 })[];
      database.close();
      const isApart = name === 'requests.db';
      const apart = new Set<string>(
        Object.values(TABLES)
          .filter((table) => table.isApart)
          .map(({ table }) => table),
      );
      expect(found.filter(({ table }) => apart.has(table) !== isApart)).toEqual([]);
      return found.map((row) => lineOf({ ...row, isNullable: row.isNullable === 1 }));
    });
    rmSync(dataDir, { recursive: true });
    // The ledger is found by its position; its key is a unique index instead.
    expect(lines.sort()).toEqual(
      declared(SQLITE).map((line) =>
        line.startsWith('ledger.') ? line.replace(' key 1', '') : line,
      ),
    );
  });

  it('are those of PostgreSQL', async () => {
    const connectionString = await server.createDatabase();
    await (await openPostgresStore({ connectionString, pepper })).close();
    const found = (await querySql(
      connectionString,
      'SELECT c.relname AS "table", a.attname AS name, ' +
        'format_type(a.atttypid, a.atttypmod) AS type, NOT a.attnotnull AS "isNullable", ' +
        'coalesce(array_position(i.indkey::int2[], a.attnum), -1) + 1 AS place ' +
        'FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid ' +
        'LEFT JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary ' +
        "WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' " +
        "AND a.attnum > 0 AND NOT a.attisdropped AND c.relname NOT IN ('_prisma_migrations', 'schema_function')",
    )) as unknown as readonly Found[];
    expect(found.map(lineOf).sort()).toEqual(
      declared(POSTGRES).map((line) =>
        // The amount of a refused settlement is kept as it was, also if it is out of range.
        line.startsWith('settle_conflict.amount') ? line.replace('(38,14)', '') : line,
      ),
    );
  });
});

const SQLITE: Types = {
  text: 'TEXT',
  integer: 'INTEGER',
  bigint: 'INTEGER',
  real: 'REAL',
  amount: 'TEXT',
  flag: 'INTEGER',
  bytes: 'BLOB',
  time: 'INTEGER',
  json: 'TEXT',
};

const POSTGRES: Types = {
  text: 'text',
  integer: 'integer',
  bigint: 'bigint',
  real: 'double precision',
  amount: 'numeric(38,14)',
  flag: 'boolean',
  bytes: 'bytea',
  time: 'timestamp(3) with time zone',
  json: 'jsonb',
};
