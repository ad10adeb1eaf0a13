/**
 * The delivery of events, from both ledgers. The tests check the webhooks that the receiver got.
 */

import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { StoreUnavailableError } from '@gateway/balance-store';
import type { BalanceStore } from '@gateway/balance-store';
import { openEmbeddedStore } from '@gateway/balance-store/embedded';
import { openPostgresStore } from '@gateway/balance-store/postgres';
import { sampleLimits, settlement } from '@gateway/balance-store/testing';
import { startUpstreamSimulator } from '@gateway/upstream-simulator';
import { usePostgresServer } from '../../../../packages/balance-store/test/postgres-server.js';
import type { PostgresServer } from '../../../../packages/balance-store/test/postgres-server.js';
import { DELIVERY_PATIENCE, Deliverer } from '../../src/observe/notifications/deliverer.js';
import type {
  DelivererParts,
  DeliveryPatience,
} from '../../src/observe/notifications/deliverer.js';
import { createWebhookClient } from '../../src/observe/notifications/webhook-client.js';
import { webhookSigner } from '../../src/observe/notifications/webhook-message.js';
import { webhookTarget } from '../../src/observe/notifications/webhook-target.js';
import { createRemoteCaller } from '../../src/operator/operations/callers.js';
import { spawnGateway } from '../support/gateway-process.js';
import { postMessages, userMessage } from '../support/gateway.js';
import { takingOnce } from '../support/take-once.js';
import { until } from '../support/until.js';
import { SECRET, startWebhookReceiver } from '../support/webhook-receiver.js';
import type { ReceivedWebhook, WebhookReceiver } from '../support/webhook-receiver.js';

const PEPPER = 'pepper of the tests';
const USD = 10n ** 14n;
const BY = { name: 'tests' };
const HOOKS = join(__dirname, '../../../../packages/balance-store/test/run-typescript.mjs');
/** Retries soon enough for a test, and gives up only after an hour. */
const SOON: DeliveryPatience = {
  ...DELIVERY_PATIENCE,
  schedule: { delaysMs: [20], giveUpAfterMs: 3_600_000, leastAttempts: 1 },
  pollMs: 20,
};

interface Place {
  /** In the form that `event-sender.ts` expects. */
  readonly args: readonly [kind: string, place: string];
  open(): Promise<BalanceStore>;
}

let postgres: PostgresServer;
const directories: string[] = [];
const cleanUps: (() => Promise<void>)[] = [];
beforeAll(async () => {
  postgres = await usePostgresServer();
});
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});
afterAll(async () => {
  await postgres.stop();
  for (const directory of directories) rmSync(directory, { recursive: true, force: true });
});

async function newPostgresPlace(): Promise<Place> {
  const connectionString = await postgres.createDatabase();
  return {
    args: ['postgres', connectionString],
    open: () => openPostgresStore({ connectionString, pepper: PEPPER }),
  };
}

function newEmbeddedPlace(): Promise<Place> {
  const dataDir = mkdtempSync(join(tmpdir(), 'notifications-'));
  directories.push(dataDir);
  return Promise.resolve({
    args: ['embedded', dataDir],
    open: () => openEmbeddedStore({ dataDir, pepper: PEPPER }),
  });
}

async function openAt(place: Place): Promise<BalanceStore> {
  const store = await place.open();
  cleanUps.push(() => store.close());
  return store;
}

async function receiver(
  ...[respond]: Parameters<typeof startWebhookReceiver>
): Promise<WebhookReceiver> {
  const started = await startWebhookReceiver(respond);
  cleanUps.push(() => started.close());
  return started;
}

function deliver(
  store: DelivererParts['store'],
  { url }: WebhookReceiver,
  patience: Partial<DeliveryPatience> = {},
) {
  const counts = { delivered: 0, failed: 0, givenUp: 0 };
  const deliverer = new Deliverer({
    store,
    target: webhookTarget(
      createWebhookClient({ url, allowPrivate: true }),
      webhookSigner([SECRET]),
    ),
    metrics: {
      count: (what) => {
        counts[what] += 1;
      },
    },
    log: pino({ level: 'silent' }),
    patience: { ...SOON, ...patience },
  });
  cleanUps.push(() => deliverer.stop());
  return { counts, stop: () => deliverer.stop() };
}

