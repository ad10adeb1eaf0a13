/**
 * The store when PostgreSQL or a writer is killed, unreachable or frozen. The tests start a
 * PostgreSQL server of their own.
 */

import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { StoreUnavailableError } from '../../src/index.js';
import type { BalanceStore, SettleOutcome } from '../../src/index.js';
import { Client } from 'pg';
import { openPostgresStore } from '../../src/postgres/index.js';
import { sampleLimits, settlement } from '../../src/testing/index.js';
import { querySql, startPostgresServer } from '../postgres-server.js';
import type { OwnPostgresServer } from '../postgres-server.js';
import { expectAllOnce, spawnWriter } from '../writer-process.js';
import { runs } from '../../../../scripts/runs.cjs';

const PEPPER = 'pepper of the tests';

/**
 * Forwards everything to the server. On request, drops the answer to the first message with some
 * text, so not that of a check that the store makes by itself.
 */
async function startDeafProxy(connectionString: string) {
  const target = new URL(connectionString);
  let swallowed: string | undefined;
  const sockets = new Set<Socket>();
  const proxy = createServer((inbound) => {
    const outbound = connect(Number(target.port), target.hostname);
    let isDeaf = false;
    for (const socket of [inbound, outbound]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        inbound.destroy();
        outbound.destroy();
      });
    }
    inbound.on('data', (bytes: Buffer) => {
      if (swallowed !== undefined && bytes.includes(swallowed)) {
        swallowed = undefined;
        isDeaf = true;
      }
      outbound.write(bytes);
    });
    outbound.on('data', (bytes) => {
      // The server has answered, so it has committed.
      if (isDeaf) inbound.resetAndDestroy();
      else inbound.write(bytes);
    });
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  const url = new URL(connectionString);
  url.port = String((proxy.address() as AddressInfo).port);
  return {
    url: url.href,
    swallowAnswerTo(text: string) {
      swallowed = text;
    },
    async stop() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => proxy.close(resolve));
    },
  };
}

let server: OwnPostgresServer;
beforeAll(async () => {
  server = await startPostgresServer();
});
afterAll(() => server.stop());

