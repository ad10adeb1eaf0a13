/**
 * Replicas on shared databases: killed at each moment that matters, stopped for longer than a lease
 * lasts, cut off from Redis, racing for the last 10^-14 USD. The requests whose responses clients
 * received and the usages that the upstream served are compared with the ledger, which is read by
 * plain SQL.
 */

import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { parseUsd } from '@gateway/billing';
import {
  querySql,
  startPostgresServer,
} from '../../../../packages/balance-store/test/postgres-server.js';
import type { OwnPostgresServer } from '../../../../packages/balance-store/test/postgres-server.js';
import { startRedisServer } from '../../../../packages/rate-limiter/test/redis-server.js';
import type { RedisServer } from '../../../../packages/rate-limiter/test/redis-server.js';
import { createRemoteCaller } from '../../src/operator/operations/callers.js';
import { startGatedUpstream } from '../support/gated-upstream.js';
import type { GatedUpstream, Served } from '../support/gated-upstream.js';
import { spawnGateway } from '../support/gateway-process.js';
import type { GatewayProcess } from '../support/gateway-process.js';
import { postChat, postMessages, userMessage } from '../support/gateway.js';
import { openRedisLink } from '../support/redis-link.js';
import type { RedisLink } from '../support/redis-link.js';
import { startSlowLink } from '../support/slow-link.js';
import { until } from '../support/until.js';

const ADMIN_TOKEN = 'admin-token-of-the-tests';
const STREAM = { stream: true };

let postgres: OwnPostgresServer;
let database: string;
let redis: RedisServer;
let upstream: GatedUpstream;
/** Every replica that was started and not killed. */
const running = new Set<Replica>();
/** Replicas that earlier tests leave behind: each start costs a second of CPU time. */
const idle: Replica[] = [];
/** Those of the test that runs. */
const inUse = new Set<Replica>();
const cleanUps: (() => Promise<void>)[] = [];

beforeAll(async () => {
  postgres = await startPostgresServer();
  database = await postgres.createDatabase();
  redis = await startRedisServer();
  upstream = await startGatedUpstream();
});
afterEach(async () => {
  upstream.open();
  for (const replica of inUse) {
    // Only a test that failed has left it stopped.
    replica.send('SIGCONT');
    if (running.has(replica)) idle.push(replica);
  }
  inUse.clear();
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});
afterAll(async () => {
  for (const replica of running) {
    replica.send('SIGKILL');
    await replica.exited;
  }
  await upstream.close();
  await redis.stop();
  await postgres.stop();
});

interface Replica extends GatewayProcess {
  /** Its own link to Redis. */
  readonly redisLink: RedisLink;
}

/** Replicas that differ from the others. They are killed after their test. */
interface Different {
  readonly databaseUrl?: string;
  readonly withRedis?: boolean;
  /** Long enough that a slow answer on a busy machine is not a failure of Redis. */
  readonly redisTimeoutMs?: number;
}

/** @returns a replica that an earlier test has left, or a new one */
async function startReplica(different?: Different): Promise<Replica> {
  if (different === undefined) {
    const replica = idle.pop() ?? (await spawn());
    inUse.add(replica);
    await until(() => isReady(replica));
    return replica;
  }
  const replica = await spawn(different);
  cleanUps.push(async () => {
    replica.send('SIGKILL');
    await replica.exited;
  });
  return replica;
}

async function isReady({ url }: GatewayProcess): Promise<boolean> {
  return (await (await fetch(`${url}/readyz`)).json()).status === 'ready';
}

async function spawn({
  databaseUrl = database,
  withRedis = true,
  redisTimeoutMs = 5_000,
}: Different = {}): Promise<Replica> {
  const redisLink = await openRedisLink(redis);
  if (!withRedis) redisLink.cut();
  const gateway = await spawnGateway({
    DATABASE_URL: databaseUrl,
    REDIS_URL: redisLink.url,
    REDIS_TIMEOUT_MS: String(redisTimeoutMs),
    REPLICAS: '2',
    KEY_PEPPER: 'pepper of the tests of replicas',
    ADMIN_TOKEN,
    UPSTREAM_URL: upstream.url,
    UPSTREAM_API_KEY: 'upstream-key',
    KEY_BURST: '100000',
    KEY_REQUESTS_PER_MINUTE: '1000000',
  });
  const replica = { ...gateway, redisLink };
  running.add(replica);
  void replica.exited.then(async () => {
    running.delete(replica);
    await redisLink.close();
  });
  return replica;
}

