/**
 * Databases that answer but cannot record charges: found when the store opens, and while it is open
 * before a customer's charge fails.
 */

import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { freePort } from '../../../../scripts/free-port.cjs';
import { openEmbeddedStore } from '../../src/embedded/index.js';
import { generateCredential } from '../../src/credential.js';
import { DatabaseUnsuitableError, StoreUnavailableError } from '../../src/index.js';
import type { BalanceStore } from '../../src/index.js';
import { createChargeWatch } from '../../src/ledger/charging/charge-watch.js';
import { checkPostgresServer, openPostgresStore } from '../../src/postgres/index.js';
import { sampleLimits, settlement } from '../../src/testing/index.js';
import { querySql, startPostgresServer } from '../postgres-server.js';
import type { OwnPostgresServer } from '../postgres-server.js';

const PEPPER = 'pepper of the tests';
const DEADLINE = { deadlineMs: 60_000 };

let server: OwnPostgresServer;
beforeAll(async () => {
  server = await startPostgresServer();
});
afterAll(() => server.stop());

async function newKey(store: BalanceStore): Promise<string> {
  const { record } = await store.createKey({ name: 'k', limits: sampleLimits, expiresAt: null });
  await store.topUp({
    topUpId: record.id,
    to: { keyId: record.id },
    amount: 10n ** 14n,
    by: { name: 'tests' },
  });
  return record.id;
}

async function untilFault(store: BalanceStore, isFault: boolean): Promise<string | undefined> {
  while ((store.charging().fault !== undefined) !== isFault) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return store.charging().fault?.message;
}

/** Functions in `public` hide those of the same name and arguments in `pg_catalog`. */
async function databaseWith(sql: string): Promise<string> {
  const url = await server.createDatabase();
  const name = new URL(url).pathname.slice(1);
  await querySql(url, sql);
  await querySql(url, `ALTER DATABASE ${name} SET search_path = public, pg_catalog`);
  return url;
}

