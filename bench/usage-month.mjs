/**
 * `--usage`: how long sums of usage take over a month of 1,000,000 charges, before and after its
 * hours are rolled up. The table in the section "Sums of usage" of docs/performance.md comes from
 * this file.
 *
 * The sums of hours are written into the databases directly, so the month has no ledger entries.
 */

import { mkdtempSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import pg from 'pg';
import { openEmbeddedStore } from '../packages/balance-store/dist/embedded/index.js';
import { openPostgresStore } from '../packages/balance-store/dist/postgres/index.js';
import { step } from '../scripts/setup.mjs';
import { createRandom } from '../torture/random.mjs';
import { printUsage } from './report/terminal.mjs';
import { summary } from './statistics.mjs';

const PEPPER = 'benchmark-pepper-benchmark-pepper';
const CHARGES = 1_000_000;
const DAYS = 30;
const KEYS_OF_FIRST_ACCOUNT = 100;
const OTHER_ACCOUNTS = 100;
const MODELS = ['model-large', 'model-medium', 'model-small'];
const LIMITS = { concurrency: 1, burst: 1, requestsPerMinute: 1 };
const HOUR_MS = 3_600_000;
const READS = 5;

/** @returns the exit code */
export async function measureUsage(session) {
  const dataDir = mkdtempSync(join(session.scratch, 'usage-'));
  await measure('embedded (SQLite)', {
    open: () => openEmbeddedStore({ dataDir, pepper: PEPPER }),
    insert: (rows) => insertIntoSqlite(join(dataDir, 'ledger.db'), rows),
  });
  const { databaseUrl } = await session.startServers();
  await measure('PostgreSQL', {
    open: () => openPostgresStore({ connectionString: databaseUrl, pepper: PEPPER }),
    insert: (rows) => insertIntoPostgres(databaseUrl, rows),
  });
  return 0;
}

async function measure(title, { open, insert }) {
  let store = await open();
  const keys = await makeKeys(store);
  await store.close();
  const sums = sumsOf(keys);
  await insert(sums);
  store = await open();
  step(`${title}: ${sums.length.toLocaleString('en-US')} sums of hours`);
  const before = await timesOf(store, keys);
  const startedAt = performance.now();
  await store.rollUpUsage();
  const seconds = (performance.now() - startedAt) / 1000;
  const after = await timesOf(store, keys);
  printUsage(
    Object.keys(before).map((query) => ({
      title: query,
      beforeMs: before[query],
      afterMs: after[query],
    })),
  );
  process.stdout.write(`  rolling up the sums of all past hours took ${seconds.toFixed(1)} s\n`);
  await store.close();
}

async function makeKeys(store) {
  const key = { name: 'k', limits: LIMITS, expiresAt: null };
  const first = await store.create({ account: { name: 'first' }, key, by: { name: 'benchmark' } });
  const keys = [first.key];
  while (keys.length < KEYS_OF_FIRST_ACCOUNT) {
    const account = { id: first.account.id };
    keys.push((await store.create({ account, key, by: { name: 'benchmark' } })).key);
  }
  while (keys.length < KEYS_OF_FIRST_ACCOUNT + OTHER_ACCOUNTS) {
    keys.push(
      (await store.create({ account: { name: 'other' }, key, by: { name: 'benchmark' } })).key,
    );
  }
  return keys.map(({ id, accountId }) => ({ id, accountId }));
}

/** Spreads the charges at random over keys, hours and models. */
function sumsOf(keys) {
  const random = createRandom(1);
  const end = Math.floor(Date.now() / HOUR_MS) + 1;
  const requests = new Map();
  for (let charge = 0; charge < CHARGES; charge += 1) {
    const hour = end - 1 - random.below(DAYS * 24);
    const id = [random.below(keys.length), hour, random.below(MODELS.length)].join(' ');
    requests.set(id, (requests.get(id) ?? 0) + 1);
  }
  return [...requests].map(([id, count]) => {
    const [key, hour, model] = id.split(' ').map(Number);
    return {
      account_id: keys[key].accountId,
      hour,
      key_id: keys[key].id,
      model: MODELS[model],
      endpoint: 'messages',
      upstream_account: '',
      rates_id: `rates-${model}`,
      requests: count,
      input_tokens: 1_000 * count,
      output_tokens: 300 * count,
      cache_read_input_tokens: 5_000 * count,
      cache_creation_input_tokens: 200 * count,
      cache_creation_1h_input_tokens: 0,
      input_rate: '0.00000300000000',
      output_rate: '0.00001500000000',
      cache_read_rate: '0.00000030000000',
      cache_write_5m_rate: '0.00000375000000',
      cache_write_1h_rate: '0.00000600000000',
      written_off: '0.00000000000000',
    };
  });
}

async function insertIntoSqlite(file, rows) {
  const { DatabaseSync } = createRequire(import.meta.url)('node:sqlite');
  const database = new DatabaseSync(file);
  const columns = Object.keys(rows[0]);
  const insert = database.prepare(
    `INSERT INTO usage_hour (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`,
  );
  database.exec('BEGIN');
  for (const row of rows) insert.run(...Object.values(row));
  database.exec('COMMIT');
  database.close();
}

async function insertIntoPostgres(connectionString, rows) {
  const client = new pg.Client({ connectionString });
  await client.connect();
  const columns = Object.keys(rows[0]).join(', ');
  for (let from = 0; from < rows.length; from += 10_000) {
    await client.query(
      `INSERT INTO usage_hour (${columns}) SELECT ${columns} ` +
        'FROM json_populate_recordset(NULL::usage_hour, $1::json)',
      [JSON.stringify(rows.slice(from, from + 10_000))],
    );
  }
  await client.query('ANALYZE usage_hour');
  await client.end();
}

async function timesOf(store, keys) {
  const [{ id: keyId, accountId }] = keys;
  const until = new Date((Math.floor(Date.now() / (24 * HOUR_MS)) + 1) * 24 * HOUR_MS);
  const from = new Date(until.getTime() - DAYS * 24 * HOUR_MS);
  const byDay = ['day', 'model'];
  const queries = {
    'everything, by day and model': { by: byDay },
    'everything, until now': { by: byDay, until: new Date() },
    'one of 101 accounts, with 100 of 200 keys': { by: byDay, accountId },
    'the same with rates, as for a statement': { by: byDay, byRates: true, accountId },
    'one key': { by: byDay, accountId, keyId },
    'by account': { by: ['account'] },
    'by key': { by: ['key'] },
    'by day, model and key': { by: [...byDay, 'key'] },
  };
  const times = {};
  for (const [title, query] of Object.entries(queries)) {
    const samples = [];
    for (let read = 0; read <= READS; read += 1) {
      const startedAt = performance.now();
      const sums = await store.readUsage({ from, until, ...query });
      if (sums.length === 0) throw new Error(`${title}: nothing was found`);
      if (read > 0) samples.push(performance.now() - startedAt);
    }
    times[title] = summary(samples);
  }
  return times;
}