/** Writes events of an account, numbered from 1 in `data.entry`. */
async function record(store: BalanceStore, accountId: string, count: number): Promise<void> {
  for (let n = 1; n <= count; n += 1) {
    await store.recordEvent({
      type: 'credit.added',
      accountId,
      keyId: undefined,
      data: { entry: String(n), amount: '5.00000000000000' },
    });
  }
}

const entryOf = ({ message }: ReceivedWebhook): number => Number(message.data['entry']);
const accountOf = ({ message }: ReceivedWebhook): string => message.data['account_id']!;
const numbers = (count: number): readonly number[] =>
  Array.from({ length: count }, (_, n) => n + 1);

async function pendingIn(store: BalanceStore): Promise<number> {
  return (await store.listEvents({ state: 'pending', limit: 1_000 })).length;
}

const LEDGERS = [
  ['PostgreSQL', newPostgresPlace],
  ['the embedded ledger', newEmbeddedPlace],
] as const;

describe.each(LEDGERS)('events of %s', (_name, newPlace) => {
  it('arrive once each and in order for each account, signed, although one in three is refused', async () => {
    const store = await openAt(await newPlace());
    const accounts = ['acct_a', 'acct_b', 'acct_c', 'acct_d', 'acct_e'];
    const accepted: ReceivedWebhook[] = [];
    let requests = 0;
    const to = await receiver((webhook) => {
      requests += 1;
      if (requests % 3 === 0) return 500;
      accepted.push(webhook);
      return 200;
    });
    await Promise.all(accounts.map((account) => record(store, account, 12)));
    const { counts } = deliver(store, to);
    await until(() => accepted.length >= 60);
    await until(async () => (await pendingIn(store)) === 0);

    for (const account of accounts) {
      const entries = accepted.filter((webhook) => accountOf(webhook) === account).map(entryOf);
      expect(entries).toEqual(numbers(12));
    }
    expect(to.forged()).toBe(0);
    expect(counts).toEqual({ delivered: 60, failed: requests - 60, givenUp: 0 });
    expect(await store.listEvents({ state: 'delivered', limit: 100 })).toHaveLength(60);
  });

  it('that are refused are sent again under the same id with the same body, and delay the later ones', async () => {
    const store = await openAt(await newPlace());
    await record(store, 'acct_a', 2);
    let isAccepting = false;
    const to = await receiver(() => (isAccepting ? 200 : 503));
    deliver(store, to);
    await until(() => to.received.length >= 4);
    const failing = await store.listEvents({ state: 'pending', limit: 10 });
    expect(new Set(to.received.map(entryOf))).toEqual(new Set([1]));
    expect(failing[0]?.lastError).toBe('the receiver responded with 503');
    expect(failing[0]?.attempts).toBeGreaterThanOrEqual(2);
    expect(failing[1]?.attempts).toBe(0);
    isAccepting = true;
    await until(async () => (await pendingIn(store)) === 0);

    const first = to.received.filter((webhook) => entryOf(webhook) === 1);
    expect(new Set(first.map(({ id, body }) => `${id} ${body}`)).size).toBe(1);
    expect(first[0]?.id).toBe(failing[0]?.id);
    expect(first[0]?.message).toEqual({
      id: failing[0]?.id,
      type: 'credit.added',
      timestamp: failing[0]?.createdAt.toISOString(),
      data: { account_id: 'acct_a', key_id: null, entry: '1', amount_usd: '5' },
    });
    expect(to.received.map(entryOf).lastIndexOf(1)).toBe(to.received.map(entryOf).indexOf(2) - 1);
  });

  it('that fail at their last attempt become undelivered, can be listed, and no longer delay the next one', async () => {
    const store = await openAt(await newPlace());
    await record(store, 'acct_a', 2);
    const to = await receiver((webhook) => (entryOf(webhook) === 1 ? 410 : 200));
    const schedule = { delaysMs: [1], giveUpAfterMs: 0, leastAttempts: 3 };
    const { counts } = deliver(store, to, { schedule });
    await until(async () => (await pendingIn(store)) === 0);

    expect(to.received.map(entryOf)).toEqual([1, 1, 1, 2]);
    const [lost, ...others] = await store.listEvents({ state: 'undelivered', limit: 10 });
    expect(others).toEqual([]);
    expect(lost).toMatchObject({
      attempts: 3,
      data: { entry: '1' },
      lastError: 'the receiver responded with 410',
    });
    expect(counts).toEqual({ delivered: 1, failed: 3, givenUp: 1 });
    expect((await store.summarize()).undeliveredEvents).toBe(1);
  });

  it('of one account wait while the receiver does not answer for that account, and events of others do not', async () => {
    const store = await openAt(await newPlace());
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    const to = await receiver(async (webhook) => {
      if (accountOf(webhook) === 'acct_slow') await released;
      return 200;
    });
    await record(store, 'acct_slow', 2);
    await Promise.all(numbers(10).map((n) => record(store, `acct_${String(n)}`, 3)));
    deliver(store, to);
    await until(() => to.received.length === 31);
    expect(to.received.filter((webhook) => accountOf(webhook) === 'acct_slow')).toHaveLength(1);
    await until(async () => (await pendingIn(store)) === 2);
    release();
    await until(async () => (await pendingIn(store)) === 0);
    expect(to.received).toHaveLength(32);
  });

  it('are sent again, under the same id, when the sender is killed before it notes the delivery', async () => {
    const place = await newPlace();
    const before = await place.open();
    await record(before, 'acct_a', 2);
    await before.close();

    let kill = (): void => undefined;
    const to = await receiver(() => {
      kill();
      return 200;
    });
    const program = join(__dirname, '../support/event-sender.ts');
    const args = ['--import', HOOKS, program, ...place.args, to.url, '500'];
    const sender = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] });
    kill = () => sender.kill('SIGKILL');
    await new Promise((resolve) => sender.once('exit', resolve));
    expect(to.received.map(entryOf)).toEqual([1]);

    kill = () => undefined;
    const store = await openAt(place);
    deliver(store, to);
    await until(async () => (await pendingIn(store)) === 0);
    expect(to.received.map(entryOf)).toEqual([1, 1, 2]);
    expect(to.received[1]?.id).toBe(to.received[0]?.id);
    expect(to.forged()).toBe(0);
  });

  it('are not sent by a deliverer that stopped, and an attempt that it cut off does not count', async () => {
    const store = await openAt(await newPlace());
    await record(store, 'acct_a', 2);
    let isHanging = true;
    const to = await receiver(() => (isHanging ? undefined : 200));
    const first = deliver(takingOnce(store, 200), to, { stopMs: 0 });
    await until(() => to.received.length === 1);
    await first.stop();
    const [cutOff] = await store.listEvents({ state: 'pending', limit: 1 });
    expect(cutOff).toMatchObject({ attempts: 0, lastError: null, data: { entry: '1' } });
    isHanging = false;
    deliver(store, to);
    await until(async () => (await pendingIn(store)) === 0);
    expect(to.received.map(entryOf)).toEqual([1, 1, 2]);
  });

  it('are noted as delivered once the database answers again', async () => {
    const store = await openAt(await newPlace());
    await record(store, 'acct_a', 1);
    const to = await receiver();
    let outages = 2;
    deliver(
      {
        takeDueEvents: (options) => store.takeDueEvents(options),
        finishEvent(channel, seq, result) {
          outages -= 1;
          if (outages >= 0) return Promise.reject(new StoreUnavailableError('away'));
          return store.finishEvent(channel, seq, result);
        },
      },
      to,
    );
    await until(async () => (await pendingIn(store)) === 0);
    expect(to.received).toHaveLength(1);
  });

  it('that cannot be serialized do not stop the others', async () => {
    const store = await openAt(await newPlace());
    const event = { type: 'credit.added', keyId: undefined } as const;
    await store.recordEvent({ ...event, accountId: 'acct_a', data: { amount: 'a lot' } });
    await record(store, 'acct_b', 1);
    const to = await receiver();
    deliver(store, to);
    await until(async () => (await pendingIn(store)) === 1);
    const [bad] = await store.listEvents({ accountId: 'acct_a', limit: 1 });
    await until(() => to.received.length === 1);
    expect(bad?.lastError).toContain('the event cannot be sent');
  });

  it('are the same on both ledgers, member by member', async () => {
    const store = await openAt(await newPlace());
    const created = await store.create({
      account: { name: 'a customer', lowBalance: 2n * USD },
      key: { name: 'a key', limits: sampleLimits, expiresAt: null, caps: { total: 4n * USD } },
      by: BY,
    });
    if (created.outcome !== 'created' || created.key === undefined) throw new Error('not created');
    const { account, key } = created;
    const { id: accountId } = account;
    const terms = { accountId, scope: 'key', period: 'once', amount: 4n * USD } as const;
    const each = await store.createBudget({ ...terms, name: 'a budget', shares: [50] }, { by: BY });
    if (each.outcome !== 'created') throw new Error('not created');
    const credit = { to: { accountId: account.id }, by: BY } as const;
    await store.topUp({ ...credit, topUpId: 'invoice-1', amount: 5n * USD });
    // 1,000,000 input tokens cost 3 USD.
    const charge = (inputTokens: number) =>
      store.settle(settlement(key.id, { usage: { inputTokens } }), { deadlineMs: 20_000 });
    await charge(1_000_000);
    await charge(500_001);
    await charge(300_000);
    const graceMs = 0;
    await store.rotateKey(key.id, { graceMs, by: BY });
    await store.suspendKey(key.id, BY);
    await store.resumeKey(key.id, BY);
    await store.adjust({
      accountId: account.id,
      adjustmentId: 'refund-7',
      amount: -1n,
      reason: 'refund',
      by: BY,
    });
    const expiresAt = new Date('2200-01-01T00:00:00Z');
    await store.topUp({ ...credit, topUpId: 'gift', amount: 1n, source: 'promotional', expiresAt });

    const to = await receiver();
    deliver(store, to);
    await until(() => to.received.length >= STORY.length);
    const told = to.received.map(({ message: { type, data } }) => {
      const { account_id: accountId, key_id: keyId, ...details } = data;
      expect(accountId).toBe(account.id);
      expect(keyId).toBe(KEY_EVENTS.has(type) ? key.id : null);
      if (!type.startsWith('budget.')) return [type, details];
      expect(details).toMatchObject({ budget: each.record.id, subject: key.id });
      return [type, { ...details, budget: 'bud_…', subject: 'key_…' }];
    });
    expect(told).toEqual(STORY);
    expect(JSON.stringify(to.received)).not.toContain('a customer');
  });
});

