/**
 * Migrations are applied in order of name, so a name says when its migration was written. Eight
 * were named after days to come and were renamed; ledgers that have the earlier names keep working.
 * The fixtures are a ledger, with a record of requests, as commit b479d8ca wrote it on each
 * database: two accounts, 12 charges, credits of which one has expired since, a correction and a
 * transfer, all sealed. The first charge of that account writes the expiry's entry.
 */

import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { gunzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { openEmbeddedStore } from '../../src/embedded/index.js';
import { ledgerFile } from '../../src/embedded/open.js';
import { requestsFile } from '../../src/embedded/files/requests-file.js';
import { SchemaMismatchError, SchemaTooNewError } from '../../src/index.js';
import type { BalanceStore } from '../../src/index.js';
import { missingMigrations } from '../../src/ledger/tables/migrations.js';
import { openPostgresStore } from '../../src/postgres/index.js';
import { settlement } from '../../src/testing/index.js';
import { querySql, usePostgresServer } from '../postgres-server.js';
import type { PostgresServer } from '../postgres-server.js';

const PEPPER = 'pepper of the tests';
/** 18 entries, and the expiry's. */
const OLD_ENTRIES = 18 + 1;
const EARLIER_NAME = '20261130021000_allowances';
const PRESENT_NAME = '20261128121000_allowances';

function fixture(name: string): Buffer {
  return gunzipSync(readFileSync(join(__dirname, '../fixtures', name)));
}

function namesIn(folder: string): readonly string[] {
  return readdirSync(join(__dirname, '../..', folder))
    .filter((name) => /^\d/.test(name))
    .map((name) => name.replace(/\.sql$/, ''))
    .sort();
}

let server: PostgresServer;
beforeAll(async () => {
  server = await usePostgresServer();
});
afterAll(() => server.stop());

let dataDir: string;
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'migration-names-'));
});
afterEach(() => {
  rmSync(dataDir, { recursive: true, force: true });
});

async function chargeAndAudit(store: BalanceStore, before: number): Promise<void> {
  const keys = await store.listKeys({ limit: 10 });
  expect(keys.length).toBe(2);
  for (const { id } of keys) {
    const { outcome } = await store.settle(settlement(id), { deadlineMs: 20_000 });
    expect(outcome).toBe('settled');
  }
  await store.sealEntries({ all: true });
  const report = await store.audit();
  expect(report.differences).toEqual([]);
  const { entries } = await store.listEntries({ kind: 'adjustment', limit: 100 });
  const opening = entries.filter((of) => of.kind === 'adjustment' && of.reason === 'opening');
  expect(report.entries).toBe(before + keys.length + opening.length);
  expect((await store.listRequests({ limit: 9 })).requests.length).toBe(3);
}

// F444: migrations are renamed, and a ledger has the earlier names: they are replaced when it is
// opened, and it stays sound.
describe('a ledger that has earlier names of migrations', () => {
  it('on SQLite is opened, charged and opened again', async () => {
    writeFileSync(ledgerFile(dataDir), fixture('ledger-before-renames.db.gz'));
    writeFileSync(requestsFile(dataDir), fixture('requests-before-renames.db.gz'));
    const applied = (file: string) => {
      const database = new DatabaseSync(file, { readOnly: true });
      const rows = database.prepare('SELECT name FROM schema_migration ORDER BY name').all();
      database.close();
      return rows.map(({ name }) => name);
    };
    expect(applied(ledgerFile(dataDir))).toContain(EARLIER_NAME);
    for (const before of [OLD_ENTRIES, OLD_ENTRIES + 2]) {
      const store = await openEmbeddedStore({ dataDir, pepper: PEPPER });
      await chargeAndAudit(store, before);
      await store.close();
    }
    expect(applied(ledgerFile(dataDir))).toEqual(namesIn('sqlite/migrations'));
    expect(applied(requestsFile(dataDir))).toEqual(namesIn('sqlite/requests'));
  });

  it('on PostgreSQL is opened by several processes at once, charged and opened again', async () => {
    const connectionString = await oldDatabase();
    const open = () => openPostgresStore({ connectionString, pepper: PEPPER });
    expect(await appliedIn(connectionString)).toContain(EARLIER_NAME);
    const stores = await Promise.all([open(), open(), open()]);
    await chargeAndAudit(stores[0], OLD_ENTRIES);
    await Promise.all(stores.map((store) => store.close()));
    const again = await openPostgresStore({ connectionString, pepper: PEPPER, migrate: false });
    await again.close();
    const third = await open();
    await chargeAndAudit(third, OLD_ENTRIES + 2);
    await third.close();
    expect(await appliedIn(connectionString)).toEqual(namesIn('prisma/migrations'));
  });

  it('is refused if a renamed migration has another text', () => {
    const present = { name: PRESENT_NAME, sql: '', checksum: 'one' };
    expect(missingMigrations([present], [{ name: EARLIER_NAME, checksum: 'one' }])).toEqual([]);
    expect(() => missingMigrations([present], [{ name: EARLIER_NAME, checksum: 'two' }])).toThrow(
      SchemaMismatchError,
    );
  });

  it('is refused afterwards by a version that knows the earlier names only', () => {
    // This version stands for the earlier one: it does not know the name either.
    const earlier = { name: '20261128030000_pricing_and_cost', sql: '', checksum: 'one' };
    expect(() =>
      missingMigrations([earlier], [earlier, { name: PRESENT_NAME, checksum: 'one' }]),
    ).toThrow(new RegExp(`${PRESENT_NAME}, which this version does not know: a newer version`));
  });
});

