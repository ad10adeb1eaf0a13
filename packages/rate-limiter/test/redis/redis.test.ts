import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import type { Lease } from '../../src/limiter.js';
import { createRedisLimiter } from '../../src/redis/index.js';
import { ADMIT } from '../../src/redis/lua-scripts.js';
import { limiterContract } from '../../src/testing/index.js';
import { createManualClock } from '../clock.js';
import { freeze } from '../frozen-redis.js';
import { PROBE_AFTER_MS, limiterModel, outageModel } from '../model.js';
import type { RedisServer } from '../redis-server.js';
import { startRedisServer } from '../redis-server.js';
import { runs } from '../../../../scripts/runs.cjs';

let server: RedisServer;
let redis: Redis;
let prefixes = 0;

beforeAll(async () => {
  server = await startRedisServer();
  redis = server.connect({ enableAutoPipelining: true });
});

afterAll(async () => {
  await server.stop();
});

/** A new prefix, so that no test sees the keys of another test or of another run. */
function newPrefix(): string {
  prefixes += 1;
  return `test:${process.pid}:${Date.now()}:${prefixes}:`;
}

/** Long enough for a working Redis to answer in time, even on a busy machine. */
const PATIENT_MS = 600_000;
const HOUR_MS = 3_600_000;
/** No permit comes back while a test runs. */
const ONE_AN_HOUR = 1 / 60;

/** Leases neither expire nor are prolonged while a test runs. */
const TIMELESS = {
  leaseTtlMs: 2_400 * HOUR_MS,
  heartbeatMs: HOUR_MS,
  timeoutMs: PATIENT_MS,
};

async function createFrozenHarness() {
  const prefix = newPrefix();
  const { client, advance } = await freeze(redis, `${prefix}clock`);
  const limiter = createRedisLimiter({ ...TIMELESS, redis: client, prefix });
  return { limiter, advance };
}

async function createLosableHarness(replicas: number) {
  const prefix = newPrefix();
  const frozen = await freeze(redis, `${prefix}clock`);
  const clock = createManualClock();
  let isLost = false;
  let deciding = 'redis';
  const call = <T>(answer: () => Promise<T>): Promise<T> =>
    isLost ? Promise.reject(new Error('connection lost')) : answer();
  const limiter = createRedisLimiter({
    ...TIMELESS,
    redis: {
      evalsha: (...args) => call(() => frozen.client.evalsha(...args)),
      eval: (...args) => call(() => frozen.client.eval(...args)),
      zrem: (...args) => call(() => frozen.client.zrem(...args)),
    },
    prefix,
    replicas,
    now: clock.now,
    onStateChange: (state) => ({ deciding } = state),
  });

  async function advance(ms: number): Promise<void> {
    clock.advance(ms);
    await frozen.advance(ms);
  }

  return {
    limiter,
    replicas,
    advance,
    async lose() {
      // Sends the waiting releases.
      await limiter.leases('');
      isLost = true;
      while (deciding === 'redis') await limiter.leases('');
    },
    async find() {
      // Everything that is sent during the outage is lost.
      for (let n = 0; n < 10; n += 1) await new Promise(setImmediate);
      isLost = false;
      await advance(PROBE_AFTER_MS);
      while (deciding === 'local') {
        await limiter.leases('');
        await new Promise(setImmediate);
      }
    },
  };
}

limiterContract({ name: 'Redis limiter', describe, it, create: createFrozenHarness });

limiterModel({
  name: 'Redis limiter',
  runs: runs(__filename, 'sequences'),
  create: createFrozenHarness,
});

describe.each([1, 3])('one of %d replicas', (replicas) => {
  outageModel({
    name: 'Redis limiter',
    runs: runs(__filename, 'sequences'),
    create: () => createLosableHarness(replicas),
  });
});