/** The Redis key of a key's leases. */
function leasesOf(accountId: string, keyId: string): string {
  return `gateway:${String(accountId.length)}{k:${accountId}}:${keyId}:l`;
}

async function createKey(
  replica: GatewayProcess,
  { concurrency, balance = '100' }: { readonly concurrency: number; readonly balance?: string },
): Promise<{ readonly id: string; readonly account_id: string; readonly api_key: string }> {
  const call = createRemoteCaller({ url: replica.adminUrl, token: ADMIN_TOKEN });
  const key = await call('createKey', { name: 'test', balance_usd: balance, concurrency });
  return { id: key.id, account_id: key.account_id, api_key: key.api_key ?? '' };
}

/** A request whose answer is read as it arrives. */
interface Watched {
  readonly requestId: string;
  /** What has arrived so far. */
  readonly text: () => string;
  /** Resolves when the stream is over, complete or broken. */
  readonly over: Promise<'ended' | 'broken'>;
}

async function watch(response: Response): Promise<Watched> {
  let text = '';
  const read = async () => {
    const decoder = new TextDecoder();
    for await (const piece of response.body!) text += decoder.decode(piece, { stream: true });
  };
  expect(response.status).toBe(200);
  const over = read().then(
    () => 'ended' as const,
    () => 'broken' as const,
  );
  const watched = {
    requestId: response.headers.get('x-gateway-request-id')!,
    text: () => text,
    over,
  };
  await until(() => text.includes('Hello'));
  return watched;
}

