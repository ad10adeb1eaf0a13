/** The contract on PostgreSQL, and the behaviour of several processes that share a database. */

import { createHash } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Client } from 'pg';
import {
  PepperMismatchError,
  SchemaMismatchError,
  SchemaTooNewError,
  SchemaTooOldError,
} from '../../src/index.js';
import type { BalanceStore } from '../../src/index.js';
import { numericFromUnits, unitsFromNumeric } from '../../src/numeric.js';
import { ADVISORY_LOCKS } from '../../src/postgres/advisory-locks.js';
import { openPostgresStore } from '../../src/postgres/index.js';
import { settleQueryOf } from '../../src/postgres/settle.js';
import { balanceStoreContract, sampleLimits, settlement } from '../../src/testing/index.js';
import { querySql, untilSessionsEnded, usePostgresServer } from '../postgres-server.js';
import type { PostgresServer } from '../postgres-server.js';
import { rewriteLedger, timeLiteral } from '../rewrite-ledger.js';
import { runs } from '../../../../scripts/runs.cjs';

const PEPPER = 'pepper of the tests';
const USD = 10n ** 14n;
const DEADLINE = { deadlineMs: 20_000 };

let server: PostgresServer;
beforeAll(async () => {
  server = await usePostgresServer();
});
afterAll(() => server.stop());

balanceStoreContract({
  name: 'PostgreSQL',
  runner: { describe, it, beforeAll, afterAll },
  async open() {
    const connectionString = await server.createDatabase();
    const place = { databaseUrl: connectionString };
    const store = await openPostgresStore({ connectionString, pepper: PEPPER });
    return {
      store,
      tamper: async (sql, triggers = 'enabled') => {
        if (triggers === 'enabled') await querySql(connectionString, sql);
        else await rewriteLedger(place, sql);
      },
      async columnsOf(table) {
        const rows = await querySql(
          connectionString,
          'SELECT column_name AS name FROM information_schema.columns WHERE table_name = $1',
          [table],
        );
        return rows.map(({ name }) => String(name));
      },
      pepper: PEPPER,
      openBeside: (peppers) => openPostgresStore({ connectionString, ...peppers }),
      literal: {
        time: (time) => timeLiteral(place, time),
        bytes: (bytes) => `'\\x${bytes.toString('hex')}'::bytea`,
      },
      async digestsOf(accountId) {
        const [row] = await querySql(
          connectionString,
          "SELECT string_agg(entry_digest(l), ''::bytea ORDER BY l.seq) AS digests " +
            'FROM ledger l WHERE l.account_id = $1',
          [accountId],
        );
        return row?.['digests'] as Buffer;
      },
      close: () => store.close(),
    };
  },
});

