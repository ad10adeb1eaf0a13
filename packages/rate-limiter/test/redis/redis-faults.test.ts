import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import type { Admission, Lease, Limiter } from '../../src/limiter.js';
import type { Policy } from '../../src/policy.js';
import type { RedisClient, RedisLimiterOptions, RedisLimiterState } from '../../src/redis/index.js';
import { createRedisLimiter } from '../../src/redis/index.js';
import { ASSERT_LEASES } from '../../src/redis/lua-scripts.js';
import { createManualClock } from '../clock.js';
import type { FaultProxy } from '../fault-proxy.js';
import { startFaultProxy } from '../fault-proxy.js';
import { freeze } from '../frozen-redis.js';
import { losingRedis } from '../losing-redis.js';
import type { RedisServer } from '../redis-server.js';
import { startRedisServer } from '../redis-server.js';

/** Long enough for a working Redis to answer in time, even on a busy machine. */
const PATIENT_MS = 600_000;
/** The timeout of a limiter whose Redis is stalled. */
const SHORT_MS = 20;
/** Leases that neither expire nor are prolonged by a heartbeat while a test runs. */
const NO_HEARTBEAT = { leaseTtlMs: 3_600_000, heartbeatMs: 3_000_000 };

/**
 * The burst and the rate are so high that no test reaches them, even where a replica has only its
 * share of them.
 */
const TEN_LEASES: Policy = { concurrency: 10, burst: 1_000_000, requestsPerMinute: 60_000_000 };

let server: RedisServer;
let redis: Redis;
let prefixes = 0;
const cleanups: (() => Promise<void>)[] = [];

beforeAll(async () => {
  server = await startRedisServer();
  redis = server.connect();
});

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

afterAll(async () => {
  await server.stop();
});

function newPrefix(): string {
  prefixes += 1;
  return `faults:${process.pid}:${Date.now()}:${prefixes}:`;
}

function limiterOn(client: RedisClient, options: Partial<RedisLimiterOptions>): Limiter {
  const limiter = createRedisLimiter({ redis: client, timeoutMs: PATIENT_MS, ...options });
  cleanups.push(async () => limiter.close());
  return limiter;
}

/** A limiter whose link to Redis can be broken, and the state changes that it reports. */
async function breakable(options: Partial<RedisLimiterOptions> = {}) {
  const proxy: FaultProxy = await startFaultProxy(server.address);
  cleanups.push(() => proxy.close());
  const client = server.connectThrough(proxy.port, {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    retryStrategy: () => 20,
  });
  await until(() => client.status === 'ready');
  const clock = createManualClock();
  const states: RedisLimiterState['deciding'][] = [];
  const limiter = limiterOn(client, {
    ...NO_HEARTBEAT,
    prefix: newPrefix(),
    now: clock.now,
    onStateChange: ({ deciding }) => states.push(deciding),
    ...options,
  });
  return { proxy, client, clock, states, limiter };
}

/** Deletes all keys of one prefix: the same as FLUSHALL to its limiters. */
async function flush(prefix: string): Promise<void> {
  const keys = await redis.keys(`${prefix}*`);
  if (keys.length > 0) await redis.del(...keys);
}

async function until(isTrue: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isTrue())) await new Promise((resolve) => setTimeout(resolve, 5));
}

async function attempt(limiter: Limiter, count: number, policy: Policy): Promise<Admission[]> {
  return Promise.all(Array.from({ length: count }, async () => limiter.admit('key', policy)));
}

function leasesOf(admissions: readonly Admission[]): Lease[] {
  return admissions.flatMap((admission) =>
    admission.outcome === 'admitted' ? [admission.lease] : [],
  );
}

