/** The events about keys that may have leaked: a new model, a new network, an unusual pace. */

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { KEY_HABITS, SetByOperatorError } from '@gateway/balance-store';
import type { BalanceStore, KeyRecord } from '@gateway/balance-store';
import { openEmbeddedStore } from '@gateway/balance-store/embedded';
import { openPostgresStore } from '@gateway/balance-store/postgres';
import { closeAny, sampleLimits, settlement } from '@gateway/balance-store/testing';
import {
  querySql,
  usePostgresServer,
} from '../../../../packages/balance-store/test/postgres-server.js';
import type { PostgresServer } from '../../../../packages/balance-store/test/postgres-server.js';
import { startLeakWatch } from '../../src/observe/leaks/leak-watch.js';
import { startNetworkWatch } from '../../src/observe/leaks/network-watch.js';
import type { NetworkWatch } from '../../src/observe/leaks/network-watch.js';
import { createRemoteCaller } from '../../src/operator/operations/callers.js';
import { spawnGateway } from '../support/gateway-process.js';
import { postMessages, startTestGateway, userMessage } from '../support/gateway.js';
import { untilSteady } from '../support/steady-time.js';
import { until } from '../support/until.js';

const log = pino({ level: 'silent' });
const HOUR_MS = 3_600_000;
const BY = { name: 'tests' };
const TOKENS_PER_USD = 1_000_000 / 3;

const PEPPER = 'pepper of the tests';

let postgres: PostgresServer;
beforeAll(async () => {
  postgres = await usePostgresServer();
});
afterAll(() => postgres.stop());

let store: BalanceStore;
/** Those of several gateways, if the ledger admits several. */
let stores: readonly BalanceStore[];
let runSql: (sql: string) => Promise<void>;
let cleanUp: () => void;
let turn = 0;

async function openLedger(ledger: 'embedded' | 'PostgreSQL'): Promise<void> {
  if (ledger === 'PostgreSQL') {
    const connectionString = await postgres.createDatabase();
    const open = () => openPostgresStore({ connectionString, pepper: PEPPER });
    stores = [await open(), await open()];
    runSql = async (sql) => void (await querySql(connectionString, sql));
    cleanUp = () => undefined;
  } else {
    const dataDir = mkdtempSync(join(tmpdir(), 'gateway-leaks-'));
    stores = [await openEmbeddedStore({ dataDir, pepper: PEPPER })];
    runSql = (sql) => {
      const database = new DatabaseSync(join(dataDir, 'ledger.db'));
      database.exec(sql);
      database.close();
      return Promise.resolve();
    };
    cleanUp = () => {
      rmSync(dataDir, { recursive: true, force: true });
    };
  }
  store = storeOfNext();
}

/** Of each gateway in turn. */
function storeOfNext(): BalanceStore {
  turn += 1;
  const next = stores[turn % stores.length];
  if (next === undefined) throw new Error('there is no store');
  return next;
}

async function newKey(): Promise<KeyRecord> {
  const created = await store.create({
    account: { name: 'n' },
    key: { name: 'k', limits: sampleLimits, expiresAt: null },
    credit: { amount: 10n ** 18n, source: 'paid' },
    by: BY,
  });
  if (created.outcome !== 'created' || created.key === undefined) throw new Error('not created');
  return created.key;
}

async function charge({ id }: KeyRecord, model: string, usd = 0.003): Promise<void> {
  const usage = { inputTokens: Math.round(usd * TOKENS_PER_USD) };
  await store.settle(settlement(id, { model, usage }), { deadlineMs: 20_000 });
}

/** Makes all charges so many hours older. */
const age = (hours: number) => runSql(`UPDATE usage_hour SET hour = hour - ${String(hours)}`);

/** What was written about keys, in the order of time. */
async function told() {
  const events = await store.listEvents({ limit: 100 });
  return events
    .filter(({ type }) => type.startsWith('key.'))
    .map(({ type, keyId, data }) => [type, keyId, data]);
}

