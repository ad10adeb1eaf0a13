/**
 * A holder creates and revokes keys without end, and none is ever deleted. These tests count the
 * work of what lives, not its time: which indexes SQLite chooses, and how many rows PostgreSQL
 * reads.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Pool } from 'pg';
import { openEmbeddedStore } from '../../src/embedded/index.js';
import { getAccount } from '../../src/embedded/sqlite/accounts.js';
import { openWriter } from '../../src/embedded/sqlite/connection.js';
import type { Connection } from '../../src/embedded/sqlite/connection.js';
import { listKeys } from '../../src/embedded/sqlite/keys.js';
import { listTrail } from '../../src/embedded/sqlite/trail.js';
import { SqliteTransaction } from '../../src/embedded/sqlite/transaction.js';
import type { BalanceStore } from '../../src/index.js';
import { create } from '../../src/ledger/books/accounts.js';
import { createAccountTable } from '../../src/postgres/accounts.js';
import { openPostgresStore } from '../../src/postgres/index.js';
import { createKeyTable } from '../../src/postgres/keys.js';
import { sampleLimits } from '../../src/testing/index.js';
import { rowsRead } from '../postgres-plans.js';
import { querySql, untilSessionsEnded, usePostgresServer } from '../postgres-server.js';
import type { PostgresServer } from '../postgres-server.js';
import { plansOf } from '../sqlite-plans.js';

const PEPPER = 'pepper of the tests';
const REVOKED = 3_000;
const SOON = new Date(Date.now() + 86_400_000);
const BY = { name: 'tests' };

/** An account with two keys that live, one of which expires soon. */
async function createAccount(store: BalanceStore): Promise<string> {
  const created = await store.create({
    account: { name: 'customer' },
    key: { name: 'a', limits: sampleLimits, expiresAt: null },
    by: BY,
  });
  if (created.outcome !== 'created') throw new Error(created.outcome);
  const { id } = created.account;
  const key = { name: 'b', limits: sampleLimits, expiresAt: SOON };
  await store.create({ account: { id }, key, by: BY });
  return id;
}

const COLUMNS =
  'id, account_id, name, hint, credential_hmac, pepper_id, state, expires_at, concurrency, ' +
  'burst, requests_per_minute, created_at';

