import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { RedisTimeoutError, withTimeout } from '../../src/redis/client.js';
import { createRedisLimiter } from '../../src/redis/index.js';

const TIMEOUT_MS = 100;

describe('withTimeout', () => {
  /** Resolves after this many ticks of the event loop, each of which takes `eachMs`. */
  async function afterLongTicks(ticks: number, eachMs: number): Promise<string> {
    for (let tick = 0; tick < ticks; tick += 1) {
      await new Promise((resolve) => setImmediate(resolve));
      const end = performance.now() + eachMs;
      while (performance.now() < end);
    }
    return 'answer';
  }

  // F49
  it.each([
    ['one long task', 1, 500],
    ['tasks that are each shorter than the timeout', 5, 60],
    ['tasks that are each longer than the timeout', 5, 120],
  ])('waits for an answer that comes late because of %s', async (_what, ticks, eachMs) => {
    expect(await withTimeout(afterLongTicks(ticks, eachMs), TIMEOUT_MS)).toBe('answer');
  });

  it('fails as the call does', async () => {
    await expect(withTimeout(Promise.reject(new Error('READONLY')), TIMEOUT_MS)).rejects.toThrow(
      'READONLY',
    );
  });
});

describe('a Redis that never answers', () => {
  beforeEach(
    () => void jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'performance'] }),
  );
  afterEach(() => void jest.useRealTimers());

  /** Advances the timers, with one tick of the event loop for each millisecond. */
  async function advance(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += 1) {
      jest.advanceTimersByTime(1);
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  it('makes all simultaneous calls wait for exactly the timeout', async () => {
    const never = () => new Promise<never>(() => {});
    const limiter = createRedisLimiter({
      redis: { evalsha: never, eval: never, zrem: () => Promise.resolve() },
      timeoutMs: TIMEOUT_MS,
    });
    const policy = { concurrency: 3, burst: 100, requestsPerMinute: 60 };
    const log = { limit: 2, windowMs: 60_000 };
    const outcomes: string[] = [];
    for (let n = 0; n < 5; n += 1) {
      void Promise.resolve(limiter.admit('key', policy)).then((it) => outcomes.push(it.outcome));
      void Promise.resolve(limiter.record('ip', log)).then((it) => outcomes.push(it.outcome));
    }
    await new Promise((resolve) => setImmediate(resolve));
    await advance(TIMEOUT_MS - 1);
    expect(outcomes).toEqual([]);
    await advance(1);
    const denied = Array.from({ length: 5 }, () => 'denied');
    expect(outcomes.sort()).toEqual([
      'admitted',
      'admitted',
      'admitted',
      'allowed',
      'allowed',
      ...denied,
    ]);
    await limiter.close();
  });

  it('causes a RedisTimeoutError that names the timeout', async () => {
    const failure = withTimeout(new Promise(() => {}), TIMEOUT_MS).catch((error: unknown) => error);
    await advance(TIMEOUT_MS);
    expect(await failure).toBeInstanceOf(RedisTimeoutError);
    expect(String(await failure)).toContain('100 ms');
  });
});