describe.each(['embedded', 'PostgreSQL'] as const)('on the %s ledger', (ledger) => {
  beforeEach(() => openLedger(ledger));
  afterEach(async () => {
    for (const each of stores) await each.close();
    cleanUp();
  });

  describe('what a key is charged for', () => {
    const watch = (mode: 'off' | 'notify' | 'suspend' = 'notify') =>
      startLeakWatch({ store: storeOfNext(), mode, log, now: Date.now });

    /** As two gateways, which then start again. */
    async function look(mode: 'notify' | 'suspend' = 'notify'): Promise<void> {
      for (const replicas of [
        [watch(mode), watch(mode)],
        [watch(mode), watch(mode)],
      ]) {
        await Promise.all(replicas.map((replica) => replica.look()));
        for (const replica of replicas) await replica.look();
        for (const replica of replicas) await replica.stop();
      }
    }

    it('reports a model that the key never used, once, and after the event was deleted', async () => {
      await untilSteady('hour');
      const [key, other] = [await newKey(), await newKey()];
      for (const model of ['usual', 'rare']) await charge(key, model);
      await charge(other, 'usual');
      await age(48);
      await charge(key, 'usual');
      await look();
      expect(await told()).toEqual([]);
      await charge(key, 'probed');
      await look();
      const event = ['key.new_model', key.id, { model: 'probed', action: 'notify' }];
      expect(await told()).toEqual([event]);
      await charge(other, 'probed');
      await charge(key, 'probed');
      await look();
      expect(await told()).toEqual([event, ['key.new_model', other.id, event[2]]]);
      await runSql('DELETE FROM event');
      await look();
      expect(await told()).toEqual([]);
      expect((await store.getKey(key.id))?.state).toBe('active');
    });

    it('reports a model in each look after the first, too', async () => {
      await untilSteady('hour');
      const key = await newKey();
      await charge(key, 'usual');
      await age(48);
      const running = watch();
      await running.look();
      await charge(key, 'probed');
      await running.look();
      expect(await told()).toMatchObject([['key.new_model', key.id, { model: 'probed' }]]);
      await running.stop();
    });

    it('reports no model that the key began to use within a day after its first charge', async () => {
      await untilSteady('hour');
      const key = await newKey();
      await charge(key, 'first');
      await age(20);
      await charge(key, 'second');
      await look();
      // More than a day after the first charge.
      await age(10);
      await look();
      expect(await told()).toEqual([]);
    });

    it('reports an hour of more than ten times the mean of 14 days, once a day', async () => {
      await untilSteady('hour');
      const key = await newKey();
      // 0.1 USD an hour for two days.
      await charge(key, 'usual', 4.8);
      await age(48);
      await charge(key, 'usual', 0.999);
      await look();
      expect(await told()).toEqual([]);
      await charge(key, 'usual', 0.003);
      await look();
      const hour = new Date(Math.floor(Date.now() / HOUR_MS) * HOUR_MS).toISOString();
      const data = { hour, charged_usd: '1.002', usual_usd: '0.1', action: 'notify' };
      expect(await told()).toEqual([['key.pace', key.id, data]]);
      await charge(key, 'usual', 50);
      await look();
      expect(await told()).toHaveLength(1);
    });

    it.each([
      ['below the least amount', 0.1, 0.99],
      ['at ten times the mean', 4.8 * 3, 3],
    ])('reports no hour %s', async (_, before, now) => {
      await untilSteady('hour');
      const key = await newKey();
      await charge(key, 'usual', before);
      await age(48);
      await charge(key, 'usual', now);
      await look();
      expect(await told()).toEqual([]);
    });

    it('reports no pace within a day after the first charge, and one after a long pause', async () => {
      await untilSteady('hour');
      const key = await newKey();
      await charge(key, 'usual', 0.03);
      await age(23);
      await charge(key, 'usual', 9);
      await look();
      expect(await told()).toEqual([]);
      await age(20 * 24);
      await charge(key, 'usual', 1.2);
      await look();
      expect(await told()).toMatchObject([['key.pace', key.id, { usual_usd: '0' }]]);
    });

    it('suspends the key if it is to, and the trail says why; what an operator resumed stays', async () => {
      await untilSteady('hour');
      const key = await newKey();
      await charge(key, 'usual');
      await age(48);
      await charge(key, 'probed');
      await look('suspend');
      expect((await store.getKey(key.id))?.state).toBe('suspended');
      const { accountId } = key;
      const trail = await store.listTrail({ accountId, limit: 10 });
      const suspensions = trail.filter(({ action }) => action === 'key.suspend');
      expect(suspensions).toMatchObject([
        { actor: 'gateway', keyId: key.id, details: { reason: 'key.new_model' } },
      ]);
      const holder = { name: key.id, holderOf: accountId };
      await expect(store.resumeKey(key.id, holder)).rejects.toThrow(SetByOperatorError);
      await store.resumeKey(key.id, BY);
      await look('suspend');
      expect((await store.getKey(key.id))?.state).toBe('active');
      expect((await told()).map(([type]) => type)).toEqual([
        'key.new_model',
        'key.suspended',
        'key.resumed',
      ]);
      const { differences } = await store.audit();
      // The charges are not as old as their sums.
      expect(differences.filter(({ check }) => check !== 'usage')).toEqual([]);
    });

    it('is not read without LEAK_EVENTS', async () => {
      const unused = new Proxy(store, {
        get: (_, name) => {
          throw new Error(`reads ${String(name)}`);
        },
      });
      const off = startLeakWatch({ store: unused, mode: 'off', log, now: Date.now });
      await off.look();
      await off.stop();
      const parts = { store: unused, mode: 'off', log, now: Date.now, pepper: 'p' } as const;
      expect(startNetworkWatch(parts)).toBeUndefined();
    });
  });

  describe('where a key is used', () => {
    let now = Date.now();
    function open(pepper = 'pepper of the tests', mode: 'notify' | 'suspend' = 'notify') {
      const parts = { store: storeOfNext(), mode, pepper, log, now: () => now };
      const watch = startNetworkWatch(parts);
      if (watch === undefined) throw new Error('there is no watch');
      return watch;
    }
    async function see(key: KeyRecord, watch: NetworkWatch, ...addresses: readonly string[]) {
      for (const address of addresses) watch.seen(key, address);
      await watch.look();
    }
    const habitsOf = async ({ id }: KeyRecord) =>
      (await store.getDocument(KEY_HABITS, id))?.data as
        { readonly networks?: readonly string[]; readonly since?: string } | undefined;

    it('is reported for each network that is new after the first day, once', async () => {
      const key = await newKey();
      const [one, other] = [open(), open()];
      await see(key, one, '192.0.2.1', '2001:db8:1::1');
      now += 23 * HOUR_MS;
      await see(key, other, '198.51.100.1');
      expect(await told()).toEqual([]);
      now += HOUR_MS;
      await see(key, one, '192.0.2.99', '::ffff:192.0.2.7', '2001:db8:1:ffff::2', '198.51.100.1');
      expect(await told()).toEqual([]);
      await Promise.all(
        [one, other].map((each) => see(key, each, '203.0.113.1', '2001:db8:2::1', '203.0.113.2')),
      );
      const event = ['key.new_network', key.id, { action: 'notify' }];
      expect(await told()).toEqual([event, event]);
      await runSql('DELETE FROM event');
      // As after a restart.
      await see(key, open(), '203.0.113.7', '2001:db8:2:2::', '192.0.2.3');
      expect(await told()).toEqual([]);
      await see(key, open(), '203.0.114.1', 'nonsense');
      expect(await told()).toEqual([event]);
      expect((await habitsOf(key))?.networks).toHaveLength(6);
    });

    it('is recorded of several gateways at once, and none is lost', async () => {
      const key = await newKey();
      const networks = Array.from({ length: 30 }, (_, n) => `10.0.${String(n)}.1`);
      await Promise.all(
        [open(), open(), open()].map((watch, at) =>
          see(key, watch, ...networks.slice(at * 5, at * 5 + 20)),
        ),
      );
      expect(new Set((await habitsOf(key))?.networks).size).toBe(30);
      expect((await habitsOf(key))?.networks).toHaveLength(30);
    });

    it('is stored as hashes, other ones for each key and secret, which an erasure removes', async () => {
      const [key, other] = [await newKey(), await newKey()];
      await see(key, open(), '192.0.2.1');
      await see(other, open(), '192.0.2.1');
      const stored = JSON.stringify([await habitsOf(key), await habitsOf(other)]);
      expect(stored).not.toContain('192.0');
      const [first, second] = [await habitsOf(key), await habitsOf(other)];
      expect(first?.networks?.[0]).toMatch(/^[\w-]{22}$/);
      expect(first?.networks).not.toEqual(second?.networks);
      // With another secret nothing can be compared, so the first day begins again.
      now += 48 * HOUR_MS;
      await see(key, open('another pepper'), '192.0.2.1', '198.51.100.1');
      expect(await told()).toEqual([]);
      expect((await habitsOf(key))?.since).toBe(new Date(now).toISOString());
      expect((await habitsOf(key))?.networks).toHaveLength(2);
      await closeAny(store, key.accountId);
      await store.eraseAccount(key.accountId, BY);
      expect(await habitsOf(key)).toEqual({});
      expect(await habitsOf(other)).toEqual(second);
    });

    it('is not reported of a key that is used from very many networks', async () => {
      const key = await newKey();
      await see(key, open(), '192.0.2.1');
      const first = await store.getDocument(KEY_HABITS, key.id);
      const networks = Array.from({ length: 499 }, (_, n) => `hash ${String(n)}`);
      await store.writeDocument({
        kind: KEY_HABITS,
        id: key.id,
        accountId: key.accountId,
        version: first?.version ?? 0,
        data: { ...first?.data, networks },
      });
      now += 24 * HOUR_MS;
      await see(key, open(), '198.51.100.1');
      expect(await told()).toHaveLength(1);
      await see(key, open(), '203.0.113.1');
      expect(await told()).toHaveLength(1);
      expect((await habitsOf(key))?.networks).toHaveLength(500);
    });

    it('suspends the key if it is to', async () => {
      const key = await newKey();
      const watch = open(undefined, 'suspend');
      await see(key, watch, '192.0.2.1');
      now += 24 * HOUR_MS;
      await see(key, watch, '203.0.113.1');
      expect((await store.getKey(key.id))?.state).toBe('suspended');
      expect((await told()).map(([type]) => type)).toEqual(['key.new_network', 'key.suspended']);
    });

    it('is looked up again by a later request if the ledger could not be read', async () => {
      const key = await newKey();
      let isDown = true;
      const flaky = {
        getDocument: (...of: Parameters<typeof store.getDocument>) =>
          isDown ? Promise.reject(new Error('down')) : store.getDocument(...of),
        writeDocument: store.writeDocument.bind(store),
        recordEvent: store.recordEvent.bind(store),
        suspendKey: store.suspendKey.bind(store),
      };
      const watch = startNetworkWatch({
        store: flaky,
        mode: 'notify',
        pepper: 'p',
        log,
        now: () => now,
      });
      if (watch === undefined) throw new Error('there is no watch');
      await see(key, watch, '192.0.2.1');
      expect(await habitsOf(key)).toBeUndefined();
      isDown = false;
      await see(key, watch, '192.0.2.1');
      expect((await habitsOf(key))?.networks).toHaveLength(1);
      await watch.stop();
    });
  });
});

