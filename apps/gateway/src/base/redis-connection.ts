/** Connects to Redis: one server, or the nodes of a cluster. */

import { Cluster, Redis } from 'ioredis';
import type { Logger } from 'pino';

/**
 * How long a process waits for Redis before it starts without it. If Redis refuses connections, the
 * wait ends at once. Only a Redis that does not respond delays the start this long. On a busy
 * machine, connecting takes seconds.
 */
const CONNECT_PATIENCE_MS = 10_000;

/**
 * @param urls - One server, or nodes of a cluster.
 * @returns the connection when it was tried: it may not be there yet, and calls then fail at once
 */
export async function openRedis(
  urls: readonly string[],
  log: Logger,
  { commandTimeoutMs }: { readonly commandTimeoutMs: number },
): Promise<Redis | Cluster> {
  const redis = connectRedis(urls, commandTimeoutMs);
  // Failed calls are handled where they are made. Without a listener, ioredis would print the error
  // instead.
  redis.on('error', (error: Error) => {
    log.warn({ reason: error.message }, 'redis connection');
  });
  await tried(redis);
  return redis;
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

function connectRedis(
  [first = '', ...others]: readonly string[],
  commandTimeout: number,
): Redis | Cluster {
  const options = { enableOfflineQueue: false, maxRetriesPerRequest: 0, commandTimeout };
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
