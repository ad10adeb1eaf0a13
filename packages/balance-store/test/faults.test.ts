/** PostgreSQL killed, gone, frozen; writers killed. A server of our own, because it suffers. */

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { StoreUnavailableError } from '../src/index.js';
import type { SettleOutcome } from '../src/index.js';
import { openPostgresStore } from '../src/postgres/index.js';
import { sampleLimits, settlement } from '../src/testing/index.js';
import { startPostgresServer } from './postgres-server.js';
import type { OwnPostgresServer } from './postgres-server.js';
import { expectAllOnce, spawnWriter } from './writer-process.js';

const PEPPER = 'pepper of the tests';

let server: OwnPostgresServer;
beforeAll(async () => {
  server = await startPostgresServer();
});
afterAll(() => server.stop());

async function openWithKey() {
  const connectionString = await server.createDatabase();
  const store = await openPostgresStore({ connectionString, pepper: PEPPER });
  const { record } = await store.createKey({ name: 'k', limits: sampleLimits, expiresAt: null });
  await store.topUp({ topUpId: '1', keyId: record.id, amount: 10n ** 14n, actor: 'tests' });
  return { store, keyId: record.id, connectionString };
}

describe('PostgreSQL faults', () => {
  it('immediate restarts while charges are committed lose and double none of them', async () => {
    const { store, keyId } = await openWithKey();
    const acknowledged = new Map<string, bigint>();
    let isRunning = true;
    const client = async () => {
      while (isRunning) {
        const charge = settlement(keyId);
        const { outcome } = await store.settle(charge, { deadlineMs: 30_000 });
        // "replayed" when the commit's answer was what got lost.
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

  it('while the database is down, reads fail soon, charges wait, and both recover', async () => {
    const { store, keyId } = await openWithKey();
    await server.stopImmediately();
    const start = performance.now();
    await expect(store.readStanding(keyId)).rejects.toThrow(StoreUnavailableError);
    await expect(store.getKey(keyId)).rejects.toThrow(StoreUnavailableError);
    await expect(store.listEntries({ limit: 1 })).rejects.toThrow(StoreUnavailableError);
    await expect(store.ping()).rejects.toThrow(StoreUnavailableError);
    expect(performance.now() - start).toBeLessThan(4_000);
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
    expect((await store.readStanding(keyId)).standing).toBe('active');
    await store.close();
  });

  it('a database that hangs does not hang admission', async () => {
    const { store, keyId } = await openWithKey();
    await store.readStanding(keyId);
    server.freeze('SIGSTOP');
    const start = performance.now();
    await expect(store.readStanding(keyId)).rejects.toThrow(StoreUnavailableError);
    await expect(store.readStanding(keyId)).rejects.toThrow(StoreUnavailableError);
    expect(performance.now() - start).toBeLessThan(5_000);
    const charge = settlement(keyId);
    const settled = store.settle(charge, { deadlineMs: 30_000 });
    server.freeze('SIGCONT');
    expect((await settled).outcome).toBe('settled');
    expect((await store.readStanding(keyId)).standing).toBe('active');
    await store.close();
  });

  it('opening a store on a database that is not there fails soon', async () => {
    const opening = openPostgresStore({
      connectionString: 'postgres://postgres@127.0.0.1:1/none',
      pepper: PEPPER,
    });
    await expect(opening).rejects.toThrow(StoreUnavailableError);
  });

  it('20,000 charges through 5 killed writers and an immediate restart: none lost, none doubled', async () => {
    const connectionString = await server.createDatabase();
    await (await openPostgresStore({ connectionString, pepper: PEPPER })).close();
    const acknowledged = new Map<string, bigint>();
    const run = () => spawnWriter(['postgres', connectionString, '100'], acknowledged);
    let writers = [run(), run()];
    for (let kill = 1; kill <= 5; kill += 1) {
      const [victim, ...others] = writers;
      await victim?.hasAcknowledged(2_000);
      if (kill === 3) await server.restartImmediately();
      await victim?.kill();
      writers = [...others, run()];
    }
    while (acknowledged.size < 20_000) await new Promise((resolve) => setTimeout(resolve, 20));
    await Promise.all(writers.map((writer) => writer.kill()));
    const store = await openPostgresStore({ connectionString, pepper: PEPPER });
    await expectAllOnce(store, acknowledged);
    await store.close();
  });
});
