/** Opens the limiter that the configuration names. */

import type { Logger } from 'pino';
import type { Limiter } from '@gateway/rate-limiter';
import type { Config } from '../config/config.js';
import type { Metrics } from '../observe/metrics.js';

/**
 * The limiter waits far less. This timeout only limits the calls that accumulate on a connection
 * that hangs.
 */
const COMMAND_TIMEOUT_MS = 10_000;

/** @param openLocal - Opens the limiter for a configuration without Redis. */
export async function openLimiter(
  config: Pick<Config, 'redisUrls' | 'redisTimeoutMs' | 'replicas' | 'workers'>,
  { log, metrics }: { readonly log: Logger; readonly metrics: Pick<Metrics, 'limitsDecidedBy'> },
  openLocal: () => Limiter,
): Promise<Limiter> {
  const { redisUrls, redisTimeoutMs, replicas, workers } = config;
  if (redisUrls.length === 0) return openLocal();
  const { openRedis } = await import('../base/redis-connection.js');
  const { createRedisLimiter } = await import('@gateway/rate-limiter/redis');
  const redis = await openRedis(redisUrls, log, { commandTimeoutMs: COMMAND_TIMEOUT_MS });
  const limiter = createRedisLimiter({
    redis,
    timeoutMs: redisTimeoutMs,
    // While Redis cannot be reached, each process uses its share.
    replicas: replicas * workers,
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