/** After a fault, the store probes twice a second until a charge can be recorded. */
async function untilCharging(store: BalanceStore): Promise<void> {
  while (store.charging().fault !== undefined) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

async function openWithKey() {
  const connectionString = await server.createDatabase();
  const store = await openPostgresStore({ connectionString, pepper: PEPPER });
  const { record } = await store.createKey({ name: 'k', limits: sampleLimits, expiresAt: null });
  await store.topUp({
    topUpId: '1',
    to: { keyId: record.id },
    amount: 10n ** 14n,
    by: { name: 'tests' },
  });
  return { store, keyId: record.id, connectionString };
}

/** Creates a database for a role that is not a superuser, because limits do not bind superusers. */
async function openAsRole(role: string) {
  const administrated = await server.createDatabase();
  const administer = (sql: string, values?: readonly string[]) =>
    querySql(administrated, sql, values);
  await administer(`CREATE ROLE ${role} LOGIN`);
  await administer(`GRANT ALL ON SCHEMA public TO ${role}`);
  const url = new URL(administrated);
  url.username = role;
  return { connectionString: url.href, administer };
}

describe('PostgreSQL faults', () => {
  // F7: PostgreSQL is stopped at once during commits: charges retried under the same ids: none
  // lost, none doubled.
  it('immediate restarts while charges are committed lose and double none of them', async () => {
    const { store, keyId } = await openWithKey();
    const acknowledged = new Map<string, bigint>();
    let isRunning = true;
    const client = async () => {
      while (isRunning) {
        const charge = settlement(keyId);
        const { outcome } = await store.settle(charge, { deadlineMs: 30_000 });
        // "replayed" if the answer to the commit was lost.
        expect(['settled', 'replayed']).toContain(outcome);
        acknowledged.set(charge.requestId, charge.amount);
      }
    };
    const clients = Array.from({ length: 64 }, client);
    for (let restart = 0; restart < 3; restart += 1) {
      await new Promise((resolve) => setTimeout(resolve, 300));
      await server.restartImmediately();
    }
    await new Promise((resolve) => setTimeout(resolve, 300));
    isRunning = false;
    await Promise.all(clients);
    await expectAllOnce(store, acknowledged);
    const { entries } = await store.audit();
    expect(entries).toBe(acknowledged.size + 1);
    await store.close();
  });

  // F8
  it('while the database is down, reads fail, charges wait, and both recover', async () => {
    const { store, keyId } = await openWithKey();
    await server.stopImmediately();
    await expect(store.readStanding(keyId)).rejects.toThrow(StoreUnavailableError);
    await expect(store.getKey(keyId)).rejects.toThrow(StoreUnavailableError);
    await expect(store.listEntries({ limit: 1 })).rejects.toThrow(StoreUnavailableError);
    await expect(store.listArchives()).rejects.toThrow(StoreUnavailableError);
    await expect(store.ping()).rejects.toThrow(StoreUnavailableError);
    const late = settlement(keyId);
    await expect(store.settle(late, { deadlineMs: 300 })).rejects.toThrow(StoreUnavailableError);

    const charges = Array.from({ length: 200 }, () => settlement(keyId));
    const outcomes = charges.map((charge) => store.settle(charge, { deadlineMs: 30_000 }));
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect(store.pendingSettlements()).toBe(charges.length);
    await server.start();
    const settled = await Promise.all<SettleOutcome>(outcomes);
    expect(settled.every(({ outcome }) => outcome === 'settled')).toBe(true);
    const { entries } = await store.audit();
    expect(entries).toBe(charges.length + 1);
    await untilCharging(store);
    expect((await store.readStanding(keyId)).standing).toBe('active');
    await store.close();
  });

  it('a database that hangs does not hang admission', async () => {
    const { store, keyId } = await openWithKey();
    await store.readStanding(keyId);
    server.freeze('SIGSTOP');
    await expect(store.readStanding(keyId)).rejects.toThrow(StoreUnavailableError);
    await expect(store.readStanding(keyId)).rejects.toThrow(StoreUnavailableError);
    const charge = settlement(keyId);
    const settled = store.settle(charge, { deadlineMs: 30_000 });
    server.freeze('SIGCONT');
    expect((await settled).outcome).toBe('settled');
    await untilCharging(store);
    expect((await store.readStanding(keyId)).standing).toBe('active');
    await store.close();
  });

  // F12: connection lost after the commit: found at the retry: `replayed`, one entry, 5 of 5.
  it('a commit whose answer was lost with its connection is found, not repeated', async () => {
    const connectionString = await server.createDatabase();
    const proxy = await startDeafProxy(connectionString);
    const store = await openPostgresStore({ connectionString: proxy.url, pepper: PEPPER });
    const { record } = await store.createKey({ name: 'k', limits: sampleLimits, expiresAt: null });
    await store.settle(settlement(record.id), { deadlineMs: 20_000 });
    for (let round = 0; round < 5; round += 1) {
      const charge = settlement(record.id);
      proxy.swallowAnswerTo(charge.requestId);
      const { outcome } = await store.settle(charge, { deadlineMs: 20_000 });
      expect(outcome).toBe('replayed');
    }
    expect(await store.audit()).toMatchObject({ isSound: true, entries: 6, conflicts: 0 });
    await store.close();
    await proxy.stop();
  });

  // F11
  it('a read-only database stops admission and loses no charge', async () => {
    const { store, keyId, connectionString } = await openWithKey();
    await server.setReadOnly(connectionString, 'on');
    const charge = settlement(keyId);
    const settled = store.settle(charge, { deadlineMs: 30_000 });
    // Reads still work, but the first ones may get a closed connection.
    const read = () => store.getKey(keyId).catch((error: unknown) => error);
    for (let key = await read(); key instanceof StoreUnavailableError;) key = await read();
    expect((await store.getKey(keyId))?.isActive).toBe(true);
    const admission = async () => (await store.readStanding(keyId)).standing;
    // The first reason may be the closed connection.
    const refusal = () => admission().catch((error: unknown) => String(error));
    while (!(await refusal()).includes('read-only')) {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    await expect(admission()).rejects.toThrow(/cannot record charges .*: .*read-only/);
    const hold = { requestId: 'h', keyId, amount: 1n };
    await expect(store.placeHold(hold)).rejects.toThrow('cannot record charges');
    await server.setReadOnly(connectionString, 'off');
    expect((await settled).outcome).toBe('settled');
    await untilCharging(store);
    expect(await admission()).toBe('active');
    await store.close();
  });

  // F10
  it('a server without free connections does not stop a store that has its own', async () => {
    const { store, keyId, connectionString } = await openWithKey();
    const hogs: Client[] = [];
    for (;;) {
      const hog = new Client({ connectionString });
      hog.on('error', () => undefined);
      try {
        await hog.connect();
        hogs.push(hog);
      } catch {
        break;
      }
    }
    expect(hogs.length).toBeGreaterThan(50);
    const another = openPostgresStore({ connectionString, pepper: PEPPER });
    await expect(another).rejects.toThrow(StoreUnavailableError);
    const charges = Array.from({ length: 300 }, () => settlement(keyId));
    const outcomes = await Promise.all(
      charges.map((charge) => store.settle(charge, { deadlineMs: 30_000 })),
    );
    expect(outcomes.every(({ outcome }) => outcome === 'settled')).toBe(true);
    await Promise.all(hogs.map((hog) => hog.end()));
    await (await openPostgresStore({ connectionString, pepper: PEPPER })).close();
    await store.close();
  });

  // F10: PostgreSQL out of connections: charges wait, new requests 503; operators' queries delay no
  // request.
  it('a server that gives the store no connection makes charges wait and refuses admission', async () => {
    const { connectionString, administer } = await openAsRole('limited');
    const store = await openPostgresStore({ connectionString, pepper: PEPPER });
    const { record } = await store.createKey({ name: 'k', limits: sampleLimits, expiresAt: null });
    await store.topUp({
      topUpId: '1',
      to: { keyId: record.id },
      amount: 10n ** 14n,
      by: { name: 'tests' },
    });
    await administer('ALTER ROLE limited CONNECTION LIMIT 0');
    await administer(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'limited'",
    );
    // The first reason may be the closed connection.
    const read = () => store.readStanding(record.id).catch((error: unknown) => error);
    let refusal = await read();
    while (!String(refusal).includes('too many connections for role')) {
      await new Promise((resolve) => setTimeout(resolve, 50));
      refusal = await read();
    }
    expect(refusal).toBeInstanceOf(StoreUnavailableError);
    const charges = Array.from({ length: 300 }, () => settlement(record.id));
    const outcomes = charges.map((charge) => store.settle(charge, { deadlineMs: 30_000 }));
    expect(await administer('SELECT id FROM ledger WHERE kind = $1', ['charge'])).toEqual([]);
    expect(store.pendingSettlements()).toBe(charges.length);
    await administer('ALTER ROLE limited CONNECTION LIMIT -1');
    const settled = await Promise.all<SettleOutcome>(outcomes);
    expect(settled.every(({ outcome }) => outcome === 'settled')).toBe(true);
    await untilCharging(store);
    expect((await store.readStanding(record.id)).standing).toBe('active');
    await store.close();
    expect(
      await administer('SELECT id FROM ledger WHERE kind = $1 ORDER BY id', ['charge']),
    ).toEqual(charges.map(({ requestId: id }) => ({ id })).sort((a, b) => (a.id < b.id ? -1 : 1)));
  });

  // F10
  it('operators who wait for the database do not delay requests', async () => {
    const { store, keyId, connectionString } = await openWithKey();
    const locker = new Client({ connectionString });
    await locker.connect();
    await locker.query('BEGIN; LOCK TABLE ledger_block');
    // One operation for each connection in the operators' pool.
    const errands = [store.sealEntries(), store.sealEntries()];
    const stuck = async () =>
      (await locker.query("SELECT FROM pg_locks WHERE locktype = 'relation' AND NOT granted")).rows;
    while ((await stuck()).length < errands.length) await new Promise(setImmediate);
    const charges = Array.from({ length: 100 }, () => settlement(keyId));
    const outcomes = await Promise.all(
      charges.map((charge) => store.settle(charge, { deadlineMs: 30_000 })),
    );
    expect(outcomes.every(({ outcome }) => outcome === 'settled')).toBe(true);
    expect((await store.readStanding(keyId)).standing).toBe('active');
    expect(await store.getKey(keyId)).toMatchObject({ id: keyId });
    expect(await stuck()).toHaveLength(errands.length);
    await locker.query('COMMIT');
    await locker.end();
    await Promise.all(errands);
    await store.close();
  });

  // F29: restore from a backup: the audit names a missing block; nothing charged twice. Differs: an
  // audit of the restored ledger alone finds it sound, because it was sound when it was saved.
  // `--anchor`, with an end of the chain from the log, and `--witness` reveal the missing entries.
  it('after a restore an anchor shows the missing block, a witness the missing charges, and nothing is charged twice', async () => {
    const { store, keyId, connectionString } = await openWithKey();
    const settle = async (count: number) => {
      const charges = Array.from({ length: count }, () => settlement(keyId));
      await Promise.all(charges.map((charge) => store.settle(charge, { deadlineMs: 30_000 })));
      return charges;
    };
    const kept = await settle(20);
    await store.sealEntries({ all: true });
    const backup = await server.copyDatabase(connectionString);
    const lost = await settle(10);
    const anchor = await store.sealEntries();
    await store.close();

    const restored = await openPostgresStore({ connectionString: backup, pepper: PEPPER });
    const ids = [...kept, ...lost].map(({ requestId }) => requestId);
    const found = new Set((await restored.findEntries(ids)).map(({ id }) => id));
    expect(ids.filter((id) => !found.has(id))).toEqual(lost.map(({ requestId }) => requestId));
    expect((await restored.audit()).isSound).toBe(true);
    expect((await restored.audit({ anchor })).differences).toMatchObject([
      { check: 'block', expected: `block 2: anchored hash ${anchor?.hash ?? ''}`, found: 'none' },
    ]);
    const again = await Promise.all(
      [...kept, ...lost].map((charge) => restored.settle(charge, { deadlineMs: 30_000 })),
    );
    expect(again.filter(({ outcome }) => outcome === 'replayed')).toHaveLength(kept.length);
    expect(again.filter(({ outcome }) => outcome === 'settled')).toHaveLength(lost.length);
    expect(await restored.audit()).toMatchObject({ isSound: true, entries: 31 });
    await restored.close();
  });

  it('opening a store without a database fails', async () => {
    const opening = openPostgresStore({
      connectionString: 'postgres://postgres@127.0.0.1:1/none',
      pepper: PEPPER,
    });
    await expect(opening).rejects.toThrow(StoreUnavailableError);
  });

  // F4, F133
  it('charges through 5 killed writers and an immediate restart: none lost, none doubled', async () => {
    const charges = runs(__filename, 'charges of all writers');
    const connectionString = await server.createDatabase();
    await (await openPostgresStore({ connectionString, pepper: PEPPER })).close();
    const acknowledged = new Map<string, bigint>();
    const run = () => spawnWriter(['postgres', connectionString, '100'], acknowledged);
    let writers = [run(), run()];
    for (let kill = 1; kill <= 5; kill += 1) {
      const [victim, ...others] = writers;
      await victim?.hasAcknowledged(charges / 10);
      if (kill === 3) await server.restartImmediately();
      await victim?.kill();
      writers = [...others, run()];
    }
    while (acknowledged.size < charges) await new Promise((resolve) => setTimeout(resolve, 20));
    await Promise.all(writers.map((writer) => writer.kill()));
    const store = await openPostgresStore({ connectionString, pepper: PEPPER });
    await expectAllOnce(store, acknowledged);
    await store.close();
  });
});