describe('PostgreSQL: many replicas', () => {
  // F13: one id settled by several replicas: one entry for each id, two thirds of the calls
  // replayed, 0 deadlocks.
  it('replicas that settle charges of the same keys in opposite order do not deadlock, and charge duplicates once', async () => {
    const connectionString = await server.createDatabase();
    const replicas = await Promise.all(
      Array.from({ length: 3 }, () => openPostgresStore({ connectionString, pepper: PEPPER })),
    );
    const [first] = replicas;
    if (first === undefined) throw new Error('no replica');
    const keys: string[] = [];
    for (let index = 0; index < 20; index += 1) {
      const { record } = await first.createKey({
        name: 'k',
        limits: sampleLimits,
        expiresAt: null,
      });
      keys.push(record.id);
    }
    const rounds = runs(__filename, 'rounds of duplicates');
    const counts = { settled: 0, replayed: 0, conflict: 0, quarantined: 0 };
    for (let round = 0; round < rounds; round += 1) {
      const charges = keys.flatMap((keyId) => [settlement(keyId), settlement(keyId)]);
      const orders = [
        charges,
        [...charges].reverse(),
        [...charges].sort(() => Math.random() - 0.5),
      ];
      const outcomes = await Promise.all(
        replicas.flatMap((replica, index) =>
          (orders[index] ?? []).map((charge) => replica.settle(charge, DEADLINE)),
        ),
      );
      for (const { outcome } of outcomes) counts[outcome] += 1;
    }
    expect(counts).toEqual({
      settled: rounds * 40,
      replayed: rounds * 80,
      conflict: 0,
      quarantined: 0,
    });
    const report = await first.audit();
    expect(report).toMatchObject({ isSound: true, entries: rounds * 40, conflicts: 0 });
    expect(report.quarantined).toBe(0);
    await Promise.all(replicas.map((replica) => replica.close()));
    await untilSessionsEnded(connectionString);
    const [row] = await querySql(
      connectionString,
      'SELECT deadlocks::int FROM pg_stat_database WHERE datname = current_database()',
    );
    expect(row).toEqual({ deadlocks: 0 });
  });

  // F16: two replicas lock two keys in opposite order: 0 deadlocks in hundreds of batches of two
  // replicas.
  it('batches over two keys, which two replicas settle in opposite order, do not deadlock', async () => {
    const connectionString = await server.createDatabase();
    const pairs = runs(__filename, 'pairs of opposite order');
    // The server itself counts the batches.
    await querySql(
      connectionString,
      `ALTER DATABASE ${new URL(connectionString).pathname.slice(1)} SET track_functions = 'all'`,
    );
    const open = () => openPostgresStore({ connectionString, pepper: PEPPER });
    const [a, b] = await Promise.all([open(), open()]);
    const newKey = async () =>
      (await a.createKey({ name: 'k', limits: sampleLimits, expiresAt: null })).record.id;
    const keys = [await newKey(), await newKey()];
    const settlePairs = async (replica: BalanceStore, order: readonly string[]) => {
      for (let pair = 0; pair < pairs; pair += 1) {
        const outcomes = await Promise.all(
          order.map((keyId) => replica.settle(settlement(keyId), DEADLINE)),
        );
        expect(outcomes.map(({ outcome }) => outcome)).toEqual(['settled', 'settled']);
      }
    };
    const reversed = [...keys].reverse();
    const first = [settlePairs(a, keys), settlePairs(b, reversed)];
    // Started later, so that these pairs do not join the batches of the first ones.
    await new Promise(setImmediate);
    await Promise.all([...first, settlePairs(a, keys), settlePairs(b, reversed)]);
    expect(await a.audit()).toMatchObject({ isSound: true, entries: pairs * 8 });
    await Promise.all([a.close(), b.close()]);
    await untilSessionsEnded(connectionString);
    const [counted] = await querySql(
      connectionString,
      'SELECT (SELECT deadlocks::int FROM pg_stat_database WHERE datname = current_database()), ' +
        "(SELECT calls::int FROM pg_stat_user_functions WHERE funcname = 'settle_batch') AS batches",
    );
    expect(counted).toMatchObject({ deadlocks: 0 });
    expect(counted?.['batches']).toBeGreaterThanOrEqual(pairs * 3);
  });

  // F18: top-ups racing the exhausting charge: all credited, all keys active with 10^-14 USD.
  // F293: all six sessions waited for the account's lock, and so did every other customer.
  it('bookings that wait for the lock of their account leave sessions for the charges of others', async () => {
    const connectionString = await server.createDatabase();
    const store = await openPostgresStore({ connectionString, pepper: PEPPER });
    const newKey = async () =>
      (await store.createKey({ name: 'k', limits: sampleLimits, expiresAt: null })).record;
    const busy = await newKey();
    const other = await newKey();
    const locker = new Client({ connectionString });
    await locker.connect();
    await locker.query('BEGIN');
    await locker.query('SELECT FROM account WHERE id = $1 FOR UPDATE', [busy.accountId]);
    const by = { name: busy.id, holderOf: busy.accountId };
    const bookings = Array.from({ length: 20 }, () => store.updateKey(busy.id, { name: 'n' }, by));
    const operators = store.setAccountState(busy.accountId, 'suspended', { name: 'operator' });
    await sleep(100);
    const charged = await store.settle(settlement(other.id), DEADLINE);
    expect(charged.outcome).toBe('settled');
    await locker.query('COMMIT');
    await locker.end();
    await Promise.all([...bookings, operators]);
    await store.close();
  });

  it('top-ups are all credited, each during a charge by another replica that exhausts the balance', async () => {
    const connectionString = await server.createDatabase();
    const open = () => openPostgresStore({ connectionString, pepper: PEPPER });
    const [a, b] = await Promise.all([open(), open()]);
    const races = runs(__filename, 'races of a top-up');
    /** @param leadMs - by how much the top-up begins before the charge; may be negative */
    const race = async (leadMs: number) => {
      const { record } = await a.createKey({ name: 'k', limits: sampleLimits, expiresAt: null });
      const keyId = record.id;
      await a.topUp({ topUpId: `first:${keyId}`, to: { keyId }, amount: 1n, by: { name: 'a' } });
      const charge = settlement(keyId);
      const [settled, credited] = await Promise.all([
        sleep(Math.max(leadMs, 0)).then(() => a.settle(charge, DEADLINE)),
        sleep(Math.max(-leadMs, 0)).then(() =>
          b.topUp({
            topUpId: `second:${keyId}`,
            to: { keyId },
            amount: charge.amount,
            by: { name: 'b' },
          }),
        ),
      ]);
      expect([settled.outcome, credited.outcome]).toEqual(['settled', 'credited']);
    };
    // From a charge far ahead to a top-up far ahead, so that both orders occur on any machine.
    for (let done = 0; done < races; done += 20) {
      await Promise.all(
        Array.from({ length: 20 }, (_, n) => race(Math.sign(n - 9.5) * (n - 9.5) ** 2)),
      );
    }
    const rows = await querySql(
      connectionString,
      'SELECT balance::text, standing, count(*)::int AS keys, ' +
        'sum((SELECT count(*) FROM ledger WHERE account_id = key_standing.account_id))::int AS entries ' +
        'FROM key_standing GROUP BY 1, 2',
    );
    expect(rows).toEqual([
      { balance: '0.00000000000001', standing: 'active', keys: races, entries: races * 3 },
    ]);
    const orders = await querySql(
      connectionString,
      'SELECT DISTINCT kind FROM ledger WHERE seq = 2 ORDER BY kind',
    );
    // Both orders must have happened, otherwise the test did not race.
    expect(orders).toEqual([{ kind: 'charge' }, { kind: 'top_up' }]);
    await Promise.all([a.close(), b.close()]);
  });

  // F15: malformed row in a batch of 500: 499 settled, 1 quarantined, at most 20 calls.
  it('one settlement of 500 that the database refuses is quarantined, and the other 499 are charged', async () => {
    const connectionString = await server.createDatabase();
    const store = await openPostgresStore({ connectionString, pepper: PEPPER });
    const { record } = await store.createKey({ name: 'k', limits: sampleLimits, expiresAt: null });
    const charges = Array.from({ length: 500 }, () => settlement(record.id));
    const poisoned = settlement('key_none');
    charges[321] = poisoned;
    const outcomes = await Promise.all(charges.map((charge) => store.settle(charge, DEADLINE)));
    expect(outcomes.filter(({ outcome }) => outcome === 'settled')).toHaveLength(499);
    expect(outcomes[321]).toMatchObject({ outcome: 'quarantined' });
    await store.close();
    expect(await querySql(connectionString, 'SELECT count(*)::int AS entries FROM ledger')).toEqual(
      [{ entries: 499 }],
    );
    expect(await querySql(connectionString, 'SELECT request_id FROM quarantine')).toEqual([
      { request_id: poisoned.requestId },
    ]);
  });

  // F14: one id, another amount: first kept, `conflict`, an alarm row, no charge.
  it('one id settled for two keys by two replicas at once is charged to one of them', async () => {
    const connectionString = await server.createDatabase();
    const open = () => openPostgresStore({ connectionString, pepper: PEPPER });
    const [a, b] = await Promise.all([open(), open()]);
    const newKey = async () =>
      (await a.createKey({ name: 'k', limits: sampleLimits, expiresAt: null })).record.id;
    const [keyA, keyB] = [await newKey(), await newKey()];
    const rounds = runs(__filename, 'rounds of one id');
    for (let round = 0; round < rounds; round += 1) {
      const charge = settlement(keyA);
      const outcomes = await Promise.all([
        a.settle(charge, DEADLINE),
        b.settle({ ...charge, keyId: keyB }, DEADLINE),
      ]);
      expect(outcomes.map(({ outcome }) => outcome).sort()).toEqual(['conflict', 'settled']);
      const topUps = await Promise.all([
        a.topUp({ topUpId: String(round), to: { keyId: keyA }, amount: 1n, by: { name: 'a' } }),
        b.topUp({ topUpId: String(round), to: { keyId: keyB }, amount: 1n, by: { name: 'b' } }),
      ]);
      expect(topUps.map(({ outcome }) => outcome).sort()).toEqual(['conflict', 'credited']);
    }
    expect((await a.audit()).isSound).toBe(true);
    const [rows] = await querySql(
      connectionString,
      'SELECT (SELECT count(*)::int FROM ledger) AS entries, ' +
        '(SELECT count(*)::int FROM settle_conflict) AS conflicts',
    );
    expect(rows).toEqual({ entries: rounds * 2, conflicts: rounds });
    await Promise.all([a.close(), b.close()]);
  });

  it('a suspension by another replica applies to the next read, and limits changed by another replica apply within a second', async () => {
    const connectionString = await server.createDatabase();
    const open = () => openPostgresStore({ connectionString, pepper: PEPPER });
    const [a, b] = await Promise.all([open(), open()]);
    const { record, credential } = await a.createKey({
      name: 'k',
      limits: sampleLimits,
      expiresAt: null,
    });
    await a.topUp({ topUpId: '1', to: { keyId: record.id }, amount: USD, by: { name: 'a' } });
    expect((await a.findKeyByCredential(credential))?.id).toBe(record.id);
    await b.suspendKey(record.id);
    await b.updateKey(record.id, { limits: { burst: 77 } });
    expect(await a.readStanding(record.id)).toEqual({
      standing: 'suspended',
      balance: USD,
      uncovered: 0n,
    });
    await new Promise((resolve) => setTimeout(resolve, 1_050));
    const found = await a.findKeyByCredential(credential);
    expect(found).toMatchObject({ state: 'suspended', limits: { burst: 77 } });
    await Promise.all([a.close(), b.close()]);
  });
});

