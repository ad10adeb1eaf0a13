/** A gateway's own link to the Redis server under test, which can be cut. */

import { startFaultProxy } from '../../../../packages/rate-limiter/test/fault-proxy.js';
import type { FaultProxy } from '../../../../packages/rate-limiter/test/fault-proxy.js';
import type { RedisServer } from '../../../../packages/rate-limiter/test/redis-server.js';

export interface RedisLink extends FaultProxy {
  /** For `REDIS_URL`. */
  readonly url: string;
}

export async function openRedisLink(redis: RedisServer): Promise<RedisLink> {
  const proxy = await startFaultProxy(redis.address);
  // With the credentials of the server under test, if it has any.
  const url = new URL(process.env['TEST_REDIS_URL'] ?? 'redis://127.0.0.1');
  url.hostname = '127.0.0.1';
  url.port = String(proxy.port);
  return { ...proxy, url: url.href };
}