async function oldDatabase(): Promise<string> {
  const connectionString = await server.createDatabase();
  await querySql(connectionString, fixture('ledger-before-renames.sql.gz').toString());
  return connectionString;
}

async function appliedIn(connectionString: string): Promise<readonly unknown[]> {
  const rows = await querySql(
    connectionString,
    'SELECT migration_name FROM _prisma_migrations WHERE rolled_back_at IS NULL ' +
      'AND finished_at IS NOT NULL ORDER BY migration_name',
  );
  return rows.map(({ migration_name: name }) => name);
}

// F445: a migration is named after a day to come: a test fails, because migrations that are written
// until then would sort before it.
it.each(['prisma/migrations', 'sqlite/migrations', 'sqlite/requests'])(
  'the names in %s begin with a time that has come',
  (folder) => {
    const now = new Date().toISOString().replace(/\D/g, '').slice(0, 14);
    const names = namesIn(folder);
    expect(names.length).toBeGreaterThan(0);
    expect(names.filter((name) => !/^\d{14}_[a-z0-9_]+$/.test(name))).toEqual([]);
    expect(names.filter((name) => name.slice(0, 14) > now)).toEqual([]);
  },
);

// F446: a migration sorts before one that is applied, and is not applied itself: it is refused with
// what to do, because a new database would apply both in another order.
it('refuses a migration that sorts before an applied one', async () => {
  const store = await openEmbeddedStore({ dataDir, pepper: PEPPER });
  await store.close();
  const database = new DatabaseSync(ledgerFile(dataDir));
  database.exec("DELETE FROM schema_migration WHERE name LIKE '%_account_state'");
  database.close();
  const [last] = namesIn('sqlite/migrations').slice(-1);
  const opening = openEmbeddedStore({ dataDir, pepper: PEPPER });
  await expect(opening).rejects.toThrow(SchemaMismatchError);
  await expect(opening).rejects.toThrow(
    `migration 20261125150000_account_state is not applied to this database, but ${String(last)}, ` +
      'which comes after it, is: whoever wrote the first must name it by the present time',
  );
});