describe('a database that cannot keep a ledger', () => {
  // F160: PostgreSQL older than 13, or locks that keep nobody out: refused at the start, with what
  // to do; nothing created.
  it.each([
    [
      'is too old',
      `CREATE FUNCTION public.current_setting(name text) RETURNS text LANGUAGE sql AS $$
        SELECT CASE name WHEN 'server_version_num' THEN '120022' ELSE '12.22' END $$`,
      /needs PostgreSQL 13 or newer, and the server has version 12\.22/,
    ],
    [
      'has locks of sessions that keep nobody out',
      `CREATE FUNCTION public.pg_try_advisory_lock(a int, b int) RETURNS bool LANGUAGE sql
        AS 'SELECT true'`,
      /advisory lock of the database does not keep other sessions out/,
    ],
    [
      'has locks of transactions that keep nobody out',
      `CREATE FUNCTION public.pg_try_advisory_xact_lock(a int, b int) RETURNS bool LANGUAGE sql
        AS 'SELECT true'`,
      /advisory lock of the database does not keep other sessions out/,
    ],
  ])('is refused if it %s, and nothing is created', async (_how, sql, message) => {
    const connectionString = await databaseWith(sql);
    const opening = openPostgresStore({ connectionString, pepper: PEPPER });
    await expect(opening).rejects.toThrow(message);
    await expect(opening).rejects.toThrow(DatabaseUnsuitableError);
    await expect(checkPostgresServer(connectionString)).rejects.toThrow(message);
    const tables = await querySql(
      connectionString,
      "SELECT 1 FROM pg_catalog.pg_tables WHERE schemaname = 'public'",
    );
    expect(tables).toEqual([]);
  });

  // F161: a pooler in transaction mode: as F160: refused at the start, with what to do; nothing
  // created.
  it('is refused if a pooler in transaction mode is in between', async () => {
    const { error } = spawnSync('pgbouncer', ['--version']);
    if (error !== undefined) {
      process.stdout.write('NOT RUN: there is no pgbouncer on this machine\n');
      return;
    }
    const url = new URL(await server.createDatabase());
    const folder = mkdtempSync(join(tmpdir(), 'pooler-'));
    const port = await freePort();
    const file = join(folder, 'pgbouncer.ini');
    writeFileSync(join(folder, 'users'), '"postgres" ""\n');
    writeFileSync(
      file,
      `[databases]\n* = host=127.0.0.1 port=${url.port}\n[pgbouncer]\nlisten_addr = 127.0.0.1\n` +
        `listen_port = ${String(port)}\nauth_type = trust\nauth_file = ${join(folder, 'users')}\n` +
        'unix_socket_dir =\npool_mode = transaction\n',
    );
    spawnSync('chmod', ['-R', 'a+rX', folder]);
    const asNobody = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
    const pooler = spawn('pgbouncer', [file], { stdio: 'ignore', ...asNobody });
    url.port = String(port);
    try {
      while (
        await checkPostgresServer(url.href).then(
          () => false,
          (fault: unknown) => fault instanceof StoreUnavailableError,
        )
      ) {
        if (pooler.exitCode !== null) throw new Error('pgbouncer ended');
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      const opening = openPostgresStore({ connectionString: url.href, pepper: PEPPER });
      await expect(opening).rejects.toThrow(/through a pooler in transaction mode/);
    } finally {
      pooler.kill('SIGKILL');
      rmSync(folder, { recursive: true });
    }
  });

  // F162: the role may not create tables: as F160: refused at the start, with what to do; nothing
  // created.
  it('is refused, with what to do, if the role may not create tables', async () => {
    const url = new URL(await server.createDatabase());
    await querySql(url.href, 'CREATE ROLE powerless LOGIN');
    await querySql(url.href, 'REVOKE CREATE ON SCHEMA public FROM PUBLIC');
    url.username = 'powerless';
    const opening = openPostgresStore({ connectionString: url.href, pepper: PEPPER });
    await expect(opening).rejects.toThrow(/let it own the database or its schema/);
    await expect(opening).rejects.toThrow(DatabaseUnsuitableError);
  });
});

describe('the sessions for requests', () => {
  // F296: a first burst waited while each new session compiled and planned the functions.
  it('are all open when the store is, and each has held and charged', async () => {
    const connectionString = await server.createDatabase();
    await (await openPostgresStore({ connectionString, pepper: PEPPER })).close();
    // A sequence counts charges that are rolled back, too.
    await querySql(connectionString, 'CREATE SEQUENCE charges');
    await querySql(
      connectionString,
      `CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        PERFORM nextval('charges'); RETURN NULL; END $$`,
    );
    await querySql(
      connectionString,
      'CREATE TRIGGER note AFTER INSERT ON ledger FOR EACH STATEMENT EXECUTE FUNCTION note()',
    );
    const store = await openPostgresStore({
      connectionString,
      pepper: PEPPER,
      poolSizes: { hot: 9 },
      serving: true,
    });
    const [row] = await querySql<{ charged: string; sessions: string }>(
      connectionString,
      `SELECT (SELECT last_value FROM charges) AS charged, (SELECT count(*)
        FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
        AND application_name = 'gateway-balance-store') AS sessions`,
    );
    // One charge more is that of the probe.
    expect(Number(row?.charged)).toBe(9 + 1);
    expect(Number(row?.sessions)).toBeGreaterThanOrEqual(9);
    await store.close();
  });

  // F299: each request with a key that was not used lately, or with a link, took a session for
  // itself, and the requests of others waited behind them.
  it('are shared by look-ups of one moment', async () => {
    const connectionString = await server.createDatabase();
    const store = await openPostgresStore({
      connectionString,
      pepper: PEPPER,
      poolSizes: { hot: 20 },
    });
    const sessions = async () => {
      const [row] = await querySql<{ sessions: string }>(
        connectionString,
        `SELECT count(*) AS sessions FROM pg_stat_activity WHERE datname = current_database()
          AND application_name = 'gateway-balance-store'`,
      );
      return Number(row?.sessions);
    };
    const created = await Promise.all(
      Array.from({ length: 40 }, () =>
        store.createKey({ name: 'one of many', limits: sampleLimits, expiresAt: null }),
      ),
    );
    const unknown = Array.from({ length: 40 }, generateCredential);
    const before = await sessions();
    const found = await Promise.all(
      [...created.map(({ credential }) => credential), ...unknown].map((credential) =>
        store.findKeyByCredential(credential),
      ),
    );
    expect(found.map((key) => key?.id)).toEqual([
      ...created.map(({ record }) => record.id),
      ...unknown.map(() => undefined),
    ]);
    const ids = created.map(({ record }) => record.id);
    const read = await Promise.all([...ids, 'unknown'].map((id) => store.getKey(id)));
    expect(read.map((key) => key?.id)).toEqual([...ids, undefined]);
    expect((await sessions()) - before).toBeLessThanOrEqual(4);
    await store.close();
  });
});

describe('a database that becomes read-only', () => {
  // F163: the database becomes read-only, with or without requests: noticed without a charge; 503,
  // nothing sent upstream; recovers by itself, each response charged.
  it('is noticed while nothing is charged, refuses requests, and recovers by itself', async () => {
    const connectionString = await server.createDatabase();
    const store = await openPostgresStore({
      connectionString,
      pepper: PEPPER,
      serving: true,
    });
    const keyId = await newKey(store);
    await store.settle(settlement(keyId), DEADLINE);
    const before = await rowsOf(connectionString);
    await store.probeCharging();
    expect(await rowsOf(connectionString)).toEqual(before);

    await server.setReadOnly(connectionString, 'on');
    expect(await untilFault(store, true)).toMatch(/cannot record charges at the moment: .*/);
    await expect(store.readStanding(keyId)).rejects.toThrow(StoreUnavailableError);
    while (!/read-only/.test((await untilFault(store, true)) ?? '')) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    await expect(store.probeCharging()).rejects.toThrow(/read-only/);
    await expect(openPostgresStore({ connectionString, pepper: PEPPER })).rejects.toThrow(
      StoreUnavailableError,
    );
    const guest = await openPostgresStore({ connectionString, pepper: PEPPER, migrate: false });
    await expect(guest.summarize()).resolves.toMatchObject({ accounts: 1 });
    await guest.close();

    await server.setReadOnly(connectionString, 'off');
    await untilFault(store, false);
    expect(await store.readStanding(keyId)).toMatchObject({ standing: 'active' });
    while (store.charging().clockSkewMs === undefined) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    expect(Math.abs(store.charging().clockSkewMs ?? Infinity)).toBeLessThan(60_000);
    expect(await store.audit()).toMatchObject({ isSound: true });
    await store.close();
  });
});

describe('a database that becomes writable, but keeps its sessions', () => {
  // F305: an operator ends the read-only mode, in which the sessions stay: the gateway closes them,
  // and recovers by itself. It had refused all requests until it was restarted.
  it('is charged again', async () => {
    const connectionString = await server.createDatabase();
    const name = new URL(connectionString).pathname.slice(1);
    const store = await openPostgresStore({ connectionString, pepper: PEPPER, serving: true });
    const keyId = await newKey(store);
    await server.setReadOnly(connectionString, 'on');
    while (!/read-only/.test((await untilFault(store, true)) ?? '')) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    // Fills the pool with sessions that are read-only.
    await Promise.all(Array.from({ length: 20 }, () => store.getKey(keyId)));
    const elsewhere = connectionString.replace(name, 'postgres');
    await querySql(elsewhere, `ALTER DATABASE ${name} RESET default_transaction_read_only`);
    await untilFault(store, false);
    await Promise.all(
      Array.from({ length: 20 }, async () => store.settle(settlement(keyId), DEADLINE)),
    );
    expect(store.charging().fault).toBe(undefined);
    expect(await store.audit()).toMatchObject({ isSound: true });
    await store.close();
  });
});

describe('a database that records probes, but no charges', () => {
  // F300: PostgreSQL whose disk is full restarts again and again: the probes that succeed meanwhile
  // admit nobody before a charge that waits is recorded; that is tried at once.
  it('has its fault until a charge that waits is recorded', async () => {
    const connectionString = await server.createDatabase();
    const store = await openPostgresStore({ connectionString, pepper: PEPPER });
    const keyId = await newKey(store);
    await querySql(connectionString, "CREATE TABLE refused AS SELECT '%' AS ids");
    await querySql(connectionString, 'CREATE SEQUENCE probes');
    await querySql(
      connectionString,
      `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF NEW.id SIMILAR TO (SELECT ids FROM refused) THEN RAISE disk_full; END IF;
        PERFORM nextval('probes'); RETURN NEW; END $$`,
    );
    await querySql(
      connectionString,
      'CREATE TRIGGER refuse BEFORE INSERT ON ledger FOR EACH ROW EXECUTE FUNCTION refuse()',
    );
    const charge = settlement(keyId);
    const settled = store.settle(charge, DEADLINE);
    expect(await untilFault(store, true)).toMatch(/cannot record charges at the moment/);
    await querySql(connectionString, `UPDATE refused SET ids = '${charge.requestId}'`);
    const probes = async () => {
      const [row] = await querySql<{ last_value: string; is_called: boolean }>(
        connectionString,
        'SELECT last_value, is_called FROM probes',
      );
      return row?.is_called === true ? Number(row.last_value) : 0;
    };
    while ((await probes()) < 3) {
      expect(store.charging().fault).toBeInstanceOf(StoreUnavailableError);
      await expect(store.readStanding(keyId)).rejects.toThrow(StoreUnavailableError);
    }
    await querySql(connectionString, "UPDATE refused SET ids = ''");
    expect((await settled).outcome).toBe('settled');
    expect(store.charging().fault).toBeUndefined();
    expect(await store.readStanding(keyId)).toMatchObject({ standing: 'active' });
    await store.close();
  });
});

describe('a PostgreSQL whose disk is nearly full', () => {
  const NO_ROOM = /database's disk has no room for the next file of its log: make room/;

  // F301: the disk of PostgreSQL has no room for the next file of its log, without which it
  // restarts: found at the start and when a charge fails; requests are refused until there is room.
  it('cannot record charges, and can when there is room', async () => {
    const disk = mountDisk('160m');
    if (disk === undefined) return;
    let full: OwnPostgresServer | undefined;
    try {
      full = await startPostgresServer(disk.directory);
      const connectionString = await full.createDatabase();
      const store = await openPostgresStore({ connectionString, pepper: PEPPER });
      const { bavail, bsize } = statfsSync(disk.directory);
      disk.fill(bavail * bsize - 8 * 1024 * 1024);
      await expect(store.probeCharging()).rejects.toThrow(NO_ROOM);
      await expect(openPostgresStore({ connectionString, pepper: PEPPER })).rejects.toThrow(
        StoreUnavailableError,
      );
      disk.empty();
      await store.probeCharging();
      await store.close();
    } finally {
      await full?.stop();
      disk.unmount();
    }
  });

  // F301
  it.each([
    ['it has no room', 'disk_full', NO_ROOM],
    ['it may not be so large, so nothing is known', 'configuration_limit_exceeded', undefined],
  ])('is found with a temporary file: %s', async (_how, condition, message) => {
    const connectionString = await databaseWith(
      `CREATE FUNCTION public.pg_size_bytes(size text) RETURNS bigint LANGUAGE plpgsql
        AS $$ BEGIN RAISE ${condition}; END $$`,
    );
    const opening = openPostgresStore({ connectionString, pepper: PEPPER });
    if (message !== undefined) return expect(opening).rejects.toThrow(message);
    const store = await opening;
    await store.probeCharging();
    await store.close();
  });
});

async function rowsOf(connectionString: string): Promise<unknown> {
  return querySql(
    connectionString,
    'SELECT (SELECT count(*) FROM account) AS accounts, (SELECT count(*) FROM api_key) AS keys, ' +
      '(SELECT count(*) FROM ledger) AS entries, (SELECT count(*) FROM usage_hour) AS sums, ' +
      '(SELECT count(*) FROM event) AS events',
  );
}

describe('an embedded ledger whose disk is full', () => {
  // F164: the disk of the embedded ledger fills: refused before nothing is left, so responses in
  // progress are charged; recovers by itself.
  it('is noticed before a charge fails, refuses requests, charges those in progress, and recovers', async () => {
    const disk = mountDisk('24m');
    if (disk === undefined) return;
    const dataDir = disk.directory;
    try {
      const store = await openEmbeddedStore({ dataDir, pepper: PEPPER, serving: true });
      const keyId = await newKey(store);
      // Leaves less than the reserve, and room for the charges of requests in progress.
      disk.fill(20 * 1024 * 1024);
      expect(await untilFault(store, true)).toMatch(/MiB are free on the disk/);
      await expect(store.readStanding(keyId)).rejects.toThrow(StoreUnavailableError);
      await expect(store.probeCharging()).rejects.toThrow(StoreUnavailableError);
      expect(await store.settle(settlement(keyId), DEADLINE)).toMatchObject({ outcome: 'settled' });
      await expect(openEmbeddedStoreIn(dataDir)).rejects.toThrow();
      disk.empty();
      await untilFault(store, false);
      expect(await store.readStanding(keyId)).toMatchObject({ standing: 'active' });

      // Nothing is left: a charge waits until there is room.
      spawnSync('dd', ['if=/dev/zero', `of=${disk.filler}`, 'bs=64k']);
      const charges = Array.from({ length: 20 }, () => store.settle(settlement(keyId), DEADLINE));
      await untilFault(store, true);
      disk.empty();
      for (const charge of charges) expect((await charge).outcome).toBe('settled');
      await untilFault(store, false);
      expect(await store.audit()).toMatchObject({ isSound: true });
      await store.close();
    } finally {
      disk.unmount();
    }
  });
});

/** @returns a small disk; `undefined`, with a line in the output, if this user may not mount one */
function mountDisk(size: string) {
  const directory = mkdtempSync(join(tmpdir(), 'full-disk-'));
  const filler = join(directory, 'filler');
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', directory]).status !== 0) {
    process.stdout.write('NOT RUN: only root can mount a small file system\n');
    rmSync(directory, { recursive: true });
    return undefined;
  }
  return {
    directory,
    filler,
    fill(bytes: number) {
      expect(spawnSync('fallocate', ['-l', String(bytes), filler]).status).toBe(0);
    },
    empty() {
      rmSync(filler);
    },
    unmount() {
      // Lazily: after an error a server may still have files on it.
      spawnSync('umount', ['--lazy', directory]);
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

function openEmbeddedStoreIn(dataDir: string): Promise<BalanceStore> {
  return openEmbeddedStore({ dataDir, pepper: PEPPER });
}

describe('the watch over charging', () => {
  // F166: a charge fails, but the ledger can record charges: a probe shows it; others are served.
  it('probes when a charge failed, and has no fault if the probe succeeds', async () => {
    const { watch, charges, probes } = watchOver([undefined, 'disk full']);
    charges.failingForMs = 1;
    watch.suspect();
    await new Promise((resolve) => setImmediate(resolve));
    expect([probes.length, watch.fault, charges.retries]).toEqual([1, undefined, 0]);
    watch.suspect();
    await new Promise((resolve) => setImmediate(resolve));
    expect(probes).toHaveLength(2);
    expect(watch.fault?.message).toContain('disk full');
    watch.stop();
  });

  // F300
  it('asks charges to be tried at once after a fault, and waits for one of them', async () => {
    jest.useFakeTimers({ doNotFake: ['setImmediate'] });
    try {
      const { watch, charges, probes } = watchOver([
        'disk full',
        undefined,
        'disk full',
        undefined,
      ]);
      charges.failingForMs = 1;
      watch.suspect();
      for (const retries of [0, 1, 1, 2]) {
        await new Promise((resolve) => setImmediate(resolve));
        expect(charges.retries).toBe(retries);
        expect(watch.fault?.message).toContain('disk full');
        jest.advanceTimersByTime(500);
      }
      expect(probes).toHaveLength(5);
      charges.failingForMs = 0;
      expect(watch.fault).toBeUndefined();
      watch.stop();
    } finally {
      jest.useRealTimers();
    }
  });

  it('believes no probe once charges have failed for long', () => {
    const { watch, charges } = watchOver([]);
    charges.failingForMs = 2_000;
    expect(watch.fault).toBeUndefined();
    charges.failingForMs = 2_001;
    expect(watch.fault?.message).toContain('the last fault');
    charges.failingForMs = 0;
    expect(watch.fault).toBeUndefined();
  });
});

/** @param answers - of the probes: `undefined`, or why no charge can be recorded */
function watchOver(answers: readonly (string | undefined)[]) {
  const probes: (string | undefined)[] = [];
  const charges = {
    failingForMs: 0,
    lastFault: new Error('the last fault'),
    retries: 0,
    retryNow() {
      charges.retries += 1;
    },
  };
  const watch = createChargeWatch(
    {
      check: () => Promise.reject(new Error('not asked')),
      probe() {
        const answer = answers[probes.length];
        probes.push(answer);
        return answer === undefined ? Promise.resolve() : Promise.reject(new Error(answer));
      },
    },
    { charges, isPeriodic: false },
  );
  return { watch, charges, probes };
}