describe('PostgreSQL: holds of many replicas', () => {
  /** With these, only the timer that renews holds is faked, and no timer of the driver. */
  const NOT_INTERVALS = [
    'Date',
    'clearImmediate',
    'clearTimeout',
    'hrtime',
    'nextTick',
    'performance',
    'queueMicrotask',
    'setImmediate',
    'setTimeout',
  ] as const;
  afterEach(() => {
    jest.useRealTimers();
  });

  it('a live hold outlasts its lifetime; an abandoned one, or one of a stopped replica, does not', async () => {
    const connectionString = await server.createDatabase();
    const holdLifetimeMs = 3_600_000;
    const open = () => openPostgresStore({ connectionString, pepper: PEPPER, holdLifetimeMs });
    const [a, b] = await Promise.all([open(), open()]);
    jest.useFakeTimers({ doNotFake: [...NOT_INTERVALS] });
    /** All holds reach the end of their lifetime, and then the next renewal is due. */
    const lifetimePasses = async () => {
      await querySql(connectionString, 'UPDATE hold SET expires_at = clock_timestamp()');
      jest.advanceTimersByTime(holdLifetimeMs / 4);
    };
    const { record } = await a.createKey({ name: 'k', limits: sampleLimits, expiresAt: null });
    await a.topUp({ topUpId: '1', to: { keyId: record.id }, amount: 10n, by: { name: 'a' } });
    const hold = (requestId: string, amount: bigint) => ({ requestId, keyId: record.id, amount });
    expect((await a.placeHold(hold('kept', 6n))).outcome).toBe('held');
    expect((await b.placeHold(hold('left behind', 4n))).outcome).toBe('held');
    await b.close();
    // No other hold is placed: the remaining replica finds the orphan by itself.
    const orphans = () => a.listHolds({ state: 'orphaned', limit: 10 });
    await lifetimePasses();
    while ((await orphans()).length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
    expect(await orphans()).toMatchObject([hold('left behind', 4n)]);
    expect(await a.listHolds({ state: 'live', limit: 10 })).toMatchObject([hold('kept', 6n)]);
    expect(await a.placeHold(hold('next', 5n))).toMatchObject({ outcome: 'short', shortfall: 1n });

    a.abandonHold('kept');
    await lifetimePasses();
    while ((await orphans()).length === 1) await new Promise((resolve) => setTimeout(resolve, 20));
    expect(await a.placeHold(hold('next', 5n))).toMatchObject({ outcome: 'held' });
    await a.close();
  });

  it('race without ever letting the balance fall below zero', async () => {
    const connectionString = await server.createDatabase();
    const replicas = await Promise.all(
      Array.from({ length: 4 }, () => openPostgresStore({ connectionString, pepper: PEPPER })),
    );
    const [first] = replicas;
    if (first === undefined) throw new Error('no replica');
    const rounds = runs(__filename, 'races of holds');
    for (let round = 0; round < rounds; round += 1) {
      const { record } = await first.createKey({
        name: 'k',
        limits: sampleLimits,
        expiresAt: null,
      });
      const keyId = record.id;
      const credit = 10n * settlement(keyId).amount + BigInt(round);
      await first.topUp({ topUpId: keyId, to: { keyId }, amount: credit, by: { name: 'a' } });
      const outcomes = await Promise.all(
        Array.from({ length: 64 }, async (_, index) => {
          const replica = replicas[index % replicas.length] ?? first;
          const charge = settlement(keyId);
          const { requestId, amount } = charge;
          const { outcome } = await replica.placeHold({ requestId, keyId, amount });
          return outcome === 'held' ? (await replica.settle(charge, DEADLINE)).outcome : outcome;
        }),
      );
      expect(outcomes.filter((outcome) => outcome === 'settled')).toHaveLength(10);
      expect((await first.getKey(keyId))?.balance).toBe(BigInt(round));
    }
    expect(await first.listHolds({ state: 'live', limit: 10 })).toEqual([]);
    expect((await first.audit()).isSound).toBe(true);
    await Promise.all(replicas.map((replica) => replica.close()));
  });
});

describe('PostgreSQL: opening', () => {
  it('several replicas that start at once on an empty database migrate it once', async () => {
    const connectionString = await server.createDatabase();
    const stores = await Promise.all(
      Array.from({ length: 5 }, () => openPostgresStore({ connectionString, pepper: PEPPER })),
    );
    await Promise.all(stores.map((store) => store.close()));
    const rows = await querySql(
      connectionString,
      'SELECT migration_name, checksum, applied_steps_count, logs, rolled_back_at, ' +
        'finished_at >= started_at AS is_finished, length(id) AS id_length ' +
        'FROM _prisma_migrations ORDER BY migration_name',
    );
    const folder = join(__dirname, '../..', 'prisma', 'migrations');
    const names = readdirSync(folder)
      .filter((name) => /^\d{14}_/.test(name))
      .sort();
    expect(rows).toEqual(
      names.map((name) => ({
        migration_name: name,
        checksum: createHash('sha256')
          .update(readFileSync(join(folder, name, 'migration.sql')))
          .digest('hex'),
        applied_steps_count: 1,
        logs: null,
        rolled_back_at: null,
        is_finished: true,
        id_length: 36,
      })),
    );
  });

  it('refuses a database that a newer version has migrated, or whose migration was changed', async () => {
    const connectionString = await server.createDatabase();
    await (await openPostgresStore({ connectionString, pepper: PEPPER })).close();
    await querySql(connectionString, "UPDATE _prisma_migrations SET checksum = 'x'");
    await expect(openPostgresStore({ connectionString, pepper: PEPPER })).rejects.toThrow(
      SchemaMismatchError,
    );
    await querySql(
      connectionString,
      "INSERT INTO _prisma_migrations (id, checksum, migration_name, finished_at) VALUES ('i', 'c', '99990101000000_later', now())",
    );
    await expect(openPostgresStore({ connectionString, pepper: PEPPER })).rejects.toThrow(
      SchemaTooNewError,
    );
  });

  // F95
  it('migrates an empty database only if it may; otherwise it says that a migration is missing', async () => {
    const connectionString = await server.createDatabase();
    const openOnly = () => openPostgresStore({ connectionString, pepper: PEPPER, migrate: false });
    await expect(openOnly()).rejects.toThrow(SchemaTooOldError);
    expect(
      await querySql(connectionString, "SELECT to_regclass('api_key')::text AS found"),
    ).toEqual([{ found: null }]);
    await (await openPostgresStore({ connectionString, pepper: PEPPER })).close();
    await (await openOnly()).close();
  });

  it('refuses to open with a pepper that none of the keys was issued under', async () => {
    const connectionString = await server.createDatabase();
    const store = await openPostgresStore({ connectionString, pepper: PEPPER });
    const { credential } = await store.createKey({
      name: 'k',
      limits: sampleLimits,
      expiresAt: null,
    });
    await store.close();
    await expect(openPostgresStore({ connectionString, pepper: 'other' })).rejects.toThrow(
      PepperMismatchError,
    );
    const again = await openPostgresStore({ connectionString, pepper: PEPPER });
    expect(await again.findKeyByCredential(credential)).toBeDefined();
    await again.close();
  });

  it('the row of a key does not contain its credential', async () => {
    const connectionString = await server.createDatabase();
    const store = await openPostgresStore({ connectionString, pepper: PEPPER });
    const { credential } = await store.createKey({
      name: 'k',
      limits: sampleLimits,
      expiresAt: null,
    });
    await store.close();
    const rows = await querySql(connectionString, 'SELECT * FROM api_key');
    expect(JSON.stringify(rows)).not.toContain(credential.slice(3, 20));
  });
});

describe('PostgreSQL: functions', () => {
  // F523: a gateway of the previous version, which names no spenders, charges and holds during a
  // rolling upgrade: both count in budgets, and the ledger is sound.
  it('count what a gateway of the previous version charges in budgets', async () => {
    const connectionString = await server.createDatabase();
    const store = await openPostgresStore({ connectionString, pepper: PEPPER });
    try {
      const { record: key } = await store.createKey({
        name: 'k',
        limits: sampleLimits,
        expiresAt: null,
      });
      const { id: keyId, accountId } = key;
      const by = { name: 'tests' };
      await store.topUp({ topUpId: 't', to: { keyId }, amount: 10n ** 16n, by });
      const charge = settlement(keyId);
      const terms = { name: 'b', scope: 'account', period: 'month' } as const;
      await store.createBudget({ accountId, amount: 2n * charge.amount, ...terms }, { by });
      const { text, values } = settleQueryOf([charge]);
      const formerly = text.replace(', $26, $27', '');
      expect(formerly).not.toBe(text);
      const rows = await querySql(connectionString, formerly, values.slice(0, 25).map(String));
      expect(rows).toMatchObject([{ outcome: 'settled' }]);
      expect(await store.readBudgets(keyId)).toMatchObject([{ used: charge.amount }]);
      const hold = (amount: string) =>
        querySql(
          connectionString,
          "SELECT outcome FROM place_holds(ARRAY['h'], ARRAY[$1], ARRAY[$2::numeric], '1 min')",
          [keyId, amount],
        );
      expect(await hold('1')).toEqual([{ outcome: 'short' }]);
      expect(await hold('0')).toEqual([{ outcome: 'held' }]);
      expect((await store.audit()).differences).toEqual([]);
    } finally {
      await store.close();
    }
  });

  it('refuse a hold of a gateway of the previous version by its caps, as they did', async () => {
    const connectionString = await server.createDatabase();
    const store = await openPostgresStore({ connectionString, pepper: PEPPER });
    try {
      const caps = { day: 5n, total: 4n };
      const { record: key } = await store.createKey({
        name: 'k',
        limits: sampleLimits,
        expiresAt: null,
        caps,
      });
      const by = { name: 'tests' };
      await store.topUp({ topUpId: 't', to: { keyId: key.id }, amount: 10n ** 16n, by });
      const hold = (id: string, units: bigint) =>
        querySql(
          connectionString,
          'SELECT outcome, cap_period, cap::text, cap_used::text, held_by_key::text ' +
            "FROM place_holds(ARRAY[$1], ARRAY[$2], ARRAY[$3::numeric], '1 min')",
          [id, key.id, numericFromUnits(units)],
        );
      expect(await hold('a', 3n)).toMatchObject([{ outcome: 'held', cap_period: null }]);
      const [refused] = await hold('b', 2n);
      expect(refused).toMatchObject({ outcome: 'capped', cap_period: 'total' });
      const amounts = [refused?.['cap'], refused?.['cap_used'], refused?.['held_by_key']];
      expect(amounts.map((text) => unitsFromNumeric(String(text)))).toEqual([4n, 0n, 3n]);
      const read = await querySql(
        connectionString,
        'SELECT c.period FROM api_key k CROSS JOIN LATERAL tightest_cap(k, now()) c',
      );
      expect(read).toEqual([{ period: 'total' }]);
    } finally {
      await store.close();
    }
  });

  it('are applied again when their text changed, after which a reader may open', async () => {
    const connectionString = await server.createDatabase();
    const open = async (migrate: boolean) =>
      (await openPostgresStore({ connectionString, pepper: PEPPER, migrate })).close();
    const definitions = () =>
      querySql(
        connectionString,
        'SELECT proname AS name, pg_get_functiondef(p.oid) AS definition FROM pg_proc p ' +
          "WHERE pronamespace = 'public'::regnamespace ORDER BY proname, pg_get_function_identity_arguments(p.oid)",
      );
    await open(true);
    const applied = await definitions();
    await querySql(
      connectionString,
      'CREATE OR REPLACE FUNCTION day_of(p_moment timestamptz) RETURNS integer LANGUAGE sql ' +
        'IMMUTABLE AS $$ SELECT 0 $$; ' +
        "UPDATE schema_function SET checksum = 'another' WHERE name = 'day_of'",
    );
    expect(await definitions()).not.toEqual(applied);
    await expect(open(false)).rejects.toThrow('another text of the function day_of');
    await open(true);
    expect(await definitions()).toEqual(applied);
    await open(false);
  });

  it('are all recorded, and none is left that no file contains', async () => {
    const connectionString = await server.createDatabase();
    await (await openPostgresStore({ connectionString, pepper: PEPPER })).close();
    const rows = await querySql(
      connectionString,
      'SELECT p.proname, f.name FROM (SELECT proname FROM pg_proc ' +
        "WHERE pronamespace = 'public'::regnamespace UNION ALL " +
        "SELECT viewname FROM pg_views WHERE schemaname = 'public') p " +
        'FULL JOIN schema_function f ON f.name = p.proname ' +
        'WHERE f.name IS NULL OR p.proname IS NULL',
    );
    expect(rows).toEqual([]);
  });

  it('take advisory locks whose numbers nothing else uses', () => {
    const folder = join(__dirname, '../..', 'prisma', 'functions');
    const ofFunctions = readdirSync(folder).flatMap((file) => {
      const calls = readFileSync(join(folder, file), 'utf8').matchAll(
        /pg_(?:try_)?advisory\w*\((\d+)\)/g,
      );
      return [...calls].map(([, number]) => [file, Number(number)]);
    });
    expect(ofFunctions).toEqual([
      ['roll_up_usage.sql', ADVISORY_LOCKS.rollUp],
      ['seal_ledger.sql', ADVISORY_LOCKS.seal],
    ]);
    const numbers = Object.values(ADVISORY_LOCKS);
    expect(new Set(numbers).size).toBe(numbers.length);
  });

  it('a roll-up of the usage does not delay a top-up', async () => {
    const connectionString = await server.createDatabase();
    const store = await openPostgresStore({ connectionString, pepper: PEPPER });
    const rollUp = new Client({ connectionString });
    await rollUp.connect();
    try {
      const { record } = await store.createKey({
        name: 'k',
        limits: sampleLimits,
        expiresAt: null,
      });
      await rollUp.query('BEGIN');
      await rollUp.query('SELECT pg_advisory_xact_lock($1)', [ADVISORY_LOCKS.rollUp]);
      const to = { keyId: record.id };
      const topUp = await store.topUp({ topUpId: 't', to, amount: 1n, by: { name: 'test' } });
      expect(topUp.outcome).toBe('credited');
    } finally {
      await rollUp.end();
      await store.close();
    }
  });
});