const FINAL = /message_delta|message_stop|\[DONE\]|"usage":\{"prompt/;

/** Reads the charges of a key by plain SQL: the ids, the token counts and the amount of each. */
function chargesOf(keyId: string) {
  return querySql<Served & { readonly id: string; readonly delta: string }>(
    database,
    'SELECT id, upstream_id AS "messageId", input_tokens AS input, output_tokens AS output, ' +
      "delta::text FROM ledger WHERE kind = 'charge' AND key_id = $1 ORDER BY seq",
    [keyId],
  );
}

/** 3 and 15 USD per million tokens, in units of 10^-14 USD. */
const chargeOf = ({ input, output }: Served): bigint =>
  BigInt(input) * 300_000_000n + BigInt(output) * 1_500_000_000n;

/** Expects that each charge is for a message that the upstream served, at its price, and once. */
async function expectOnlyServed(keyId: string): Promise<void> {
  const charges = await chargesOf(keyId);
  for (const { messageId, input, output, delta } of charges) {
    expect(upstream.served).toContainEqual({ messageId, input, output });
    expect(parseUsd(delta)).toBe(-chargeOf({ messageId, input, output }));
  }
  expect(new Set(charges.map(({ messageId }) => messageId)).size).toBe(charges.length);
}

describe('a replica that is killed', () => {
  // F53
  // F1: replica killed during a stream: stream cut off, no usage, no entry; leases expire within 15
  // s.
  it('during its streams cuts them off, charges nothing, and its leases expire', async () => {
    const [a, b] = await Promise.all([startReplica(), startReplica()]);
    const { id, account_id: account, api_key: key } = await createKey(a, { concurrency: 2 });
    upstream.shut();
    const streams = await Promise.all([
      postMessages(a, key, userMessage('Hello', STREAM)).then(watch),
      postChat(a, key, userMessage('Hello', STREAM)).then(watch),
    ]);
    const statusAtB = async () => {
      const response = await postMessages(b, key, userMessage('Hello'));
      await response.text();
      return response.status;
    };
    expect(await statusAtB()).toBe(429);
    a.send('SIGKILL');
    await a.exited;
    for (const { over, text } of streams) {
      expect(await over).toBe('broken');
      expect(text()).not.toMatch(FINAL);
    }
    upstream.open();
    const leases = leasesOf(account, id);
    const client = redis.connect();
    expect(await client.pttl(leases)).toBeGreaterThan(0);
    expect(await client.pttl(leases)).toBeLessThanOrEqual(15_000);
    let status = await statusAtB();
    for (; status === 429; status = await statusAtB()) {
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    expect(status).toBe(200);
    const charges = await chargesOf(id);
    expect(charges).toHaveLength(1);
    expect(streams.map(({ requestId }) => requestId)).not.toContain(charges[0]!.id);
    await expectOnlyServed(id);
  });

  // F26
  // F2: killed between usage and commit: no entry, and no client saw the usage.
  it('between a usage and its commit charges nothing, and its client receives no usage', async () => {
    const [a, b] = await Promise.all([startReplica(), startReplica()]);
    const { id, api_key: key } = await createKey(a, { concurrency: 10 });
    upstream.shut();
    const stream = await watch(await postMessages(a, key, userMessage('Hello', STREAM)));
    await postgres.stopImmediately();
    const before = upstream.served.length;
    upstream.open();
    await until(() => upstream.served.length > before);

    // The other replica has no database either, and its log reports this.
    const refused = await postMessages(b, key, userMessage('Hello'));
    expect(refused.status).toBe(503);
    const requestId = refused.headers.get('x-gateway-request-id')!;
    await until(() => b.output().includes(requestId));
    const line = b
      .output()
      .split('\n')
      .find((each) => each.includes(requestId))!;
    expect(JSON.parse(line)).toMatchObject({
      status: 503,
      fault: expect.stringMatching(/^the ledger's database is unavailable: \S/),
    });

    expect(stream.text()).not.toMatch(FINAL);
    a.send('SIGKILL');
    await a.exited;
    expect(await stream.over).toBe('broken');
    expect(stream.text()).not.toMatch(FINAL);
    await postgres.start();
    await until(() => isReady(b));
    expect((await postMessages(b, key, userMessage('Hello'))).status).toBe(200);
    const charges = await chargesOf(id);
    expect(charges).toHaveLength(1);
    expect(charges[0]!.id).not.toBe(stream.requestId);
    await expectOnlyServed(id);
  });

  // F3: killed between commit and last bytes: one entry; the key reads it by the request's id.
  it.each([
    ['messages', postMessages],
    ['chat.completions', postChat],
  ] as const)(
    'between a commit and the last bytes charges once, and the key can look the charge up (%s)',
    async (_dialect, post) => {
      const link = await startSlowLink(database);
      cleanUps.push(() => link.stop());
      const [a, b] = await Promise.all([startReplica({ databaseUrl: link.url }), startReplica()]);
      const { id, api_key: key } = await createKey(b, { concurrency: 10 });
      upstream.shut();
      const stream = await watch(await post(a, key, userMessage('Hello', STREAM)));
      link.mute();
      upstream.open();
      await until(async () => (await chargesOf(id)).length > 0);
      a.send('SIGKILL');
      await a.exited;
      expect(await stream.over).toBe('broken');
      expect(stream.text()).not.toMatch(FINAL);
      const [charge, ...others] = await chargesOf(id);
      expect(others).toEqual([]);
      expect(charge!.id).toBe(stream.requestId);
      await expectOnlyServed(id);
      const asked = await fetch(`${b.url}/v1/dashboard/usage/${stream.requestId}`, {
        headers: { authorization: `Bearer ${key}` },
      });
      expect(await asked.json()).toMatchObject({
        request_id: stream.requestId,
        usage: { input_tokens: charge!.input, output_tokens: charge!.output },
      });
    },
  );
});

describe('a replica that gets SIGTERM', () => {
  // F5: SIGTERM under load: no new connection, 40 of 40 streams end and are charged, exit 0. The
  // streams are held until the process has received the signal, not for 60 s; a drain waits for up
  // to 120 s.
  it('accepts no new request, completes all streams, charges them and exits with status 0', async () => {
    const a = await startReplica();
    const { id, api_key: key } = await createKey(a, { concurrency: 100 });
    upstream.shut();
    const streams = await Promise.all(
      Array.from({ length: 40 }, async (_, n) => {
        const post = n % 2 === 0 ? postMessages : postChat;
        return watch(await post(a, key, userMessage('Hello', STREAM)));
      }),
    );
    a.send('SIGTERM');
    await until(() => a.output().includes('"draining"'));
    const late = await postMessages(a, key, userMessage('Hello')).then(
      ({ status }) => status,
      () => 'refused',
    );
    expect([503, 'refused']).toContain(late);
    upstream.open();
    for (const { over, text } of streams) {
      expect(await over).toBe('ended');
      expect(text()).toMatch(/message_stop|\[DONE\]/);
    }
    expect(await a.exited).toBe(0);
    const charges = await chargesOf(id);
    expect(charges.map((charge) => charge.id).sort()).toEqual(
      streams.map(({ requestId }) => requestId).sort(),
    );
    await expectOnlyServed(id);
  });
});

describe('a replica that is stopped for longer than its leases last', () => {
  // F6: SIGSTOP for longer than a lease lasts: at most 2 × concurrency in flight, all settled once;
  // 3 pauses of 20 s in the torture.
  it("lets others run at most the key's concurrency meanwhile, and settles once when it continues", async () => {
    const [a, b] = await Promise.all([startReplica(), startReplica()]);
    const { id, account_id: account, api_key: key } = await createKey(a, { concurrency: 2 });
    upstream.shut();
    const before = await Promise.all([
      postMessages(a, key, userMessage('Hello', STREAM)).then(watch),
      postChat(a, key, userMessage('Hello', STREAM)).then(watch),
    ]);
    a.send('SIGSTOP');
    const after: Watched[] = [];
    const tryAtB = async () => {
      const response = await postMessages(b, key, userMessage('Hello', STREAM));
      if (response.status === 200) after.push(await watch(response));
      else {
        expect(response.status).toBe(429);
        await response.text();
      }
    };
    while (after.length === 0) {
      await Promise.all(Array.from({ length: 3 }, tryAtB));
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    await Promise.all(Array.from({ length: 10 }, tryAtB));
    expect(after).toHaveLength(2);
    a.send('SIGCONT');
    // Its heartbeat puts the leases back: no request is admitted until enough streams have ended.
    const client = redis.connect();
    await until(async () => (await client.zcard(leasesOf(account, id))) === 4);
    await tryAtB();
    expect(after).toHaveLength(2);
    upstream.open();
    for (const { over, text } of [...before, ...after]) {
      expect(await over).toBe('ended');
      expect(text()).toMatch(FINAL);
    }
    const charges = await chargesOf(id);
    expect(charges.map((charge) => charge.id).sort()).toEqual(
      [...before, ...after].map(({ requestId }) => requestId).sort(),
    );
    await expectOnlyServed(id);
  });
});

describe('a replica without Redis', () => {
  // F49: Redis down at start or later: own share, no second burst, at most 100 ms of delay; Redis
  // is used again when back. A process that is itself late waits longer than 100 ms, because an
  // answer that has arrived but was not read yet does not count as late.
  // F52: one replica cut off from Redis: 2 of a concurrency of 4 there, 4 elsewhere; both serve.
  it('uses its share of the limits while another with Redis uses all of them, and both serve requests', async () => {
    const [cut, whole] = await Promise.all([
      startReplica({ withRedis: false, redisTimeoutMs: 2_000 }),
      startReplica(),
    ]);
    const { id, account_id: account, api_key: key } = await createKey(whole, { concurrency: 4 });
    const client = redis.connect();
    const isLocal = async () => {
      const text = await (await fetch(`${cut.adminUrl}/metrics`)).text();
      return text.includes('\ngateway_limits_local 1\n');
    };
    /** How many of ten simultaneous requests each replica admits while none of them ends. */
    const admittedAtOnce = async () => {
      upstream.shut();
      const counts = { cut: 0, whole: 0 };
      let denied = 0;
      const tryAt = async (name: keyof typeof counts) => {
        const response = await postMessages({ cut, whole }[name], key, userMessage('Hello'));
        await response.text();
        if (response.status === 429) denied += 1;
        else counts[name] += 1;
      };
      const attempts = Array.from({ length: 20 }, (_, n) => tryAt(n % 2 === 0 ? 'cut' : 'whole'));
      await until(() => upstream.waiting() + denied === attempts.length);
      upstream.open();
      await Promise.all(attempts);
      // A release that is sent while the link is cut would be lost.
      await until(async () => (await client.zcard(leasesOf(account, id))) === 0);
      return counts;
    };
    expect(await admittedAtOnce()).toEqual({ cut: 2, whole: 4 });
    expect(await isLocal()).toBe(true);

    cut.redisLink.heal();
    await until(async () => !(await isLocal()));
    const shared = await admittedAtOnce();
    expect(shared.cut + shared.whole).toBe(4);

    cut.redisLink.cut();
    await until(async () => {
      await (await postMessages(cut, key, userMessage('Hello'))).text();
      return isLocal();
    });
    expect(await admittedAtOnce()).toEqual({ cut: 2, whole: 4 });
    for (const { url } of [cut, whole]) expect((await fetch(`${url}/readyz`)).status).toBe(200);
  });
});

describe('a key that was used at one replica a moment ago', () => {
  it('obeys what another replica changed, and gives back the leases of refused requests', async () => {
    const [a, b] = await Promise.all([startReplica(), startReplica()]);
    const call = createRemoteCaller({ url: a.adminUrl, token: ADMIN_TOKEN });
    const { id, api_key: old } = await createKey(a, { concurrency: 1 });
    const statusOf = async (key: string) => {
      const response = await postMessages(b, key, userMessage('Hello'));
      await response.text();
      return response.status;
    };
    expect(await statusOf(old)).toBe(200);
    const rotated = await call('rotateKey', { key_id: id, grace_seconds: 0 });
    const key = rotated.api_key ?? '';
    // A replica may use the record of a key for a second.
    await until(async () => (await statusOf(old)) === 401);
    for (let n = 0; n < 3; n += 1) expect(await statusOf(old)).toBe(401);
    expect(await statusOf(key)).toBe(200);
    await call('updateKey', { key_id: id, models: ['another-model'] });
    await until(async () => (await statusOf(key)) === 404);
    await call('updateKey', { key_id: id, models: null });
    await until(async () => (await statusOf(key)) === 200);
  });
});

describe('replicas at the last 10^-14 USD of a key', () => {
  // F20: two replicas at the last 10^-14 USD: at most the concurrency is admitted, each request
  // charged; then 401. Differs: until the leases of an exhausted key are released, its requests may
  // get a 429 instead of a 401. A lease is taken before the balance is read, and that order bounds
  // the overdraft.
  it('admit at most its concurrency, charge each request exactly, and then refuse every request', async () => {
    const replicas = await Promise.all([startReplica(), startReplica()]);
    const [first] = replicas;
    for (let round = 0; round < 20; round += 1) {
      const key = await createKey(first, { concurrency: 5, balance: '0.00000000000001' });
      upstream.shut();
      const statuses: number[] = [];
      const attempts = Array.from({ length: 16 }, async (_, n) => {
        const post = n % 4 < 2 ? postMessages : postChat;
        const response = await post(replicas[n % 2]!, key.api_key, userMessage('Hello'));
        await response.text();
        statuses.push(response.status);
      });
      await until(() => upstream.waiting() + statuses.length === attempts.length);
      upstream.open();
      await Promise.all(attempts);
      const served = statuses.filter((status) => status === 200).length;
      expect(served).toBeGreaterThan(0);
      expect(served).toBeLessThanOrEqual(5);
      expect(statuses.filter((status) => status === 429)).toHaveLength(16 - served);
      const charges = await chargesOf(key.id);
      expect(charges).toHaveLength(served);
      await expectOnlyServed(key.id);
      const spent = charges.reduce((sum, charge) => sum + chargeOf(charge), 0n);
      const [row] = await querySql(
        database,
        'SELECT balance::text FROM key_standing WHERE id = $1',
        [key.id],
      );
      expect(parseUsd(String(row!['balance']))).toBe(1n - spent);
      for (const replica of replicas) {
        let status = 429;
        // The concurrency is checked before the balance, and a lease counts until its release has
        // reached Redis.
        while (status === 429) {
          const response = await postMessages(replica, key.api_key, userMessage('Hello'));
          ({ status } = response);
          await response.text();
        }
        expect(status).toBe(401);
      }
    }
  });
});