describe('Redis limiter: how long leases live', () => {
  it('prolongs a lease as long as it is held, and no longer', async () => {
    const prefix = newPrefix();
    const { client, advance } = await freeze(redis, `${prefix}clock`);
    let prolongings = 0;
    const counting: RedisClient = {
      ...client,
      eval(script, ...rest) {
        if (script === ASSERT_LEASES.source) prolongings += 1;
        return client.eval(script, ...rest);
      },
    };
    const leaseTtlMs = 3_600_000;
    const limiter = limiterOn(counting, { prefix, leaseTtlMs, heartbeatMs: 5 });
    async function prolonged(): Promise<void> {
      const before = prolongings;
      // Waits for two heartbeats: the first began after this call, and has ended when the second
      // begins.
      await until(() => prolongings >= before + 2);
    }

    const [kept, given] = leasesOf(await attempt(limiter, 2, TEN_LEASES));
    given?.release();
    for (let n = 0; n < 5; n += 1) {
      await prolonged();
      await advance(leaseTtlMs - 1);
    }
    expect(await limiter.leases('key')).toBe(1);
    kept?.release();
    expect(await limiter.leases('key')).toBe(0);
    // Another lease, so that there is something to prolong.
    await limiter.admit('other', TEN_LEASES);
    await prolonged();
    expect(await limiter.leases('key')).toBe(0);
  });

  // F53: stream of 30 minutes; replica killed: lease held until the end; a killed replica's lease
  // for 15 s.
  it('keeps the lease of a stream of 30 minutes to its end, and no longer', async () => {
    const prefix = newPrefix();
    const { client, advance } = await freeze(redis, `${prefix}clock`);
    const options = { redis: client, prefix, timeoutMs: PATIENT_MS };
    const limiter = createRedisLimiter({ ...options, heartbeatMs: 5 });
    const other = createRedisLimiter(options);
    const one = { ...TEN_LEASES, concurrency: 1 };
    const [lease] = leasesOf(await attempt(limiter, 1, one));
    const lapsesAt = async () =>
      Number((await redis.zrange(`${prefix}{k:key}:l`, '0', '0', 'WITHSCORES'))[1]);
    for (let minute = 0; minute < 30; minute += 0.2) {
      const before = await lapsesAt();
      await advance(12_000);
      await until(async () => (await lapsesAt()) === before + 12_000_000);
      expect(await other.admit('key', one)).toMatchObject({ limit: 'concurrency' });
    }
    lease?.release();
    expect((await other.admit('key', one)).outcome).toBe('admitted');
    await limiter.close();
    await other.close();
  });

  // F51, F53
  it.each([
    ['that ticks', 0, 15_000],
    ['that steps back', -30_000, 45_000],
  ])('frees the leases of a killed replica, on a clock %s', async (_which, stepMs, afterMs) => {
    const prefix = newPrefix();
    const { client, advance } = await freeze(redis, `${prefix}clock`);
    let isKilled = false;
    const mortal: RedisClient = {
      ...client,
      eval: (...args) => (isKilled ? Promise.reject(new Error('killed')) : client.eval(...args)),
    };
    const killed = createRedisLimiter({ redis: mortal, prefix, timeoutMs: PATIENT_MS });
    const other = createRedisLimiter({ redis: client, prefix, timeoutMs: PATIENT_MS });
    expect(leasesOf(await attempt(killed, 10, TEN_LEASES))).toHaveLength(10);
    isKilled = true;
    await advance(stepMs);
    await advance(afterMs - 1);
    expect(await other.admit('key', TEN_LEASES)).toMatchObject({ limit: 'concurrency' });
    await advance(1);
    expect(leasesOf(await attempt(other, 30, TEN_LEASES))).toHaveLength(10);
    await killed.close();
    await other.close();
  });

  it('expires the leases of a dead process by the clock of Redis', async () => {
    const prefix = newPrefix();
    const options = { prefix, leaseTtlMs: 200, heartbeatMs: 199 };
    const client = server.connect();
    const dying = limiterOn(client, options);
    const other = limiterOn(redis, options);
    expect(leasesOf(await attempt(dying, 10, TEN_LEASES))).toHaveLength(10);
    client.disconnect();
    await until(async () => (await other.leases('key')) === 0);
    expect((await other.admit('key', TEN_LEASES)).outcome).toBe('admitted');
  });

  it('releases its leases when it is closed', async () => {
    const prefix = newPrefix();
    const closing = limiterOn(redis, { prefix });
    const other = limiterOn(redis, { prefix });
    await attempt(closing, 10, TEN_LEASES);
    await closing.close();
    expect(await other.leases('key')).toBe(0);
  });
});