const KEY_EVENTS = new Set([
  'cap.reached',
  'budget.reached',
  'budget.share',
  'key.rotated',
  'key.suspended',
  'key.resumed',
]);
const STORY = [
  ['credit.added', { entry: 'topup:invoice-1', amount_usd: '5', source: 'paid', balance_usd: '5' }],
  ['balance.low', { balance_usd: '2', threshold_usd: '2' }],
  [
    'budget.share',
    { budget: 'bud_…', subject: 'key_…', amount_usd: '4', used_usd: '3', share: '50' },
  ],
  ['cap.reached', { period: 'total', cap_usd: '4', used_usd: '4.500003' }],
  ['budget.reached', { budget: 'bud_…', subject: 'key_…', amount_usd: '4', used_usd: '4.500003' }],
  ['balance.exhausted', { balance_usd: '-0.400003' }],
  ['key.rotated', { by: 'tests', previous_until: null }],
  ['key.suspended', { by: 'tests' }],
  ['key.resumed', { by: 'tests' }],
  [
    'balance.adjusted',
    {
      entry: 'adjustment:refund-7',
      amount_usd: '-0.00000000000001',
      reason: 'refund',
      balance_usd: '-0.40000300000001',
    },
  ],
  [
    'credit.added',
    {
      entry: 'topup:gift',
      amount_usd: '0.00000000000001',
      source: 'promotional',
      balance_usd: '-0.400003',
    },
  ],
];

