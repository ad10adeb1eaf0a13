/** Limits in Redis, on a server or a cluster. */

import { Cluster, Redis } from 'ioredis';
import type { Logger } from 'pino';
import type { Limiter } from '@gateway/rate-limiter';
import { createRedisLimiter } from '@gateway/rate-limiter/redis';
import type { Metrics } from './telemetry/metrics.js';

/** A process starts without its Redis, but not before it has tried. */
const CONNECT_PATIENCE_MS = 2_000;

/** @param options.processes - How many share the limits; each takes its share while Redis is away. */
export async function openRedisLimiter(
  options: { readonly urls: readonly string[]; readonly processes: number },
  log: Logger,
  metrics: Pick<Metrics, 'limitsDecidedBy'>,
): Promise<Limiter> {
  const redis = connectRedis(options.urls);
  // Each failed call is dealt with where it was made; without a listener the process would stop.
  redis.on('error', (error: Error) => {
    log.warn({ reason: error.message }, 'redis connection');
  });
  await tried(redis);
  const limiter = createRedisLimiter({
    redis,
    replicas: options.processes,
    onStateChange: ({ deciding, ...cause }) => {
      metrics.limitsDecidedBy(deciding);
      log.warn({ deciding, reason: 'error' in cause ? String(cause.error) : undefined }, 'limits');
    },
  });
  return {
    ...limiter,
    async close() {
      await limiter.close();
      redis.disconnect();
    },
  };
}

/** Resolves when Redis can be asked, when it cannot, or after a while. */
function tried(redis: Redis | Cluster): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, CONNECT_PATIENCE_MS);
    for (const event of ['ready', 'close']) {
      redis.once(event, () => {
        clearTimeout(timer);
        resolve();
      });
    }
  });
}

function connectRedis([first = '', ...others]: readonly string[]): Redis | Cluster {
  const options = {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    // The limiter waits far less; this only bounds what piles up on a connection that hangs.
    commandTimeout: 10_000,
  };
  if (others.length === 0) return new Redis(first, options);
  // Nodes that are discovered are asked with the same credentials.
  const { username, password, protocol } = new URL(first);
  return new Cluster([first, ...others], {
    enableOfflineQueue: false,
    redisOptions: {
      ...options,
      ...(username === '' ? {} : { username: decodeURIComponent(username) }),
      ...(password === '' ? {} : { password: decodeURIComponent(password) }),
      ...(protocol === 'rediss:' ? { tls: {} } : {}),
    },
  });
}