describe('Redis limiter: a flush', () => {
  // F50
  it('is repaired by the heartbeat alone', async () => {
    const prefix = newPrefix();
    const limiter = limiterOn(redis, { prefix, leaseTtlMs: 3_600_000, heartbeatMs: 30 });
    await attempt(limiter, 10, TEN_LEASES);
    await flush(prefix);
    await until(async () => (await limiter.leases('key')) === 10);
    expect(await limiter.admit('key', TEN_LEASES)).toMatchObject({ limit: 'concurrency' });
  });

  // F50
  it("lets no single replica exceed the concurrency, and is repaired at the replica's next admission", async () => {
    const prefix = newPrefix();
    const limiter = limiterOn(redis, { ...NO_HEARTBEAT, prefix });
    const other = limiterOn(server.connect(), { ...NO_HEARTBEAT, prefix });
    await attempt(limiter, 10, TEN_LEASES);
    await flush(prefix);
    const admissions = await attempt(limiter, 50, TEN_LEASES);
    expect(leasesOf(admissions)).toHaveLength(0);
    await until(async () => (await other.leases('key')) === 10);
    expect(await other.admit('key', TEN_LEASES)).toMatchObject({ limit: 'concurrency' });
  });

  // F50: Redis loses its data: at most 2 × concurrency, until admissions or heartbeats put the
  // leases back.
  it('lets at most twice the concurrency be in flight over all replicas', async () => {
    const prefix = newPrefix();
    const limiters = Array.from({ length: 4 }, () =>
      limiterOn(server.connect(), { ...NO_HEARTBEAT, prefix }),
    );
    const before = await Promise.all(limiters.map((limiter) => attempt(limiter, 10, TEN_LEASES)));
    expect(leasesOf(before.flat())).toHaveLength(10);
    await flush(prefix);
    const after = await Promise.all(limiters.map((limiter) => attempt(limiter, 30, TEN_LEASES)));
    expect(leasesOf(after.flat()).length).toBeLessThanOrEqual(10);
    for (const lease of leasesOf(before.flat())) lease.release();
    for (const lease of leasesOf(after.flat())) lease.release();
    await until(async () => (await limiters[0]?.leases('key')) === 0);
  });
});

describe('Redis limiter: a clock that steps', () => {
  it('locks no subject out when Redis comes back with an earlier clock', async () => {
    const prefix = newPrefix();
    const limiter = limiterOn(redis, { prefix });
    const hourMs = 3_600_000;
    const policy = { concurrency: 10, burst: 2, requestsPerMinute: 1 / 60 };
    await attempt(limiter, 2, policy);
    // The theoretical arrival time (TAT) written by a node whose clock was an hour ahead.
    const ahead = String((Date.now() + 3 * hourMs) * 1_000);
    await redis.set(`${prefix}{k:key}:g`, ahead, 'PX', 3 * hourMs);
    expect((await limiter.admit('key', policy)).outcome).toBe('admitted');
    const denied = await limiter.admit('key', policy);
    expect(denied).toMatchObject({ outcome: 'denied', limit: 'rate' });
    if (denied.outcome === 'denied') expect(denied.retryAfterMs).toBeLessThanOrEqual(hourMs);
  });

  it('puts leases back that expired because the clock of Redis was ahead', async () => {
    const prefix = newPrefix();
    const limiter = limiterOn(redis, { ...NO_HEARTBEAT, prefix });
    await attempt(limiter, 10, TEN_LEASES);
    const ids = await redis.zrange(`${prefix}{k:key}:l`, '0', '-1');
    for (const id of ids) await redis.zadd(`${prefix}{k:key}:l`, 1, id);
    expect(await limiter.leases('key')).toBe(0);
    expect(await limiter.admit('key', TEN_LEASES)).toMatchObject({ limit: 'concurrency' });
    await until(async () => (await limiter.leases('key')) === 10);
  });
});

