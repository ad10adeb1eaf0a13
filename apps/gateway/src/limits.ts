/** Limits in Redis, on a server or a cluster. */

import { Cluster, Redis } from 'ioredis';
import type { Logger } from 'pino';
import type { Limiter } from '@gateway/rate-limiter';
import { createRedisLimiter } from '@gateway/rate-limiter/redis';
import type { Metrics } from './telemetry/metrics.js';

/** @param options.processes - How many share the limits; each takes its share while Redis is away. */
export function openRedisLimiter(
  options: { readonly urls: readonly string[]; readonly processes: number },
  log: Logger,
  metrics: Pick<Metrics, 'limitsDecidedBy'>,
): Limiter {
  const redis = connectRedis(options.urls);
  // Each failed call is dealt with where it was made; without a listener the process would stop.
  redis.on('error', (error: Error) => {
    log.warn({ reason: error.message }, 'redis connection');
  });
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
