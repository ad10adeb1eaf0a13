/**
 * A client can write a body that consists of names of kept responses. How much is looked up for it
 * is bounded, whatever it names: calls of Redis, messages between processes, and permits.
 */

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import { startRedisServer } from '../../../../packages/rate-limiter/test/redis-server.js';
import type { RedisServer } from '../../../../packages/rate-limiter/test/redis-server.js';
import { LocalResponses } from '../../src/exchange/response-memory/local-responses.js';
import { remoteResponses, shareResponses } from '../../src/process/workers/shared-responses.js';
import type { ResponseCalls } from '../../src/process/workers/shared-responses.js';
import type { RpcTo } from '../../src/process/workers/rpc.js';
import { MODEL, postChat, postResponses, startTestGateway } from '../support/gateway.js';
import type { TestGateway } from '../support/gateway.js';
import { openRedisLink } from '../support/redis-link.js';

/** References to the items of so many responses, of which none is kept. */
const references = (count: number) =>
  Array.from({ length: count }, (_, i) => ({ type: 'item_reference', id: `msg_${String(i)}_0` }));

/** Thinking and so many calls, of which none was made by the gateway. */
const conversation = (count: number) => ({
  model: 'not-a-model',
  messages: [
    {
      role: 'assistant',
      reasoning_content: 'Hm',
      tool_calls: Array.from({ length: count }, (_, i) => ({ id: `toolu_${String(i)}` })),
    },
  ],
});

async function count(gateway: TestGateway, apiKey: string, input: readonly object[]) {
  const response = await fetch(`${gateway.url}/v1/responses/input_tokens`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: MODEL, input }),
  });
  return {
    status: response.status,
    retryAfter: response.headers.get('retry-after'),
    error: ((await response.json()) as { readonly error: Record<string, unknown> }).error,
  };
}

describe('with Redis', () => {
  let redis: RedisServer;
  let client: Redis;
  let gateway: TestGateway;
  let closeLink: () => Promise<void> | void;
  beforeAll(async () => {
    redis = await startRedisServer();
    client = redis.connect();
    const link = await openRedisLink(redis);
    closeLink = () => link.close();
    const env = { REDIS_URL: link.url, CHAT_REASONING: 'reasoning_content' };
    gateway = await startTestGateway({ env });
  });
  afterAll(async () => {
    await gateway.stop();
    await closeLink();
    await redis.stop();
  });

  /** The commands that Redis carries out meanwhile, also those in scripts. */
  async function commandsOf(work: () => Promise<unknown>): Promise<number> {
    await client.config('RESETSTAT');
    await work();
    const stats = await client.info('commandstats');
    const counts = [...stats.matchAll(/^cmdstat_(?!info|config|ping)[^:]*:calls=(\d+)/gm)];
    return counts.reduce((sum, [, calls]) => sum + Number(calls), 0);
  }

  // F392: a free request has thousands of references to responses that do not exist. Each was two
  // commands of Redis, and all other customers waited for seconds: it is refused after one.
  it('references to what is not kept cost no more than a request without any', async () => {
    const { apiKey } = await gateway.createKey();
    const user = { role: 'user', content: 'Hello' };
    await count(gateway, apiKey, [user]);
    const without = await commandsOf(() => count(gateway, apiKey, [user]));
    for (const number of [1, 100, 500, 2_000]) {
      let refused: unknown;
      const commands = await commandsOf(async () => {
        refused = await count(gateway, apiKey, references(number));
      });
      expect(refused).toMatchObject({
        status: 400,
        error: { param: number > 500 ? 'input' : 'input[0].id' },
      });
      // The further permits of the key and its account are one script with nine commands each. The
      // release of an earlier request's lease may be counted as well.
      if (number >= 100) expect(commands).toBeLessThan(without + 90);
    }
  });

  // F392
  it('calls of a chat are looked up in one script, however many there are', async () => {
    const { apiKey } = await gateway.createKey();
    const ask = (number: number) => postChat(gateway, apiKey, conversation(number));
    await ask(1);
    const [of100, of2000] = [await commandsOf(() => ask(100)), await commandsOf(() => ask(2_000))];
    expect(of100).toBeLessThan(100 + 150);
    // One command for each of the 1,000 that are looked up, and none for the others.
    expect(of2000).toBeLessThan(1_000 + 150);
  });
});

// F392
it('all names of a body are two messages to the primary, whatever their number', async () => {
  const kept = new LocalResponses({ ttlMs: 60_000, maxBytes: 10_000_000, now: Date.now });
  const { calls } = shareResponses(kept);
  let messages = 0;
  const rpc = new Proxy(calls, {
    get(target, name) {
      const call = Reflect.get(target, name) as unknown;
      if (typeof call === 'function') messages += 1;
      return call;
    },
  }) as unknown as RpcTo<ResponseCalls>;
  const memory = remoteResponses(rpc);
  const owner = { accountId: 'acct_1', keyId: 'key_1' };
  const ids = Array.from({ length: 500 }, (_, i) => `resp_${String(i)}`);
  for (const id of ids) {
    await kept.remember(owner, id, {
      conversation: Buffer.from('{}'),
      response: Buffer.from('{}'),
    });
  }
  expect((await memory.measure(owner, ids)).every((size) => size !== undefined)).toBe(true);
  expect((await memory.recallResponses(owner, ids)).map(String)).toEqual(ids.map(() => '{}'));
  expect(messages).toBe(2);
  kept.close();
});

describe('in one process', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway({ env: { CHAT_REASONING: 'reasoning_content' } });
  });
  afterAll(() => gateway.stop());

  // F393: names were free beside the one permit of their request: each further hundred takes one.
  it('each hundred names takes a permit, of which counting has four times as many', async () => {
    const { apiKey } = await gateway.createKey({ burst: 2, requests_per_minute: 1 });
    // 8 permits: 5, then 3 for the rest.
    expect(await count(gateway, apiKey, references(500))).toMatchObject({ status: 400 });
    const refused = await count(gateway, apiKey, references(301));
    expect(refused).toMatchObject({
      status: 429,
      error: { message: expect.stringContaining('counts once for each 100') },
    });
    // Two are left of three, and four are needed: two come back in 30 s.
    expect(refused.retryAfter).toBe('30');
    expect(await count(gateway, apiKey, references(200))).toMatchObject({ status: 400 });
    expect(await count(gateway, apiKey, references(1))).toMatchObject({ status: 429 });
  });

  // F393
  it('chat and responses pay by the permits of messages, and every key can send any number', async () => {
    const { apiKey } = await gateway.createKey({ burst: 3, requests_per_minute: 1 });
    expect((await postChat(gateway, apiKey, conversation(1_000))).status).toBe(404);
    expect((await postChat(gateway, apiKey, conversation(1))).status).toBe(429);
    const { apiKey: other } = await gateway.createKey({ burst: 1, requests_per_minute: 1 });
    const body = { model: MODEL, input: references(500) };
    expect((await postResponses(gateway, other, body)).status).toBe(400);
  });
});