describe('Redis limiter: several replicas', () => {
  // F45: 500 at once on a burst of 30: exactly 30.
  it('admits, of 500 simultaneous attempts of four clients, exactly as many as the burst', async () => {
    const prefix = newPrefix();
    const limiters = Array.from({ length: 4 }, () =>
      createRedisLimiter({ redis: server.connect(), prefix, timeoutMs: PATIENT_MS }),
    );
    const policy = { concurrency: 1_000, burst: 30, requestsPerMinute: ONE_AN_HOUR };
    const admissions = await Promise.all(
      limiters.flatMap((limiter) =>
        Array.from({ length: 125 }, async () => limiter.admit('key', policy)),
      ),
    );
    expect(admissions.filter(({ outcome }) => outcome === 'admitted')).toHaveLength(30);
    await Promise.all(limiters.map(async (limiter) => limiter.close()));
  });

  // F44
  it('never exceeds the concurrency in 5,000 attempts from four clients', async () => {
    const prefix = newPrefix();
    const limiters = Array.from({ length: 4 }, () =>
      createRedisLimiter({ redis: server.connect(), prefix, timeoutMs: PATIENT_MS }),
    );
    const policy = { concurrency: 20, burst: 1_000_000, requestsPerMinute: 60_000_000 };
    let inFlight = 0;
    let peak = 0;
    let admitted = 0;
    let attempts = 0;

    async function work(n: number): Promise<void> {
      const limiter = limiters[n % limiters.length];
      while (attempts < 5_000) {
        attempts += 1;
        const admission = await limiter?.admit('key', policy);
        if (admission?.outcome !== 'admitted') continue;
        admitted += 1;
        inFlight += 1;
        peak = Math.max(peak, inFlight);
        // No lease is released before all of them were taken.
        do await new Promise(setImmediate);
        while (peak < policy.concurrency);
        inFlight -= 1;
        admission.lease.release();
      }
    }

    await Promise.all(Array.from({ length: 64 }, (_, n) => work(n)));
    expect(peak).toBe(20);
    // Leases that were released are taken again. How often depends on the machine.
    expect(admitted).toBeGreaterThan(policy.concurrency);
    // Waits for each client's last releases, which are still under way. A lost release would never
    // arrive.
    while ((await limiters[0]?.leases('key')) !== 0) await new Promise(setImmediate);
    await Promise.all(limiters.map(async (limiter) => limiter.close()));
  });

  it('shares leases, permits and logs between replicas', async () => {
    const prefix = newPrefix();
    const [a, b] = [0, 1].map(() =>
      createRedisLimiter({ ...TIMELESS, redis: server.connect(), prefix }),
    );
    if (a === undefined || b === undefined) throw new Error('two limiters');
    const policy = { concurrency: 1, burst: 2, requestsPerMinute: ONE_AN_HOUR };
    const first = await a.admit('key', policy);
    expect(await b.admit('key', policy)).toMatchObject({ outcome: 'denied', limit: 'concurrency' });
    expect(await b.leases('key')).toBe(1);
    if (first.outcome === 'admitted') first.lease.release();
    expect(await a.leases('key')).toBe(0);
    expect((await b.admit('key', policy)).outcome).toBe('admitted');
    const many = { ...policy, concurrency: 10 };
    expect(await a.admit('key', many)).toMatchObject({ outcome: 'denied', limit: 'rate' });

    expect((await a.record('ip', { limit: 1, windowMs: HOUR_MS })).outcome).toBe('allowed');
    expect((await b.record('ip', { limit: 1, windowMs: HOUR_MS })).outcome).toBe('denied');
    await a.close();
    await b.close();
  });
});

