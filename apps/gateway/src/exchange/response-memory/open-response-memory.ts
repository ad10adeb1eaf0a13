/** Opens the memory of responses that the configuration names. */

import type { Logger } from 'pino';
import type { Config } from '../../config/config.js';
import { peppersOf } from '../../ledger/open-store.js';
import { LocalResponses } from './local-responses.js';
import type { ResponseMemory } from './response-memory.js';

/**
 * Longer than the limiter waits, because a conversation can have megabytes. A request that
 * continues a response waits for it, and so does the end of a response that is kept.
 */
const COMMAND_TIMEOUT_MS = 2_000;

/** @returns `undefined` if nothing is kept */
export async function openResponseMemory(
  config: Config,
  log: Logger,
): Promise<ResponseMemory | undefined> {
  const { responseMemory, redisUrls } = config;
  if (responseMemory === undefined) return undefined;
  if (redisUrls.length === 0) return new LocalResponses({ ...responseMemory, now: Date.now });
  const { openRedis } = await import('../../base/redis-connection.js');
  const { createRedisResponses } = await import('./redis-responses.js');
  // A connection of its own: the limiter's small calls must not wait behind large texts.
  const redis = await openRedis(redisUrls, log, { commandTimeoutMs: COMMAND_TIMEOUT_MS });
  return createRedisResponses({ ...responseMemory, redis, peppers: peppersOf(config) });
}