describe('Redis limiter: a Redis whose clock steps by 30 s', () => {
  const SIX_SECONDS: Policy = { concurrency: 1_000, burst: 6, requestsPerMinute: 60 };

  /**
   * Two replicas on a Redis whose clock the test sets. Lost leases are not put back before `heal`.
   */
  async function stepping() {
    const prefix = newPrefix();
    const { client, advance } = await freeze(redis, `${prefix}clock`);
    let isHealing = false;
    const healing: RedisClient = {
      ...client,
      eval: (script, ...rest) =>
        script === ASSERT_LEASES.source && !isHealing
          ? Promise.resolve(0)
          : client.eval(script, ...rest),
    };
    const replicas = [0, 1].map(() =>
      createRedisLimiter({ redis: healing, prefix, timeoutMs: PATIENT_MS, heartbeatMs: 5 }),
    );
    cleanups.push(async () => {
      for (const replica of replicas) await replica.close();
    });
    const [a, b] = replicas;
    if (a === undefined || b === undefined) throw new Error('two replicas');
    return { a, b, step: advance, heal: () => void (isHealing = true) };
  }

  // F51: clock of Redis steps by 30 s: no key locked out, leases kept or put back. If the clock
  // steps back, the leases of a killed replica last longer by that step: 45 s in the test.
  it.each([30_000, -30_000])(
    'by %d ms: no burst waits longer than its refill takes, and no log longer than its window',
    async (stepMs) => {
      const { a, b, step } = await stepping();
      const log = { limit: 30, windowMs: 60_000 };
      await attempt(a, 6, SIX_SECONDS);
      for (let n = 0; n < 30; n += 1) await b.record('ip', log);
      expect(await b.admit('key', SIX_SECONDS)).toMatchObject({ outcome: 'denied' });
      expect((await a.record('ip', log)).outcome).toBe('denied');
      await step(stepMs);
      for (const { decide, most, longestMs } of [
        { decide: () => b.admit('key', SIX_SECONDS), most: 6, longestMs: 6_000 },
        { decide: () => a.record('ip', log), most: 30, longestMs: 60_000 },
      ]) {
        let allowed = 0;
        let decision = await decide();
        for (; decision.outcome !== 'denied'; decision = await decide()) allowed += 1;
        // The step may have brought back every permit, but no more than all of them.
        expect(allowed).toBeLessThanOrEqual(most);
        expect(decision.retryAfterMs).toBeLessThanOrEqual(longestMs);
        await step(decision.retryAfterMs);
        expect((await decide()).outcome).not.toBe('denied');
      }
    },
  );

  // F51
  it('ahead: expired leases are put back, and at most twice the concurrency is in flight', async () => {
    const { a, b, step, heal } = await stepping();
    const before = [...(await attempt(a, 5, TEN_LEASES)), ...(await attempt(b, 5, TEN_LEASES))];
    await step(30_000);
    expect(await a.leases('key')).toBe(0);
    const after = [...(await attempt(a, 30, TEN_LEASES)), ...(await attempt(b, 30, TEN_LEASES))];
    expect(leasesOf(after).length).toBeLessThanOrEqual(10);
    const held = leasesOf([...before, ...after]);
    heal();
    await until(async () => (await b.leases('key')) === held.length);
    for (const lease of held.slice(10)) lease.release();
    expect(await a.admit('key', TEN_LEASES)).toMatchObject({ limit: 'concurrency' });
  });

  // F51
  it('back: leases stay, and can be released and taken again', async () => {
    const { a, b, step } = await stepping();
    const held = leasesOf([
      ...(await attempt(a, 5, TEN_LEASES)),
      ...(await attempt(b, 5, TEN_LEASES)),
    ]);
    await step(-30_000);
    expect(leasesOf(await attempt(a, 30, TEN_LEASES))).toHaveLength(0);
    held[0]?.release();
    expect(leasesOf(await attempt(b, 30, TEN_LEASES))).toHaveLength(1);
  });
});