describe('Redis limiter: the keys that it writes', () => {
  const POLICY = { concurrency: 2, burst: 3, requestsPerMinute: 60 };
  const GROUP = {
    subject: 'group',
    policy: { concurrency: 100, burst: 100, requestsPerMinute: 60 },
  };

  async function keysOf(prefix: string): Promise<string[]> {
    const found: string[] = [];
    for await (const keys of redis.scanStream({ match: `${prefix}*`, count: 1_000 })) {
      found.push(...(keys as string[]));
    }
    return found.sort();
  }

  it('gives every key a time to live, and one hash tag per subject or group', async () => {
    const prefix = newPrefix();
    const leases = { leaseTtlMs: HOUR_MS, heartbeatMs: HOUR_MS / 2 };
    const limiter = createRedisLimiter({ ...leases, redis, prefix, timeoutMs: PATIENT_MS });
    const slow = { ...POLICY, requestsPerMinute: 2 * ONE_AN_HOUR };
    for (let n = 0; n < 50; n += 1) {
      await limiter.admit(`key-${n}`, slow);
      await limiter.record(`ip-${n}`, { limit: 30, windowMs: HOUR_MS });
      await limiter.admit(`member-${n}`, slow, GROUP);
    }
    const keys = await keysOf(prefix);
    expect(keys).toHaveLength(150 + 100 + 2);
    for (const key of keys) {
      expect(key).toMatch(/^[^{}]*(\{k:[^{}]+\}|5\{k:group\}:member-\d+):[lgr]$/);
      const ttlMs = await redis.pttl(key);
      expect(ttlMs).toBeGreaterThan(0);
      expect(ttlMs).toBeLessThanOrEqual(HOUR_MS);
    }
    await limiter.close();
  });

  // F54: 100,000 keys and addresses: 136 bytes per log in Redis, all with a time to live; bounded
  // in memory.
  it('gives each key of thousands of subjects a time to live, and stores little in each', async () => {
    const subjects = runs(__filename, 'subjects');
    const prefix = newPrefix();
    const limiter = createRedisLimiter({ redis, prefix, timeoutMs: PATIENT_MS });
    const log = { limit: 30, windowMs: HOUR_MS };
    // Counted, because as many calls of `expect` would take most of the time.
    let admitted = 0;
    let allowed = 0;
    for (let first = 0; first < subjects; first += 1_000) {
      await Promise.all(
        Array.from({ length: 1_000 }, async (_, n) => {
          const admission = await limiter.admit(`key-${first + n}`, POLICY);
          const decision = await limiter.record(`ip-${first + n}`, log);
          if (decision.outcome === 'allowed') allowed += 1;
          if (admission.outcome === 'denied') return;
          admitted += 1;
          if (n % 2 === 0) admission.lease.release();
        }),
      );
    }
    expect({ admitted, allowed }).toEqual({ admitted: subjects, allowed: subjects });
    const keys = await keysOf(prefix);
    // Permits and leases may have expired meanwhile; the logs last longer.
    expect(keys.length).toBeGreaterThanOrEqual(subjects);
    for (let first = 0; first < keys.length; first += 10_000) {
      const page = keys.slice(first, first + 10_000);
      const ttls = await Promise.all(page.map((key) => redis.pttl(key)));
      // -2: the key has expired meanwhile. -1: it would never expire.
      expect(ttls.filter((ttlMs) => ttlMs === -1 || ttlMs > HOUR_MS)).toEqual([]);
    }
    for (const key of keys.filter((_, n) => n % 1_000 === 0)) {
      expect(Number(await redis.memory('USAGE', key))).toBeLessThanOrEqual(256);
    }
    await limiter.close();
  });

  it('writes nothing when it denies', async () => {
    const prefix = newPrefix();
    const limiter = createRedisLimiter({ ...TIMELESS, redis, prefix });
    const slow = { ...POLICY, requestsPerMinute: ONE_AN_HOUR };
    const log = { limit: 2, windowMs: HOUR_MS };
    for (let n = 0; n < 2; n += 1) {
      await limiter.admit('leases', slow);
      await limiter.record('ip', log);
    }
    for (let n = 0; n < 3; n += 1) {
      const admission = await limiter.admit('permits', slow);
      if (admission.outcome === 'admitted') admission.lease.release();
    }
    // By then the release has been sent.
    expect(await limiter.leases('permits')).toBe(0);
    const contents = async (): Promise<unknown[]> =>
      Promise.all((await keysOf(prefix)).map((key) => redis.dumpBuffer(key)));
    const before = await contents();
    expect(await limiter.admit('leases', slow)).toMatchObject({ limit: 'concurrency' });
    expect(await limiter.admit('permits', slow)).toMatchObject({ limit: 'rate' });
    expect((await limiter.record('ip', log)).outcome).toBe('denied');
    expect(await contents()).toEqual(before);
    await limiter.close();
  });

  it('needs one round trip, and two when the server does not know the script', async () => {
    // A script of this test alone. Flushing all scripts would disturb other tests, whose clients
    // could also load the script again before the first call here.
    const ownScript = `${ADMIT.source}-- ${newPrefix()}`;
    const ownSha = createHash('sha1').update(ownScript).digest('hex');
    let evalshas = 0;
    let evals = 0;
    const limiter = createRedisLimiter({
      ...TIMELESS,
      prefix: newPrefix(),
      redis: {
        evalsha: (sha, count, ...args) => {
          expect(sha).toBe(ADMIT.sha);
          evalshas += 1;
          return redis.evalsha(ownSha, count, ...args);
        },
        eval: (script, count, ...args) => {
          expect(script).toBe(ADMIT.source);
          evals += 1;
          return redis.eval(ownScript, count, ...args);
        },
        zrem: (key, ...members) => redis.zrem(key, ...members),
      },
    });
    const leases: Lease[] = [];
    for (let n = 0; n < 3; n += 1) {
      const admission = await limiter.admit(`key-${n}`, POLICY, GROUP);
      if (admission.outcome === 'admitted') leases.push(admission.lease);
    }
    expect(leases).toHaveLength(3);
    expect({ evalshas, evals }).toEqual({ evalshas: 3, evals: 1 });
    await limiter.close();
  });

  it.each(['a{b', 'a}b:'])('refuses the prefix %s, which would break the hash tag', (prefix) => {
    expect(() => createRedisLimiter({ redis, prefix })).toThrow(RangeError);
  });

  it('refuses options under which held leases would expire, and zero replicas', () => {
    expect(() => createRedisLimiter({ redis, leaseTtlMs: 100, heartbeatMs: 100 })).toThrow(
      RangeError,
    );
    expect(() => createRedisLimiter({ redis, replicas: 0 })).toThrow(RangeError);
  });

  // Node would fire such a timer after 1 ms.
  it.each([
    ['heartbeatMs', { leaseTtlMs: 2 ** 34 }],
    ['heartbeatMs', { heartbeatMs: 0 }],
    ['heartbeatMs', { heartbeatMs: NaN }],
    ['timeoutMs', { timeoutMs: Infinity }],
    ['timeoutMs', { timeoutMs: 2 ** 31 }],
    ['timeoutMs', { timeoutMs: -1 }],
  ])('refuses a %s that no timer can wait for: %j', (name, options) => {
    expect(() => createRedisLimiter({ redis, ...options })).toThrow(
      new RegExp(`^${name} is .*, not above 0 and at most 2147483647$`),
    );
  });
});
