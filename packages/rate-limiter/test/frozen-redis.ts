/**
 * The limiter's scripts on a real Redis, with its clock in the test's hand: the one line that reads the time
 * reads a key instead. Keys still expire in real time, hours later than any test ends.
 */

import type { Redis } from 'ioredis';
import type { RedisClient } from '../src/redis/index.js';

export interface FrozenRedis {
  readonly client: RedisClient;
  readonly advance: (ms: number) => Promise<void>;
}

const CLOCK_READ = "redis.call('TIME')";

export async function freeze(redis: Redis, clockKey: string): Promise<FrozenRedis> {
  let nowUs = 1_795_000_000_000_000;
  const seconds = `${clockKey}:s`;
  const microseconds = `${clockKey}:us`;

  async function set(): Promise<void> {
    await redis.mset(seconds, Math.floor(nowUs / 1e6), microseconds, nowUs % 1e6);
  }

  await set();
  return {
    client: {
      // Makes the limiter send the source, so that the clock can be exchanged in it.
      evalsha: () => Promise.reject(new Error('NOSCRIPT')),
      eval: (script, numberOfKeys, ...args) =>
        redis.eval(
          script.replace(CLOCK_READ, `redis.call('MGET', '${seconds}', '${microseconds}')`),
          numberOfKeys,
          ...args,
        ),
      zrem: (key, ...members) => redis.zrem(key, ...members),
    },
    async advance(ms) {
      nowUs += ms * 1_000;
      await set();
    },
  };
}
