/** The memories of responses, in a process and in Redis. */

import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Cluster } from 'ioredis';
import type { Redis } from 'ioredis';
import {
  startRedisCluster,
  startRedisServer,
} from '../../../../packages/rate-limiter/test/redis-server.js';
import { LocalResponses } from '../../src/exchange/response-memory/local-responses.js';
import { createRedisResponses } from '../../src/exchange/response-memory/redis-responses.js';
import type { ResponseMemoryLimits } from '../../src/config/config.js';
import type { Peppers } from '../../src/ledger/open-store.js';
import { describeResponseMemory } from '../support/response-memory-suite.js';

const close: (() => void)[] = [];
afterEach(() => {
  for (const each of close.splice(0)) each();
});

describeResponseMemory('in a process', (limits) => {
  let time = Date.now();
  const memory = new LocalResponses({ ...limits, now: () => time });
  close.push(() => {
    memory.close();
  });
  const age = (ms: number) => {
    time += ms;
    return Promise.resolve();
  };
  return { memory, age };
});

const PEPPERS: Peppers = { pepper: 'the pepper of kept responses', previousPepper: undefined };
const HOUR = { ttlMs: 3_600_000, maxBytes: 100_000 };
const OWNER = { accountId: 'acct_1', keyId: 'key_1' };
const KEPT = { conversation: Buffer.from('{"items":["a secret"]}'), response: Buffer.from('{}') };

/** The names of all keys with this prefix, which are on one node. */
async function keysOf(redis: Redis | Cluster, prefix: string): Promise<readonly string[]> {
  const nodes = redis instanceof Cluster ? redis.nodes('master') : [redis];
  return (await Promise.all(nodes.map((node) => node.keys(`${prefix}:*`)))).flat();
}

/** Does what the passing of time does. */
async function ageKeys(redis: Redis | Cluster, prefix: string, ms: number): Promise<void> {
  for (const key of await keysOf(redis, prefix)) {
    if (/:(all|of:[^:]+)$/.test(key)) {
      const members = await redis.zrange(key, '0', '-1');
      await Promise.all(members.map((member) => redis.zincrby(key, -ms, member)));
    }
    await redis.pexpire(key, Math.max(0, (await redis.pttl(key)) - ms));
  }
}

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

  const opened = (
    limits: ResponseMemoryLimits,
    { prefix = newPrefix(), peppers = PEPPERS }: { prefix?: string; peppers?: Peppers } = {},
  ) => {
    const redis = servers.connect();
    const memory = createRedisResponses({ ...limits, redis, peppers, prefix });
    close.push(() => {
      memory.close();
    });
    return { memory, redis, prefix, age: (ms: number) => ageKeys(redis, prefix, ms) };
  };
  const newPrefix = () => {
    tests += 1;
    return `test-${String(tests)}-${String(Date.now())}`;
  };

  describeResponseMemory('in Redis', (limits) => opened(limits));

  // F399: the clock of one replica is hours ahead: the next response that it keeps removes nothing
  // that others keep.
  it('forgets nothing early, whatever clock a replica has', async () => {
    const { memory, prefix } = opened(HOUR);
    await memory.remember(OWNER, 'resp_1', KEPT);
    const clock = jest.spyOn(Date, 'now').mockReturnValue(Date.now() + 2 * HOUR.ttlMs);
    try {
      const other = opened(HOUR, { prefix }).memory;
      expect(await other.remember(OWNER, 'resp_2', KEPT)).toBe('kept');
      await other.forget(OWNER, 'resp_3');
      expect((await other.recall(OWNER, ['resp_1']))[0]).toEqual(KEPT);
      expect((await memory.recall(OWNER, ['resp_1']))[0]).toEqual(KEPT);
    } finally {
      clock.mockRestore();
    }
  });

  describe('a response in Redis', () => {
    const oneOf = (prefix: string, id: string) => `${prefix}:{responses}:one:${OWNER.keyId}:${id}`;

    // F400: somebody who can read Redis reads conversations: they are in cipher.
    it('cannot be read without the pepper', async () => {
      const { memory, redis, prefix } = opened(HOUR);
      await memory.remember(OWNER, 'resp_1', KEPT);
      for (const key of await keysOf(redis, prefix)) {
        if ((await redis.type(key)) !== 'hash') continue;
        const fields = await redis.hgetallBuffer(key);
        expect(Object.keys(fields).length).toBe(3);
        for (const value of Object.values(fields))
          expect(String(value)).not.toMatch(/secret|items/);
      }
    });

    // F401: somebody who can write to Redis writes, moves or changes a conversation: it is not
    // believed, as if it had expired.
    it('is not believed if another program wrote, moved or changed it', async () => {
      const { memory, redis, prefix } = opened(HOUR);
      const ids = ['resp_1', 'resp_2', 'resp_3', 'resp_4', 'resp_5', 'resp_6'] as const;
      for (const id of ids) await memory.remember(OWNER, id, KEPT);
      const other = { ...OWNER, accountId: 'acct_2' };
      const fields = await redis.hgetallBuffer(oneOf(prefix, 'resp_1'));
      const { sealed_conversation: conversation, sealed_response: response } = fields;
      const flipped = Buffer.from(conversation!);
      flipped[20]! ^= 1;
      const put = (id: string, texts: Readonly<Record<string, string | Buffer>>) =>
        redis.hset(oneOf(prefix, id), texts);
      // As an earlier version kept it, and as somebody without the pepper would write it.
      await redis.hdel(oneOf(prefix, 'resp_2'), 'sealed_conversation', 'sealed_response');
      await put('resp_2', { conversation: '{"items":[]}', response: '{"id":"resp_2"}' });
      await put('resp_3', { sealed_conversation: '{"items":["a forged one"]}' });
      await put('resp_4', { sealed_conversation: conversation!, sealed_response: response! });
      await put('resp_5', { sealed_conversation: flipped });
      await put('resp_6', { sealed_conversation: response!, sealed_response: conversation! });
      expect((await memory.recall(OWNER, ['resp_1']))[0]).toEqual(KEPT);
      for (const id of ids.slice(1)) expect((await memory.recall(OWNER, [id]))[0]).toBe(undefined);
      expect((await memory.measure(OWNER, ['resp_2']))[0]).toBe(undefined);
      expect((await memory.recall(other, ['resp_1']))[0]).toBe(undefined);
    });

    // F402: the pepper is replaced, one replica after the other: no kept response is lost, and in
    // the end the old pepper opens none that is new.
    it('is read by every replica while the pepper is replaced', async () => {
      const prefix = newPrefix();
      const replica = (pepper: string, previousPepper?: string) =>
        opened(HOUR, { prefix, peppers: { pepper, previousPepper } }).memory;
      const before = replica('old');
      const [second, third] = [replica('old', 'new'), replica('new', 'old')];
      await before.remember(OWNER, 'resp_1', KEPT);
      await second.remember(OWNER, 'resp_2', KEPT);
      await third.remember(OWNER, 'resp_3', KEPT);
      for (const each of [second, third]) {
        for (const id of ['resp_1', 'resp_2', 'resp_3']) {
          expect((await each.recall(OWNER, [id]))[0]).toEqual(KEPT);
        }
      }
      const after = replica('new');
      expect((await after.recall(OWNER, ['resp_3']))[0]).toEqual(KEPT);
      expect((await after.recall(OWNER, ['resp_1']))[0]).toBe(undefined);
      expect((await before.recall(OWNER, ['resp_3']))[0]).toBe(undefined);
    });
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