it('a gateway with LEAK_EVENTS=suspend suspends a key that is used from a new network', async () => {
  const gateway = await startTestGateway({ env: { LEAK_EVENTS: 'suspend', TRUST_PROXY: '1' } });
  try {
    const { id: key_id, apiKey } = await gateway.createKey();
    const { store: ledger } = gateway.running;
    const send = async (address: string) => {
      const headers = { 'x-forwarded-for': address };
      const response = await postMessages(gateway, apiKey, userMessage('Hello'), headers);
      await response.text();
      return response.status;
    };
    expect(await send('192.0.2.1')).toBe(200);
    const found = () => ledger.getDocument(KEY_HABITS, key_id);
    await until(async () => (await found()) !== undefined);
    const habits = await found();
    if (habits === undefined) throw new Error('there are no habits');
    const since = new Date(Date.now() - 25 * HOUR_MS).toISOString();
    const { kind: _, ...of } = habits;
    await ledger.writeDocument({ kind: KEY_HABITS, ...of, data: { ...habits.data, since } });
    expect(await send('192.0.2.2')).toBe(200);
    expect(await send('203.0.113.1')).toBe(200);
    await until(async () => (await gateway.call('showKey', { key_id })).state === 'suspended');
    expect(await send('192.0.2.1')).toBe(401);
    const { data } = await gateway.call('listEvents', {});
    expect(data.map(({ type }) => type)).toEqual(
      expect.arrayContaining(['key.new_network', 'key.suspended']),
    );
  } finally {
    await gateway.stop();
  }
});

