/** The memories of responses, in a process and in Redis. */

import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Cluster } from 'ioredis';
import type { Redis } from 'ioredis';
import {
  startRedisCluster,
  startRedisServer,
} from '../../../packages/rate-limiter/test/redis-server.js';
import { LocalResponses } from '../src/exchange/response-memory/local-responses.js';
import { createRedisResponses } from '../src/exchange/response-memory/redis-responses.js';
import { describeResponseMemory } from './support/response-memory-suite.js';

const close: (() => void)[] = [];
afterEach(() => {
  for (const each of close.splice(0)) each();
});

describeResponseMemory('in a process', (options) => {
  const memory = new LocalResponses(options);
  close.push(() => {
    memory.close();
  });
  return memory;
});

describe.each([
  [
    'on one server of Redis',
    async () => {
      const server = await startRedisServer();
      return { connect: () => server.connect(), stop: () => server.stop() };
    },
  ],
  [
    'on a cluster of Redis',
    async () => {
      const cluster = await startRedisCluster();
      return { connect: () => new Cluster([...cluster.urls]), stop: () => cluster.stop() };
    },
  ],
] as const)('%s', (_where, start) => {
  let servers: { readonly connect: () => Redis | Cluster; readonly stop: () => Promise<void> };
  let tests = 0;
  beforeAll(async () => {
    servers = await start();
  });
  afterAll(() => servers.stop());

  describeResponseMemory('in Redis', (options) => {
    tests += 1;
    const memory = createRedisResponses({
      ...options,
      redis: servers.connect(),
      prefix: `test-${String(tests)}-${String(Date.now())}`,
    });
    close.push(() => {
      memory.close();
    });
    return memory;
  });
});

it('a response in a process is gone soon after its time, also if nobody asks', async () => {
  jest.useFakeTimers();
  try {
    const ttlMs = 30 * 60_000;
    const memory = new LocalResponses({ ttlMs, maxBytes: 100_000, now: Date.now });
    const owner = { accountId: 'acct_1', keyId: 'key_1' };
    const text = Buffer.alloc(40_000);
    await memory.remember(owner, 'resp_1', { conversation: text, response: Buffer.alloc(0) });
    expect(memory.keptBytes()).toBeGreaterThan(40_000);
    jest.advanceTimersByTime(ttlMs + 60_000);
    expect(memory.keptBytes()).toBe(0);
    memory.close();
  } finally {
    jest.useRealTimers();
  }
});