describe('Redis limiter: without Redis', () => {
  it('continues at once with its share of the limits', async () => {
    const { proxy, client, states, limiter } = await breakable({ replicas: 3 });
    proxy.cut();
    await until(() => client.status !== 'ready');
    // Waiting for Redis would take ten minutes.
    const admissions = await attempt(limiter, 50, TEN_LEASES);
    expect(leasesOf(admissions)).toHaveLength(3);
    expect(states).toEqual(['local']);
    const burst = { concurrency: 100, burst: 10, requestsPerMinute: 6 };
    const others = await Promise.all(
      Array.from({ length: 20 }, async () => limiter.admit('other', burst)),
    );
    expect(leasesOf(others)).toHaveLength(3);
    const denied = others.find(({ outcome }) => outcome === 'denied');
    // 6 a minute for three replicas are 2 a minute for this one.
    const denial = { outcome: 'denied', of: 'subject', limit: 'rate', retryAfterMs: 30_000 };
    expect(denied).toEqual(denial);
    for (let n = 0; n < 10; n += 1) {
      expect(await limiter.record('ip', { limit: 30, windowMs: 60_000 })).toEqual({
        outcome: 'allowed',
        remaining: 9 - n,
      });
    }
    expect((await limiter.record('ip', { limit: 30, windowMs: 60_000 })).outcome).toBe('denied');
    expect(await limiter.leases('key')).toBe(3);
    expect(limiter.admit('key', TEN_LEASES)).not.toBeInstanceOf(Promise);
    expect(limiter.record('ip', { limit: 30, windowMs: 60_000 })).not.toBeInstanceOf(Promise);
  });

  // F333: Redis answers but refuses writes, as a demoted or full one does: the limits stay local
  // until it takes a write.
  it('decides by its share as long as Redis refuses writes', async () => {
    const clock = createManualClock();
    const states: string[] = [];
    const demoted: RedisClient = {
      evalsha: () => Promise.reject(new Error('NOSCRIPT No matching script')),
      eval: (script, ...rest) =>
        /'(SET|Z(ADD|REM).*)'/.test(script)
          ? Promise.reject(new Error('READONLY You can not write against a read only replica.'))
          : redis.eval(script, ...rest),
      zrem: () => Promise.resolve(0),
    };
    const limiter = limiterOn(demoted, {
      ...NO_HEARTBEAT,
      prefix: newPrefix(),
      now: clock.now,
      onStateChange: ({ deciding }) => states.push(deciding),
    });
    for (let second = 0; second < 20; second += 1) {
      const [lease] = leasesOf(await attempt(limiter, 1, TEN_LEASES));
      expect(lease).toBeDefined();
      lease?.release();
      // A probe that was sent before has been answered before this.
      await redis.ping();
      clock.advance(1_000);
    }
    expect(states).toEqual(['local']);
  });

  // F49
  it('starts without Redis, and uses it once it is reachable', async () => {
    const proxy = await startFaultProxy(server.address);
    cleanups.push(() => proxy.close());
    proxy.cut();
    const client = server.connectThrough(proxy.port, {
      enableOfflineQueue: false,
      maxRetriesPerRequest: 0,
      retryStrategy: () => 20,
    });
    const clock = createManualClock();
    const states: string[] = [];
    const prefix = newPrefix();
    const limiter = limiterOn(client, {
      ...NO_HEARTBEAT,
      prefix,
      now: clock.now,
      onStateChange: ({ deciding }) => states.push(deciding),
    });
    expect(leasesOf(await attempt(limiter, 11, TEN_LEASES))).toHaveLength(10);
    proxy.heal();
    await until(() => client.status === 'ready');
    clock.advance(2_000);
    await until(async () => {
      await limiter.leases('key');
      return states.at(-1) === 'redis';
    });
    expect(states).toEqual(['local', 'redis']);
    // Leases that were admitted meanwhile count in Redis from then on.
    expect(await redis.zcard(`${prefix}{k:key}:l`)).toBe(10);
  });

  // F49
  it('waits for a stalled Redis as long as its timeout, and not at all afterwards', async () => {
    const { proxy, states, limiter } = await breakable({ timeoutMs: SHORT_MS });
    proxy.stall();
    expect(leasesOf(await attempt(limiter, 20, TEN_LEASES))).toHaveLength(10);
    expect(states).toEqual(['local']);
    for (let n = 0; n < 100; n += 1) {
      expect(limiter.admit(`key-${n}`, TEN_LEASES)).not.toBeInstanceOf(Promise);
    }
  });

  it('does not mistake a delay of its own process for one of Redis', async () => {
    const states: string[] = [];
    const timeoutMs = 100;
    const limiter = limiterOn(redis, {
      prefix: newPrefix(),
      replicas: 10,
      timeoutMs,
      onStateChange: ({ deciding }) => states.push(deciding),
    });
    for (let round = 0; round < 4; round += 1) {
      const admissions = attempt(limiter, 10, TEN_LEASES);
      // The call is sent. Then the event loop is blocked until Redis has answered and the timeout
      // is over.
      await new Promise((resolve) => setImmediate(resolve));
      const end = performance.now() + 2 * timeoutMs;
      server.pingSync();
      while (performance.now() < end);
      const leases = leasesOf(await admissions);
      // If this replica had decided alone, it would have admitted one.
      expect(leases).toHaveLength(10);
      for (const lease of leases) lease.release();
    }
    expect(states).toEqual([]);
  });

  it('asks a stalled Redis at most three times in a row, even with long pauses in between', async () => {
    const { proxy, clock, states, limiter } = await breakable({ timeoutMs: SHORT_MS });
    proxy.stall();
    for (let n = 0; n < 3; n += 1) {
      expect(states).toEqual([]);
      await limiter.admit('key', TEN_LEASES);
      clock.advance(1_500);
    }
    expect(states).toEqual(['local']);
  });

  // F52
  it('counts the leases that were granted before Redis was lost', async () => {
    const { proxy, client, limiter } = await breakable({ replicas: 2 });
    const held = leasesOf(await attempt(limiter, 7, TEN_LEASES));
    expect(held).toHaveLength(7);
    proxy.cut();
    await until(() => client.status !== 'ready');
    expect(leasesOf(await attempt(limiter, 10, TEN_LEASES))).toHaveLength(0);
    for (const lease of held.slice(0, 3)) lease.release();
    expect(leasesOf(await attempt(limiter, 10, TEN_LEASES))).toHaveLength(1);
  });

  it('leaves no lease in Redis for admissions that were answered too late', async () => {
    const prefix = newPrefix();
    const { proxy, clock, states, limiter } = await breakable({
      prefix,
      timeoutMs: SHORT_MS,
      replicas: 5,
    });
    proxy.stall();
    const admissions = await attempt(limiter, 10, TEN_LEASES);
    const leases = leasesOf(admissions);
    expect(leases).toHaveLength(2);
    leases[0]?.release();
    proxy.heal();
    clock.advance(2_000);
    await until(async () => {
      await limiter.leases('key');
      return states.at(-1) === 'redis';
    });
    await until(async () => (await redis.zcard(`${prefix}{k:key}:l`)) === 1);
    expect(await limiter.leases('key')).toBe(1);
  });

  it('probes in the background: no request waits for a Redis that is still stalled', async () => {
    const { proxy, clock, states, limiter } = await breakable({ timeoutMs: SHORT_MS });
    proxy.stall();
    await attempt(limiter, 3, TEN_LEASES);
    clock.advance(2_000);
    expect(limiter.admit('key', TEN_LEASES)).not.toBeInstanceOf(Promise);
    expect(limiter.admit('key', TEN_LEASES)).not.toBeInstanceOf(Promise);
    expect(states).toEqual(['local']);
  });

  it('reports the error of Redis with the state change', async () => {
    const prefix = newPrefix();
    const told: RedisLimiterState[] = [];
    const limiter = limiterOn(redis, { prefix, onStateChange: (state) => told.push(state) });
    await redis.set(`${prefix}{k:key}:l`, 'not a sorted set', 'PX', PATIENT_MS);
    for (let n = 0; n < 3; n += 1) {
      expect((await limiter.admit('key', TEN_LEASES)).outcome).toBe('admitted');
    }
    expect(told).toHaveLength(1);
    expect(told[0]).toMatchObject({
      deciding: 'local',
      error: { message: expect.stringContaining('WRONGTYPE') },
    });
    await redis.del(`${prefix}{k:key}:l`);
  });
});