it('workers look at networks, and a key that one of them suspends is refused by all', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'gateway-leaks-'));
  const env = { DATA_DIR: dataDir, WORKERS: '2', LEAK_EVENTS: 'suspend', TRUST_PROXY: '1' };
  const gateway = await spawnGateway(env);
  const sql = (text: string) => {
    const database = new DatabaseSync(join(dataDir, 'ledger.db'));
    const rows = database.prepare(text).all();
    database.close();
    return rows;
  };
  try {
    const token = readFileSync(join(dataDir, 'admin-token'), 'utf8').trim();
    const call = createRemoteCaller({ url: gateway.adminUrl, token });
    const created = await call('createKey', { name: 'k', balance_usd: '9' });
    const send = async (address: string) => {
      const headers = { 'x-forwarded-for': address, connection: 'close' };
      const of = created.api_key ?? '';
      const response = await postMessages(gateway, of, userMessage('Hello'), headers);
      await response.text();
      return response.status;
    };
    expect(await send('192.0.2.1')).toBe(200);
    await until(() => sql("SELECT 1 FROM document WHERE kind = 'key_habits'").length === 1);
    const since = `json_set(data, '$.since', '2026-01-01T00:00:00.000Z')`;
    sql(`UPDATE document SET data = ${since} WHERE kind = 'key_habits'`);
    expect(await send('203.0.113.1')).toBe(200);
    const key_id = created.id;
    await until(async () => (await call('showKey', { key_id })).state === 'suspended');
    for (let n = 0; n < 4; n += 1) expect(await send('192.0.2.1')).toBe(401);
    const { data } = await call('listTrail', { key_id });
    expect(data).toContainEqual(
      expect.objectContaining({
        action: 'key.suspend',
        actor: 'gateway',
        details: expect.objectContaining({ reason: 'key.new_network' }),
      }),
    );
  } finally {
    gateway.send('SIGTERM');
    await gateway.exited;
    rmSync(dataDir, { recursive: true, force: true });
  }
});

it('a gateway without LEAK_EVENTS looks at no network', async () => {
  const gateway = await startTestGateway();
  try {
    expect(gateway.running.appParts.networks).toBeUndefined();
  } finally {
    await gateway.stop();
  }
});
