/** Opens the limiter whose state is in Redis, on one server or a cluster. */

import { Cluster, Redis } from 'ioredis';
import type { Logger } from 'pino';
import type { Limiter } from '@gateway/rate-limiter';
import { createRedisLimiter } from '@gateway/rate-limiter/redis';
import type { Metrics } from './telemetry/metrics.js';

/**
 * How long a process waits for Redis before it starts without it. If Redis refuses connections, the
 * wait ends at once. Only a Redis that does not respond delays the start this long. On a busy
 * machine, connecting takes seconds.
 */
const CONNECT_PATIENCE_MS = 10_000;

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
  const redis = connectRedis(urls);
  // Failed calls are handled where they are made. Without a listener, ioredis would print the error
  // instead.
  redis.on('error', (error: Error) => {
    log.warn({ reason: error.message }, 'redis connection');
  });
  await tried(redis);
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

/**
 * Resolves when Redis is ready, when it refuses the connection, or after {@link
 * CONNECT_PATIENCE_MS}.
 */
function tried(redis: Redis | Cluster): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, CONNECT_PATIENCE_MS);
    const settle = (): void => {
      clearTimeout(timer);
      resolve();
    };
    redis.once('close', settle);
    redis.once('ready', () => {
      connectNodes(redis).then(settle, settle);
    });
  });
}

/**
 * Connects to every master of a cluster. ioredis calls a cluster ready when one node is connected.
 * ioredis connects to a further node only when the first call for that node is made. Calls that are
 * made while that connection is being opened are retried after 100 ms. The limiter may have given
 * up by then (`REDIS_TIMEOUT_MS`).
 */
async function connectNodes(redis: Redis | Cluster): Promise<void> {
  if (redis instanceof Cluster) await Promise.all(redis.nodes('master').map(connectNode));
}

/** Waits for the connection, because a call fails while the connection is being opened. */
async function connectNode(node: Redis): Promise<void> {
  if (node.status === 'wait') {
    await node.connect();
  } else if (node.status !== 'ready') {
    await new Promise((resolve) => {
      node.once('ready', resolve);
      node.once('close', resolve);
    });
  }
}

function connectRedis([first = '', ...others]: readonly string[]): Redis | Cluster {
  const options = {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    // The limiter waits far less. This timeout only limits the calls that accumulate on a
    // connection that hangs.
    commandTimeout: 10_000,
  };
  if (others.length === 0) return new Redis(first, options);
  // Discovered nodes get the same credentials.
  const { username, password, protocol } = new URL(first);
  return new Cluster([first, ...others], {
    enableOfflineQueue: false,
    // The default is one second. A process that is busy starting may need longer to read the
    // answer.
    slotsRefreshTimeout: CONNECT_PATIENCE_MS / 2,
    redisOptions: {
      ...options,
      ...(username === '' ? {} : { username: decodeURIComponent(username) }),
      ...(password === '' ? {} : { password: decodeURIComponent(password) }),
      ...(protocol === 'rediss:' ? { tls: {} } : {}),
    },
  });
}