// F447: another program, such as Prisma's migrator, leaves a migration unfinished: it is applied at
// the next opening, or refused without a trace if the database cannot take it.
describe('a migration that another program began and did not finish', () => {
  const begin = (connectionString: string, name: string) =>
    querySql(
      connectionString,
      'INSERT INTO _prisma_migrations (id, checksum, migration_name) ' +
        "VALUES (gen_random_uuid()::text, 'of another program', $1)",
      [name],
    );

  it('is applied when the ledger is opened', async () => {
    const connectionString = await oldDatabase();
    await begin(connectionString, PRESENT_NAME);
    await begin(connectionString, '20261129023000_expiry_when_read');
    const store = await openPostgresStore({ connectionString, pepper: PEPPER });
    await chargeAndAudit(store, OLD_ENTRIES);
    await store.close();
    expect(await appliedIn(connectionString)).toEqual(namesIn('prisma/migrations'));
    const unfinished = await querySql(
      connectionString,
      'SELECT FROM _prisma_migrations WHERE finished_at IS NULL AND rolled_back_at IS NULL',
    );
    expect(unfinished).toEqual([]);
  });

  it('is refused if it has left something', async () => {
    const connectionString = await oldDatabase();
    await begin(connectionString, '20261129023000_expiry_when_read');
    await querySql(connectionString, 'ALTER TABLE account ADD COLUMN emptied_by TEXT');
    const opening = openPostgresStore({ connectionString, pepper: PEPPER });
    await expect(opening).rejects.toThrow(SchemaMismatchError);
    await expect(opening).rejects.toThrow(
      'migration 20261129023000_expiry_when_read was begun by another program, which did not ' +
        'finish it, and cannot be applied again (column "emptied_by"',
    );
    expect(
      await querySql(
        connectionString,
        "SELECT FROM information_schema.columns WHERE column_name = 'next_expiry_at'",
      ),
    ).toEqual([]);
  });
});

// F448: a column is added to the table of keys: the view of keys gets it at the next opening, while
// the version before goes on reading.
describe('the view of keys', () => {
  const OTHER_TEXT = "UPDATE schema_function SET checksum = 'another' WHERE name = 'key_standing'";
  const columns = async (connectionString: string) =>
    (
      await querySql(
        connectionString,
        "SELECT attname FROM pg_attribute WHERE attrelid = 'key_standing'::regclass ORDER BY attnum",
      )
    ).map(({ attname }) => attname);

  it('gets a new column of keys without a migration of its own', async () => {
    const connectionString = await server.createDatabase();
    const open = () => openPostgresStore({ connectionString, pepper: PEPPER });
    const running = await open();
    const { record, credential } = await running.createKey({
      name: 'k',
      limits: { concurrency: 5, burst: 10, requestsPerMinute: 60 },
      expiresAt: null,
    });
    const before = await columns(connectionString);
    await querySql(
      connectionString,
      'GRANT SELECT ON key_standing TO PUBLIC; ' +
        'CREATE VIEW report AS SELECT id, standing FROM key_standing; ' +
        `ALTER TABLE api_key ADD COLUMN team TEXT DEFAULT 'blue'; ${OTHER_TEXT}`,
    );

    let isUpgrading = true;
    const reading = (async () => {
      for (let reads = 0; isUpgrading || reads < 20; reads += 1) {
        expect((await running.getKey(record.id))?.standing).toBe('exhausted');
        expect((await running.findKeyByCredential(credential))?.id).toBe(record.id);
      }
    })();
    const opening = Promise.all([open(), open(), open()]).finally(() => {
      isUpgrading = false;
    });
    const [upgraded] = await Promise.all([opening, reading]);
    await Promise.all([running, ...upgraded].map((store) => store.close()));

    expect(await columns(connectionString)).toEqual([...before, 'team']);
    expect(
      await querySql(
        connectionString,
        'SELECT k.team, r.standing, c.relacl::text LIKE \'%,=r/%\' AS "isPublic" ' +
          'FROM key_standing k JOIN report r ON r.id = k.id ' +
          "CROSS JOIN pg_class c WHERE c.oid = 'key_standing'::regclass",
      ),
    ).toEqual([{ team: 'blue', standing: 'exhausted', isPublic: true }]);
  });

  it('of a newer version is left alone, and one that a migration dropped is made again', async () => {
    const connectionString = await server.createDatabase();
    const open = async () =>
      (await openPostgresStore({ connectionString, pepper: PEPPER })).close();
    await open();
    const present = await columns(connectionString);
    await querySql(
      connectionString,
      `DROP VIEW key_standing; CREATE VIEW key_standing AS SELECT 1 AS later; ${OTHER_TEXT}`,
    );
    const opening = open();
    await expect(opening).rejects.toThrow(SchemaTooNewError);
    await expect(opening).rejects.toThrow('the view key_standing has the column later, which');
    expect(await columns(connectionString)).toEqual(['later']);

    await querySql(connectionString, 'DROP VIEW key_standing');
    await open();
    await querySql(connectionString, 'DROP VIEW key_standing');
    await open();
    expect(new Set(await columns(connectionString))).toEqual(new Set(present));
  });
});
