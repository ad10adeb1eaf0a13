/**
 * Tests of a limiter that loses its Redis, for a single server and for a cluster. The local limits
 * count all that Redis has granted to this process, and all that it may still grant.
 */

import { afterEach, describe, expect, it } from '@jest/globals';
import type { Decision } from '../src/decision.js';
import type { Admission, Limiter } from '../src/limiter.js';
import { createRedisLimiter } from '../src/redis/index.js';
import type { RedisClient } from '../src/redis/index.js';
import { createManualClock } from './clock.js';

export interface LosableRedis {
  readonly client: RedisClient;
  /** Once it resolves, no call is answered any more. */
  readonly lose: () => Promise<void>;
  readonly stop: () => Promise<void>;
}

export interface LosingRedisOptions {
  readonly name: string;
  readonly connect: () => Promise<LosableRedis>;
}

/** A policy with nine permits, none of which comes back in Redis while a test runs. */
const NINE = { concurrency: 100, burst: 9, requestsPerMinute: 1 / 60 };
const INTERVAL_MS = 3_600_000;
const FIVE_LEASES = { concurrency: 5, burst: 1_000, requestsPerMinute: 60 };
const NINE_EVENTS = { limit: 9, windowMs: 3_600_000 };
/** Long enough for a working Redis to answer in time, even on a busy machine. */
const PATIENT_MS = 600_000;

type Outcome = Admission['outcome'] | Decision['outcome'];

/** Declares the tests. */
export function losingRedis({ name, connect }: LosingRedisOptions): void {
  const cleanups: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
  });

  async function create(replicas: number) {
    const redis = await connect();
    cleanups.push(redis.stop);
    const clock = createManualClock();
    const gate = createGate(redis.client);
    const limiter = createRedisLimiter({
      redis: gate.client,
      prefix: `losing:${process.pid}:${Date.now()}:${Math.random()}:`,
      replicas,
      timeoutMs: PATIENT_MS,
      now: clock.now,
    });
    cleanups.push(async () => limiter.close());
    return { redis, gate, clock, limiter };
  }

  const admitting =
    (limiter: Limiter, policy = NINE) =>
    async () =>
      limiter.admit('key', policy);
  const recording = (limiter: Limiter) => async () => limiter.record('ip', NINE_EVENTS);

  describe.each([
    ['one process', 1],
    ['one of three', 3],
  ] as const)(`${name}: %s that loses it`, (_which, replicas) => {
    // F49
    it('grants no more of a used-up burst until permits come back', async () => {
      const { redis, clock, limiter } = await create(replicas);
      const admit = admitting(limiter);
      expect(await passing(20, admit)).toBe(9);
      await redis.lose();
      const retryAfterMs = replicas * INTERVAL_MS;
      for (let n = 0; n < 3; n += 1) {
        expect(await passing(20, admit)).toBe(0);
        const denial = { outcome: 'denied', of: 'subject', limit: 'rate', retryAfterMs };
        expect(await admit()).toEqual(denial);
        clock.advance(retryAfterMs - 1);
        expect(await passing(20, admit)).toBe(0);
        clock.advance(1);
        expect(await passing(20, admit)).toBe(1);
      }
    });

    it('grants only its share of the rest of a burst', async () => {
      const { redis, limiter } = await create(replicas);
      const admit = admitting(limiter);
      expect(await passing(3, admit)).toBe(3);
      await redis.lose();
      expect(await passing(20, admit)).toBe(6 / replicas);
    });

    it('allows no more events in a full log until some leave the window', async () => {
      const { redis, clock, limiter } = await create(replicas);
      const record = recording(limiter);
      expect(await passing(6, record)).toBe(6);
      clock.advance(1_000);
      expect(await passing(6, record)).toBe(3);
      await redis.lose();
      clock.advance(NINE_EVENTS.windowMs - 1_001);
      expect(await passing(20, record)).toBe(0);
      clock.advance(1);
      // Three events stay in the window: the whole share of one of three processes.
      expect(await passing(20, record)).toBe(replicas === 1 ? 6 : 0);
      clock.advance(1_000);
      expect(await passing(20, record)).toBe(3);
    });

    // F49
    it.each([
      ['of a burst', admitting, 3, { 1: 9, 3: 5 }],
      ['of leases', (limiter: Limiter) => admitting(limiter, FIVE_LEASES), 3, { 1: 5, 3: 4 }],
      ['of a log', recording, 3, { 1: 9, 3: 4 }],
    ] as const)(
      'counts calls that Redis has not answered yet: %s',
      async (_what, calling, early, most) => {
        const { gate, clock, limiter } = await create(replicas);
        const call = calling(limiter);
        expect(await passing(1, call)).toBe(1);
        gate.withhold();
        const asked = passing(early, call);
        await gate.hasAnswers();
        gate.refuse();
        // An admission that is added less than 5 ms after the last batch was sent waits while a
        // batch has no answer. After this advance of the clock, new admissions are sent at once.
        clock.advance(10);
        const refused = await passing(20, call);
        gate.deliver();
        expect(await asked).toBe(early);
        expect(1 + early + refused).toBe(most[replicas]);
      },
    );
  });
}

/** How many of `count` calls at once pass. */
async function passing(
  count: number,
  call: () => Promise<{ readonly outcome: Outcome }>,
): Promise<number> {
  const outcomes = await Promise.all(Array.from({ length: count }, call));
  return outcomes.filter(({ outcome }) => outcome !== 'denied').length;
}

/** Stands between a limiter and its client. */
function createGate(client: RedisClient) {
  let mode: 'pass' | 'withhold' | 'refuse' = 'pass';
  let open: () => void = () => {};
  const opened = new Promise<void>((resolve) => (open = resolve));
  let underWay = 0;

  async function through(call: () => Promise<unknown>): Promise<unknown> {
    if (mode === 'pass') return call();
    if (mode === 'refuse') throw new Error('Connection is closed.');
    underWay += 1;
    const answer = await call();
    underWay -= 1;
    await opened;
    return answer;
  }

  return {
    client: {
      ...(client.isCluster === undefined ? {} : { isCluster: client.isCluster }),
      evalsha: (...args: Parameters<RedisClient['evalsha']>) =>
        through(() => client.evalsha(...args)),
      eval: (...args: Parameters<RedisClient['eval']>) => through(() => client.eval(...args)),
      zrem: (...args: Parameters<RedisClient['zrem']>) => through(() => client.zrem(...args)),
    },
    /** From now on calls reach Redis, but its answers are held back. */
    withhold: () => void (mode = 'withhold'),
    /** From now on every call fails at once. */
    refuse: () => void (mode = 'refuse'),
    /** Delivers the answers that were held back. */
    deliver: () => open(),
    /** Resolves when Redis has answered every call. */
    async hasAnswers(): Promise<void> {
      // The limiter sends its calls at the end of the event-loop tick.
      await new Promise((resolve) => setImmediate(resolve));
      while (underWay > 0) await new Promise((resolve) => setImmediate(resolve));
    },
  };
}
