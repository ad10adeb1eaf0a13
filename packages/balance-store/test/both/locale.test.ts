/** Searches by name: the same in each locale of a database, and in the embedded ledger. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { openEmbeddedStore } from '../../src/embedded/index.js';
import type { BalanceStore } from '../../src/index.js';
import { checkPostgresServer, openPostgresStore } from '../../src/postgres/index.js';
import { sampleLimits } from '../../src/testing/index.js';
import { querySql, usePostgresServer } from '../postgres-server.js';
import type { PostgresServer } from '../postgres-server.js';

const pepper = 'pepper of the tests';
const NAMES = [
  'Zoë Ärger',
  'ΣΊΣΥΦΟΣ',
  'Иван ПЕТРОВ',
  'Straße 1',
  'ŁÓDŹ',
  'Ångström',
  'ǅungla',
  '張三',
];

let server: PostgresServer;
let directory: string;
const stores: BalanceStore[] = [];
beforeAll(async () => {
  server = await usePostgresServer();
  directory = mkdtempSync(join(tmpdir(), 'locale-'));
});
afterAll(async () => {
  for (const store of stores) await store.close();
  await server.stop();
  rmSync(directory, { recursive: true, force: true });
});

/** As `initdb` makes databases under this locale. */
async function createDatabase(locale: string): Promise<string> {
  const beside = new URL(await server.createDatabase());
  const name = `${beside.pathname.slice(1)}_locale`;
  await querySql(
    beside.href,
    `CREATE DATABASE ${name} TEMPLATE template0 ENCODING 'UTF8' LOCALE '${locale}'`,
  );
  beside.pathname = `/${name}`;
  return beside.href;
}

/** @returns a function that finds names by a part of them */
async function searchIn(store: BalanceStore) {
  stores.push(store);
  for (const name of NAMES) await store.createKey({ name, limits: sampleLimits, expiresAt: null });
  return async (text: string) => {
    const [keys, accounts] = [
      await store.listKeys({ name: text, limit: 50 }),
      await store.listAccounts({ name: text, limit: 50 }),
    ];
    expect(keys.map(({ name }) => name)).toEqual(accounts.map(({ name }) => name));
    return keys.map(({ name }) => name);
  };
}

// F428: a database of locale C: a search tells Ä from ä, and finds nothing.
describe.each(['C', 'C.UTF-8'])('names in a database of locale %s', (locale) => {
  it('are found in upper and lower case, as in the embedded ledger', async () => {
    const connectionString = await createDatabase(locale);
    expect(await checkPostgresServer(connectionString)).toEqual([]);
    const find = await searchIn(await openPostgresStore({ connectionString, pepper }));
    const dataDir = mkdtempSync(join(directory, 'data-'));
    const findEmbedded = await searchIn(await openEmbeddedStore({ dataDir, pepper }));
    const parts = NAMES.flatMap((name) => [name, name.slice(0, 3), name.slice(2)]);
    for (const part of parts) {
      for (const asked of [part, part.toLowerCase(), part.toUpperCase()]) {
        expect([asked, await find(asked)]).toEqual([asked, await findEmbedded(asked)]);
      }
    }
    expect(await find('ärger')).toEqual(['Zoë Ärger']);
  });
});

it('a server without ICU is searched by the rules of its locale, and the check says so', async () => {
  const connectionString = await createDatabase('C');
  await querySql(connectionString, 'DROP COLLATION pg_catalog."und-x-icu"');
  const [remark] = await checkPostgresServer(connectionString);
  expect(remark).toMatch(/^The server has no ICU, and the database the locale C: searches/);
  const find = await searchIn(await openPostgresStore({ connectionString, pepper }));
  expect(await find('zoë')).toEqual(['Zoë Ärger']);
  expect(await find('Ärger')).toEqual(['Zoë Ärger']);
});
