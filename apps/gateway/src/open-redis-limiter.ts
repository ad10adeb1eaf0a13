/** Opens the limiter whose state is in Redis, on one server or a cluster. */

import type { Logger } from 'pino';
import type { Limiter } from '@gateway/rate-limiter';
import { createRedisLimiter } from '@gateway/rate-limiter/redis';
import { openRedis } from './redis-connection.js';
import type { Metrics } from './telemetry/metrics.js';

/**
 * The limiter waits far less. This timeout only limits the calls that accumulate on a connection
 * that hangs.
 */
const COMMAND_TIMEOUT_MS = 10_000;

/**
 * @param options.processes - How many processes share the limits. While Redis cannot be reached,
 * each uses its share.
 */
export async function openRedisLimiter(
  {
    urls,
    timeoutMs,
    processes,
  }: {
    readonly urls: readonly string[];
    readonly timeoutMs: number;
    readonly processes: number;
  },
  log: Logger,
  metrics: Pick<Metrics, 'limitsDecidedBy'>,
): Promise<Limiter> {
  const redis = await openRedis(urls, log, { commandTimeoutMs: COMMAND_TIMEOUT_MS });
  const limiter = createRedisLimiter({
    redis,
    timeoutMs,
    replicas: processes,
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
