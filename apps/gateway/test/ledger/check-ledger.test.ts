/** `farthing check-config --ledger`: whether a charge can be recorded, tried without a trace. */

import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { ledgerFile } from '@gateway/balance-store/embedded';
import {
  querySql,
  usePostgresServer,
} from '../../../../packages/balance-store/test/postgres-server.js';
import type { PostgresServer } from '../../../../packages/balance-store/test/postgres-server.js';
import { gatewayCommand } from '../support/gateway-process.js';

const KEY_PEPPER = 'the pepper of these tests';
const ADMIN_TOKEN = 'admin-token-of-the-tests';
const TO_BE_MADE: unknown = expect.stringMatching(
  /^There is no ledger of this version yet .*: farthing serve makes it\.$/,
);
const CAN_CHARGE = 'A charge can be recorded in the ledger.';

let postgres: PostgresServer;
let folder: string;
beforeAll(async () => {
  postgres = await usePostgresServer();
  folder = mkdtempSync(join(tmpdir(), 'gateway-check-'));
});
afterAll(async () => {
  await postgres.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function check(env: Readonly<Record<string, string>>) {
  const { code, out, err } = await gatewayCommand(['check-config', '--ledger'], {
    ADMIN_TOKEN,
    ...env,
  });
  const [last] = out.trimEnd().split('\n').slice(-1);
  return { code, last, err };
}

/** Every row of every table of an embedded ledger. */
function dumpOf(dataDir: string): unknown {
  const database = new DatabaseSync(ledgerFile(dataDir), { readOnly: true });
  const tables = database.prepare(`select name from sqlite_schema where type = 'table'`).all();
  const rows = tables.map(({ name }) => [
    name,
    database.prepare(`select * from ${String(name)}`).all(),
  ]);
  database.close();
  return rows;
}

/** Every row of every table of a database. */
async function rowsOf(url: string): Promise<unknown> {
  const tables = await querySql<{ name: string }>(
    url,
    `select table_name as name from information_schema.tables where table_schema = 'public'`,
  );
  const names = tables.map(({ name }) => name).sort();
  return Promise.all(
    names.map(async (name) => [name, await querySql(url, `select * from ${name} order by 1`)]),
  );
}

it('makes no embedded ledger, and records nothing in one', async () => {
  const DATA_DIR = join(folder, 'embedded');
  expect(await check({ DATA_DIR })).toMatchObject({ code: 0, last: TO_BE_MADE });
  expect(readdirSync(folder)).toEqual([]);
  mkdirSync(DATA_DIR);
  expect(await check({ DATA_DIR })).toMatchObject({ code: 0, last: TO_BE_MADE });
  expect(readdirSync(DATA_DIR)).toEqual([]);
  expect(await gatewayCommand(['migrate'], { DATA_DIR })).toMatchObject({ code: 0 });
  const before = dumpOf(DATA_DIR);
  expect(await check({ DATA_DIR })).toMatchObject({ code: 0, last: CAN_CHARGE });
  expect(dumpOf(DATA_DIR)).toEqual(before);
});

it('migrates no database, records nothing in one, and fails if it only reads', async () => {
  const DATABASE_URL = await postgres.createDatabase();
  expect(await check({ DATABASE_URL, KEY_PEPPER })).toMatchObject({ code: 0, last: TO_BE_MADE });
  expect(await rowsOf(DATABASE_URL)).toEqual([]);
  expect(await gatewayCommand(['migrate'], { DATABASE_URL, KEY_PEPPER })).toMatchObject({
    code: 0,
  });
  const before = await rowsOf(DATABASE_URL);
  expect(await check({ DATABASE_URL, KEY_PEPPER })).toMatchObject({ code: 0, last: CAN_CHARGE });
  expect(await rowsOf(DATABASE_URL)).toEqual(before);
  const name = new URL(DATABASE_URL).pathname.slice(1);
  await querySql(DATABASE_URL, `alter database ${name} set default_transaction_read_only = on`);
  const { code, err } = await check({ DATABASE_URL, KEY_PEPPER });
  expect([code, err]).toEqual([3, expect.stringContaining('read-only')]);
});

it('says that there is no server', async () => {
  const DATABASE_URL = 'postgres://nobody:secret-of-nobody@127.0.0.1:1/ledger';
  const { code, err } = await check({ DATABASE_URL, KEY_PEPPER });
  expect([code, err]).toEqual([3, expect.stringContaining('ECONNREFUSED')]);
  expect(err).not.toContain('secret-of-nobody');
});

it('needs no right but those that the handbook gives to a role', async () => {
  const handbook = readFileSync(join(__dirname, '../../../../docs/operating.md'), 'utf8');
  const [, sql = ''] = /^```sql\n(.*?)^```/ms.exec(handbook) ?? [];
  const name = `role_${String(process.pid)}`;
  const url = new URL(await postgres.createDatabase());
  for (const statement of sql
    .trim()
    .replaceAll(/\bgateway\b/g, name)
    .split('\n')) {
    await querySql(url.href, statement);
  }
  const owner = new URL(url);
  Object.assign(owner, { pathname: name, username: name, password: 'letters-and-digits' });
  try {
    const env = { DATABASE_URL: owner.href, KEY_PEPPER };
    expect(await gatewayCommand(['migrate'], env)).toMatchObject({ code: 0, err: '' });
    expect(await check(env)).toMatchObject({ code: 0, last: CAN_CHARGE });
  } finally {
    await querySql(url.href, `drop database if exists ${name}`);
    await querySql(url.href, `drop role if exists ${name}`);
  }
});