losingRedis({
  name: 'a single Redis',
  async connect() {
    const proxy = await startFaultProxy(server.address);
    const client = server.connectThrough(proxy.port, {
      enableOfflineQueue: false,
      maxRetriesPerRequest: 0,
      retryStrategy: () => null,
    });
    await until(() => client.status === 'ready');
    return {
      client,
      async lose() {
        proxy.cut();
        await until(() => client.status === 'end');
      },
      stop: () => proxy.close(),
    };
  },
});

describe('Redis limiter: with Redis again', () => {
  // F429: a first admission before Redis is connected: each later one promises a permit that Redis
  // has and this process will not ask for, and a client is denied with some left.
  it.each([1, 2, 5])(
    'promises no permit that its next admission denies, as one of %d',
    async (replicas) => {
      const { proxy, client, limiter } = await breakable({ replicas });
      const policy = { concurrency: 100, burst: 5, requestsPerMinute: 1 };
      proxy.cut();
      await until(() => client.status !== 'ready');
      expect(await limiter.admit('key', policy)).toMatchObject({ outcome: 'admitted' });
      proxy.heal();
      await until(() => client.status === 'ready');
      let admission = await limiter.admit('key', policy);
      for (let left = Infinity; admission.outcome === 'admitted';) {
        expect(admission.remaining).toBeLessThan(left);
        left = admission.remaining;
        admission = await limiter.admit('key', policy);
        expect(admission.outcome).toBe(left > 0 ? 'admitted' : 'denied');
      }
      const log = { limit: 5, windowMs: 3_600_000 };
      proxy.cut();
      await until(() => client.status !== 'ready');
      expect(await limiter.record('ip', log)).toMatchObject({ outcome: 'allowed' });
      proxy.heal();
      await until(() => client.status === 'ready');
      let event = await limiter.record('ip', log);
      while (event.outcome === 'allowed') {
        const { remaining } = event;
        event = await limiter.record('ip', log);
        expect(event.outcome).toBe(remaining > 0 ? 'allowed' : 'denied');
      }
    },
  );

  // F49
  it.each([
    ['one process', 1, 9],
    ['one of three', 3, 3],
  ])(
    'does not grant a second time what it granted locally: %s',
    async (_which, replicas, share) => {
      const { proxy, client, clock, states, limiter } = await breakable({ replicas });
      const policy = { concurrency: 100, burst: 9, requestsPerMinute: 1 };
      const log = { limit: 9, windowMs: 3_600_000 };
      const passing = async () => ({
        permits: leasesOf(await attempt(limiter, 20, policy)).length,
        events: (
          await Promise.all(Array.from({ length: 20 }, async () => limiter.record('ip', log)))
        ).filter(({ outcome }) => outcome === 'allowed').length,
      });
      proxy.cut();
      await until(() => client.status !== 'ready');
      expect(await passing()).toEqual({ permits: share, events: share });
      proxy.heal();
      await until(() => client.status === 'ready');
      clock.advance(2_000);
      await until(async () => {
        await limiter.leases('key');
        return states.at(-1) === 'redis';
      });
      // A permit takes a minute to come back, and two seconds have passed.
      const retryAfterMs = 58_000;
      expect(await passing()).toEqual({ permits: 0, events: 9 - share });
      expect(await limiter.admit('key', policy)).toMatchObject({ limit: 'rate', retryAfterMs });
      clock.advance(retryAfterMs);
      expect(await passing()).toEqual({ permits: 1, events: 0 });
      expect(states).toEqual(['local', 'redis']);
    },
  );
});