describe('two replicas on one PostgreSQL', () => {
  it('share the events, and send each once, in order for each account', async () => {
    const place = await newPostgresPlace();
    const [first, second] = [await openAt(place), await openAt(place)];
    const to = await receiver();
    const accounts = numbers(8).map((n) => `acct_${String(n)}`);
    const senders = [deliver(first, to), deliver(second, to)];
    await Promise.all(accounts.map((account) => record(first, account, 25)));
    await until(async () => (await pendingIn(second)) === 0);

    for (const account of accounts) {
      const entries = to.received.filter((webhook) => accountOf(webhook) === account).map(entryOf);
      expect(entries).toEqual(numbers(25));
    }
    expect(senders.reduce((sum, { counts }) => sum + counts.delivered, 0)).toBe(200);
    for (const { counts } of senders) expect(counts.delivered).toBeGreaterThan(0);
  });
});

describe.each(['1', '2'])('a gateway with WORKERS=%s', (workers) => {
  it('delivers its events, counts them, and lists those of an account', async () => {
    const to = await receiver();
    const simulator = await startUpstreamSimulator({ apiKey: 'another credential' });
    cleanUps.push(() => simulator.close());
    const dataDir = mkdtempSync(join(tmpdir(), 'notifications-'));
    directories.push(dataDir);
    const gateway = await spawnGateway({
      WORKERS: workers,
      DATA_DIR: dataDir,
      UPSTREAM_URL: simulator.url,
      UPSTREAM_API_KEY: 'a credential that the upstream refuses',
      WEBHOOK_URL: to.url,
      WEBHOOK_SECRET: SECRET,
      WEBHOOK_ALLOW_PRIVATE: 'true',
    });
    const token = readFileSync(join(dataDir, 'admin-token'), 'utf8').trim();
    const call = createRemoteCaller({ url: gateway.adminUrl, token });
    const key = await call('createKey', { name: 'k', balance_usd: '5' });
    // Each worker is one process, and reports a refusal once an hour.
    const responses = await Promise.all(
      numbers(6).map(() => postMessages(gateway, key.api_key!, userMessage('hi'))),
    );
    expect(responses.map(({ status }) => status)).toEqual(numbers(6).map(() => 502));
    const typesOf = (account: string | null) =>
      to.received
        .filter(({ message }) => message.data['account_id'] === account)
        .map(({ message }) => message.type)
        // After a minute, there is an event for each model of the bundled list that retires soon.
        .filter((type) => !type.startsWith('model.'));
    await until(() => typesOf(key.account_id).length > 0 && typesOf(null).length > 0);
    expect(typesOf(key.account_id)).toEqual(['credit.added']);
    expect(new Set(typesOf(null))).toEqual(new Set(['upstream.refused']));
    expect(typesOf(null).length).toBeLessThanOrEqual(Number(workers));
    expect(
      to.received.find(({ message }) => message.type === 'upstream.refused')?.message.data,
    ).toEqual({ account_id: null, key_id: null, fault: 'upstream 401: authentication_error' });

    const metric = async (name: string): Promise<number> => {
      const headers = { authorization: `Bearer ${token}` };
      const response = await fetch(`${gateway.adminUrl}/metrics`, { headers });
      const lines = await response.text();
      return Number(new RegExp(`^${name}(?:{.*})? (.*)$`, 'm').exec(lines)?.[1]);
    };
    const { length: sent } = to.received;
    await until(async () => (await metric('gateway_webhooks_delivered_total')) >= sent);
    expect(await metric('gateway_webhook_attempts_failed_total')).toBe(0);
    expect(await metric('gateway_webhooks_given_up_total')).toBe(0);
    // A delivery is counted before the ledger notes it.
    await until(async () => (await metric('gateway_webhook_oldest_pending_seconds')) === 0);
    const { data } = await call('listEvents', { account_id: key.account_id });
    expect(data.map(({ id }) => id)).toEqual(
      to.received.flatMap(({ message }) =>
        message.data['account_id'] === key.account_id ? [message.id] : [],
      ),
    );
    expect(data[0]?.data).toMatchObject({ amount_usd: '5', balance_usd: '5' });

    gateway.send('SIGTERM');
    expect(await gateway.exited).toBe(0);
    expect(gateway.output()).not.toContain(SECRET);
  });
});
