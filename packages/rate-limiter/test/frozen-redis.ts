/**
 * The limiter's scripts on a real Redis whose clock the test sets. Keys still expire in real time,
 * but only after a thousand times their time to live, so that no test depends on its own duration.
 */

import type { Redis } from 'ioredis';
import type { RedisClient } from '../src/redis/index.js';

export interface FrozenRedis {
  readonly client: RedisClient;
  readonly advance: (ms: number) => Promise<void>;
}

/** Goes before a script and replaces its global `redis`, so that TIME returns the test's time. */
const prologue = (seconds: string, microseconds: string): string => `
local real = redis
local redis = {}
function redis.call(command, ...)
  local arguments = {...}
  if command == 'TIME' then return real.call('MGET', '${seconds}', '${microseconds}') end
  if command == 'PEXPIRE' then arguments[2] = arguments[2] * 1000 end
  if command == 'SET' then arguments[4] = arguments[4] * 1000 end
  return real.call(command, unpack(arguments))
end
`;

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
      // Makes the limiter send the source, so that the prologue can go before it.
      evalsha: () => Promise.reject(new Error('NOSCRIPT')),
      eval: (script, numberOfKeys, ...args) =>
        redis.eval(`${prologue(seconds, microseconds)}${script}`, numberOfKeys, ...args),
      zrem: (key, ...members) => redis.zrem(key, ...members),
    },
    async advance(ms) {
      nowUs += ms * 1_000;
      await set();
    },
  };
}