describe('with many revoked keys, SQLite', () => {
  const directory = mkdtempSync(join(tmpdir(), 'balance-store-'));
  let connection: Connection;
  let accountId: string;
  beforeAll(async () => {
    const store = await openEmbeddedStore({ dataDir: directory, pepper: PEPPER });
    accountId = await createAccount(store);
    await store.close();
    connection = openWriter(join(directory, 'ledger.db'), { checkpoints: true });
    connection.run(
      `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${String(REVOKED)}) ` +
        `INSERT INTO api_key (${COLUMNS}) SELECT 'key_gone' || i, ?, 'gone', 'gone', ` +
        "randomblob(32), 'p', 'revoked', NULL, 1, 1, 1, 0 FROM n",
      accountId,
    );
    connection.exec('ANALYZE');
  });
  afterAll(() => {
    connection.close();
    rmSync(directory, { recursive: true, force: true });
  });

  const plansOfKeys = async (work: (recording: Connection) => unknown) =>
    (await plansOf(connection, work)).filter((step) => /^\w+ (api_key|trail|t)\b/.test(step));

  // F157: thousands of revoked keys: work on the keys that live reads none of them.
  it.each([
    [
      'finds the keys that live',
      (on: Connection) => {
        const found = listKeys(on, { accountId, limit: 100, withoutRevoked: true }, 'p');
        expect(found).toHaveLength(2);
      },
    ],
    [
      'counts the usable keys of an account',
      (on: Connection) => {
        expect(getAccount(on, accountId)?.usableKeys).toBe(2);
      },
    ],
    [
      'finds the accounts whose keys expire soon',
      async (on: Connection) => {
        const found = new SqliteTransaction(on).accountsWithExpiringKeys(
          '',
          new Date(+SOON + 1),
          10,
        );
        expect(await found).toEqual([accountId]);
      },
    ],
    [
      'takes the keys of an account that expire soon',
      async (on: Connection) => {
        const before = new Date(+SOON + 1);
        expect(await new SqliteTransaction(on).takeExpiringKeys([accountId], before)).toHaveLength(
          1,
        );
      },
    ],
  ])('%s without reading the revoked ones', async (_, work) => {
    const plans = await plansOfKeys(work);
    expect(plans.length).toBeGreaterThan(0);
    for (const step of plans) {
      expect(step).toMatch(
        /^SEARCH api_key USING (COVERING )?(INDEX api_key_(not_revoked|expiry)_idx|PRIMARY KEY) \(/,
      );
    }
  });

  it.each(['accountId', 'keyId'] as const)('reads the trail of one %s by an index', async (of) => {
    const plans = await plansOfKeys((on) => listTrail(on, { [of]: accountId, limit: 10 }));
    expect(plans).toEqual([expect.stringMatching(/^SEARCH t USING INDEX trail_\w+_id_idx \(/)]);
  });

  // F237: an account with thousands of keys that live: creating one more reads a bounded number of
  // rows, however many keys there are.
  it('creates a key without reading all keys of its account', async () => {
    const reads: string[] = [];
    await plansOf(connection, async (planned) => {
      const recording: Connection = {
        ...planned,
        get(sql, ...values) {
          reads.push(sql);
          return planned.get(sql, ...values);
        },
        all(sql, ...values) {
          reads.push(sql);
          return planned.all(sql, ...values);
        },
      };
      const created = await create(new SqliteTransaction(recording), {
        creation: {
          account: { id: accountId },
          key: { name: 'c', limits: sampleLimits, expiresAt: null },
          maxKeys: 100,
          by: BY,
        },
        accountId: '',
        keyId: 'key_created',
        credential: { hint: 'c', credentialHmac: new Uint8Array(32), pepperId: 'p' },
      });
      expect(created.outcome).toBe('created');
    });
    const ofKeys = reads.filter((sql) => /\bapi_key\b/.test(sql));
    expect(ofKeys.length).toBeGreaterThan(0);
    for (const sql of ofKeys)
      expect(sql).toMatch(/ LIMIT \?$| WHERE (api_key\.)?(id|external_id) = \?/);
  });
});

describe('with many revoked keys, PostgreSQL', () => {
  let server: PostgresServer;
  let connectionString: string;
  let accountId: string;
  beforeAll(async () => {
    server = await usePostgresServer();
    connectionString = await server.createDatabase();
    const store = await openPostgresStore({ connectionString, pepper: PEPPER });
    accountId = await createAccount(store);
    await store.close();
    await querySql(
      connectionString,
      `INSERT INTO api_key (${COLUMNS}) SELECT 'key_gone' || i, $1, 'gone', 'gone', ` +
        "sha256(i::text::bytea), 'p', 'revoked', NULL, 1, 1, 1, now() " +
        `FROM generate_series(1, ${String(REVOKED)}) i`,
      [accountId],
    );
    await querySql(connectionString, 'ANALYZE');
  });
  afterAll(() => server.stop());

  // F157
  it('reads only the keys that live', async () => {
    const statements: { readonly text: string; readonly values: string[] }[] = [];
    const pool = new Pool({ connectionString });
    pool.on('connect', (client) => {
      const query = client.query.bind(client) as (...args: unknown[]) => unknown;
      Object.assign(client, {
        query: (statement: { readonly text: string; readonly values?: string[] }) => {
          statements.push({ text: statement.text, values: statement.values ?? [] });
          return query(statement);
        },
      });
    });
    const filter = { accountId, limit: 100, withoutRevoked: true } as const;
    expect(await createKeyTable(pool, pool).list(filter, 'p')).toHaveLength(2);
    expect((await createAccountTable(pool).get(accountId))?.usableKeys).toBe(2);
    await pool.end();
    expect(statements.length).toBeGreaterThanOrEqual(2);
    for (const { text, values } of statements) {
      expect(await rowsRead(connectionString, text, values)).toBeLessThan(50);
    }
  });

  // F237
  it('creates a key without reading all keys of its account', async () => {
    await querySql(
      connectionString,
      `INSERT INTO account (id, name, created_at) VALUES ('acct_many', 'many', now())`,
    );
    await querySql(
      connectionString,
      `INSERT INTO api_key (${COLUMNS}) SELECT 'key_lives' || i, 'acct_many', 'lives', 'lives', ` +
        "sha256(('lives' || i)::bytea), 'p', 'active', NULL, 1, 1, 1, now() " +
        `FROM generate_series(1, ${String(REVOKED)}) i`,
    );
    await querySql(connectionString, 'ANALYZE');
    const readOfKeys = async () => {
      const [row] = await querySql(
        connectionString,
        'SELECT seq_tup_read + coalesce(idx_tup_fetch, 0) + (SELECT sum(idx_tup_read) ' +
          "FROM pg_stat_user_indexes WHERE relname = 'api_key') AS rows " +
          "FROM pg_stat_user_tables WHERE relname = 'api_key'",
      );
      return Number(row!['rows']);
    };
    await untilSessionsEnded(connectionString);
    const before = await readOfKeys();
    const store = await openPostgresStore({ connectionString, pepper: PEPPER, migrate: false });
    const key = { name: 'c', limits: sampleLimits, expiresAt: null };
    const creation = { account: { id: 'acct_many' }, key, by: BY };
    expect((await store.create({ ...creation, maxKeys: 100 })).outcome).toBe('too_many_keys');
    expect((await store.create(creation)).outcome).toBe('created');
    await store.close();
    await untilSessionsEnded(connectionString);
    const read = (await readOfKeys()) - before;
    expect(read).toBeGreaterThanOrEqual(100);
    expect(read).toBeLessThan(1_000);
  });
});
