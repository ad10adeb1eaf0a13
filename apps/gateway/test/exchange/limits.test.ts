import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { startRedisCluster } from '../../../../packages/rate-limiter/test/redis-server.js';
import type { RedisCluster } from '../../../../packages/rate-limiter/test/redis-server.js';
import { startGatedUpstream } from '../support/gated-upstream.js';
import { postChat, postMessages, startTestGateway, userMessage } from '../support/gateway.js';
import type { TestGateway } from '../support/gateway.js';
import { connectTo, disconnectAll, headOf } from '../support/raw-client.js';
import type { RawClient } from '../support/raw-client.js';
import { readMetric } from '../support/metrics.js';
import { until } from '../support/until.js';

describe.each(['memory', 'Redis Cluster'])('the limits of a key in %s', (where) => {
  let gateway: TestGateway;
  let cluster: RedisCluster | undefined;
  const start = (env: Readonly<Record<string, string>> = {}): Promise<TestGateway> =>
    startTestGateway({
      // A busy machine must not be taken for a Redis that is down.
      env: { ...env, REDIS_URL: cluster?.urls.join(',') ?? '', REDIS_TIMEOUT_MS: '5000' },
    });

  beforeAll(async () => {
    if (where === 'Redis Cluster') cluster = await startRedisCluster();
    gateway = await start();
  });
  afterAll(async () => {
    await gateway.stop();
    await cluster?.stop();
  });

  // F44: concurrency + 1 at once: exactly the concurrency is admitted; then 429 with a wait of at
  // least 1 s, not charged.
  it('admit exactly as many parallel requests as the concurrency; one more is refused, not charged, and served after the wait', async () => {
    const upstream = await startGatedUpstream();
    const gated = await start({ UPSTREAM_URL: upstream.url });
    const { id, apiKey } = await gated.createKey({ concurrency: 3 });
    upstream.shut();
    let refusals = 0;
    const attempts = Array.from({ length: 4 }, async () => {
      const response = await postMessages(gated, apiKey, userMessage('Hello'));
      if (response.status === 429) refusals += 1;
      return response;
    });
    // The upstream answers only after all requests were admitted or refused, so no lease is
    // released before.
    while (upstream.waiting() + refusals < attempts.length) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    upstream.open();
    const responses = await Promise.all(attempts);
    expect(responses.map((response) => response.status).sort()).toEqual([200, 200, 200, 429]);

    const refused = responses.find((response) => response.status === 429)!;
    const seconds = Number(refused.headers.get('retry-after'));
    const body = await refused.json();
    expect(refused.headers.get('content-type')).toBe('application/json');
    expect(seconds).toBeGreaterThanOrEqual(1);
    expect(body).toMatchObject({ type: 'error', error: { type: 'rate_limit_error' } });
    expect(body.error.message).toContain(`wait ${seconds} second`);

    const entries = await gated.call('listLedger', { key_id: id, kind: 'charge' });
    expect(entries.data).toHaveLength(3);
    await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
    expect((await postMessages(gated, apiKey, userMessage('Hello'))).status).toBe(200);
    await gated.stop();
    await upstream.close();
  });

  // F167: a holder creates keys, uses them and revokes them while requests run: at most
  // `ACCOUNT_CONCURRENCY` in flight; 429 for the rest; the debt is bounded.
  it('bound what an account has in flight, however many keys its holder creates and revokes meanwhile', async () => {
    const upstream = await startGatedUpstream();
    const gated = await start({ UPSTREAM_URL: upstream.url, ACCOUNT_CONCURRENCY: '5' });
    const { apiKey } = await gated.createKey({
      scope: 'manage',
      concurrency: 2,
      balance_usd: '0.000001',
    });
    const manage = async (path: string, body?: object) => {
      const response = await fetch(`${gated.url}/v1/dashboard/keys${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
        body: JSON.stringify(body ?? {}),
      });
      expect(response.status).toBe(200);
      return response.json();
    };
    upstream.shut();
    const texts: string[] = [];
    const attempts: Promise<number>[] = [];
    const ask = async (key: string): Promise<number> => {
      const response = await postMessages(gated, key, userMessage('Hello'));
      const text = await response.text();
      if (response.status === 429) texts.push(text);
      return response.status;
    };
    for (let n = 0; n < 8; n += 1) {
      const created = await manage('', { name: `key ${String(n)}` });
      attempts.push(ask(created.api_key), ask(created.api_key));
      await until(() => upstream.waiting() + texts.length === attempts.length);
      await manage(`/${created.id}/revoke`);
    }
    expect(upstream.waiting()).toBe(5);
    upstream.open();
    const statuses = await Promise.all(attempts);
    expect(statuses.filter((status) => status === 200)).toHaveLength(5);
    expect(texts).toHaveLength(11);
    for (const text of texts) {
      expect(text).toMatch(/this account already has 5 requests in flight, its limit; wait \d /);
    }
    const refusals = await readMetric(
      gated,
      'gateway_rate_limited_total{limit="account_concurrency"}',
    );
    expect(refusals).toBe(11);
    const balance = await fetch(`${gated.url}/v1/dashboard/balance`, {
      headers: { authorization: `Bearer ${apiKey}` },
    });
    const charges = upstream.served.map(({ input, output }) => input * 3 + output * 15);
    expect(charges).toHaveLength(5);
    const spent = charges.reduce((sum, charge) => sum + charge, 0);
    const { balance_usd: left } = await balance.json();
    expect(Number(left)).toBeCloseTo((1 - spent) / 1e6, 12);
    expect(Number(left)).toBeGreaterThanOrEqual((-5 * Math.max(...charges)) / 1e6);
    await gated.stop();
    await upstream.close();
  });

  // F45
  it('admit exactly the burst, in messages and chat completions together, and one more request after the wait', async () => {
    const send = (apiKey: string, count: number): Promise<Response[]> =>
      Promise.all(
        Array.from({ length: count }, (_, i) =>
          (i % 2 === 0 ? postMessages : postChat)(gateway, apiKey, userMessage('Hello')),
        ),
      );
    // At one request per minute, no permit is replenished before all 12 requests were admitted or
    // refused.
    const slow = await gateway.createKey({ burst: 5, requests_per_minute: 1 });
    const statuses = (await send(slow.apiKey, 12)).map((response) => response.status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(5);
    expect(statuses.filter((status) => status === 429)).toHaveLength(7);
    const entries = await gateway.call('listLedger', { key_id: slow.id, kind: 'charge' });
    expect(entries.data).toHaveLength(5);
    // Proves that Redis decided, if there is one. On a busy machine Redis may be late, and the
    // process would then apply the same limits by itself.
    const keys = await keysIn(cluster?.urls ?? []);
    expect(keys.some((key) => key.includes(slow.id))).toBe(cluster !== undefined);

    const quick = await gateway.createKey({ burst: 1, requests_per_minute: 20 });
    let refused: Response | undefined;
    while (refused === undefined) {
      refused = (await send(quick.apiKey, 2)).find((response) => response.status === 429);
    }
    const seconds = Number(refused.headers.get('retry-after'));
    await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
    expect((await postMessages(gateway, quick.apiKey, userMessage('Hello'))).status).toBe(200);
  });

  it('release the lease when the upstream fails', async () => {
    const { apiKey } = await gateway.createKey({ concurrency: 1 });
    gateway.simulator.script({ status: 500, error: { type: 'api_error', message: 'Internal' } });
    expect((await postMessages(gateway, apiKey, userMessage('Hello'))).status).toBe(500);
    expect((await postMessages(gateway, apiKey, userMessage('Hello'))).status).toBe(200);
  });
});

it('a gateway is connected to every node of a Redis Cluster before its first request', async () => {
  const cluster = await startRedisCluster();
  const gateway = await startTestGateway({ env: { REDIS_URL: cluster.urls.join(',') } });
  for (const url of cluster.urls) {
    const node = new Redis(url);
    const ownId = await node.client('ID');
    const clients = String(await node.client('LIST'))
      .trim()
      .split('\n');
    // ioredis names the connections that it opens for other purposes than commands.
    const nameless = clients.filter(
      (line) => / name= /.test(line) && !line.includes(`id=${ownId} `),
    );
    expect(nameless.length).toBeGreaterThanOrEqual(1);
    node.disconnect();
  }
  await gateway.stop();
  await cluster.stop();
});

async function keysIn(urls: readonly string[]): Promise<readonly string[]> {
  const found: string[] = [];
  for (const url of urls) {
    const node = new Redis(url);
    found.push(...(await node.keys('*')));
    node.disconnect();
  }
  return found;
}

describe('counting tokens', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway();
  });
  afterEach(disconnectAll);
  afterAll(() => gateway.stop());

  const count = (apiKey: string): Promise<Response> =>
    fetch(`${gateway.url}/v1/messages/count_tokens`, {
      method: 'POST',
      headers: {
        'x-api-key': apiKey,
        'content-type': 'application/json',
        'anthropic-version': '2023-06-01',
      },
      body: JSON.stringify(userMessage('Hello')),
    });
  const statusesOf = async (requests: Promise<Response>[]): Promise<number[]> =>
    (await Promise.all(requests)).map(({ status }) => status);
  const times = <T>(n: number, make: () => T): T[] => Array.from({ length: n }, make);

  // F82: tokens counted many times at once: token counts have their own limits: four times the
  // key's.
  it('uses no permit of the limit of messages, and is served when all permits of that limit are used', async () => {
    const { apiKey } = await gateway.createKey({ burst: 2, requests_per_minute: 1 });
    expect(await statusesOf(times(4, () => count(apiKey)))).toEqual([200, 200, 200, 200]);
    for (const status of [200, 200, 429]) {
      expect((await postMessages(gateway, apiKey, userMessage('Hello'))).status).toBe(status);
    }
    expect((await count(apiKey)).status).toBe(200);
  });

  /** Holds a lease until it is disconnected, or until it sends a body of 2 bytes. */
  async function startUpload(apiKey: string, path: string): Promise<RawClient> {
    const client = connectTo(gateway);
    const headers = ['Content-Length: 2', 'Expect: 100-continue'];
    client.send(headOf({ apiKey, path, headers }));
    await client.receive(/^HTTP\/1\.1 \d+ [^]*\r\n\r\n/);
    return client;
  }

  // F82
  it('uses no lease of the limit of messages, and is served while all leases of that limit are held', async () => {
    const { apiKey } = await gateway.createKey({ concurrency: 1 });
    await startUpload(apiKey, '/v1/messages');
    expect((await postMessages(gateway, apiKey, userMessage('Hello'))).status).toBe(429);
    expect((await count(apiKey)).status).toBe(200);
  });

  // F82
  it('is limited to four times the burst and four times the concurrency of the key', async () => {
    const bursts = await gateway.createKey({ burst: 3, requests_per_minute: 1 });
    const statuses = await statusesOf(times(15, () => count(bursts.apiKey)));
    expect(statuses.filter((status) => status === 200)).toHaveLength(12);
    const refused = await count(bursts.apiKey);
    expect(refused.status).toBe(429);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    expect((await refused.json()).error).toMatchObject({
      type: 'rate_limit_error',
      message: expect.stringContaining('12 requests at once and 4 per minute'),
    });

    const { apiKey } = await gateway.createKey({ concurrency: 2 });
    const path = '/v1/messages/count_tokens';
    const uploads = await Promise.all(times(8, () => startUpload(apiKey, path)));
    expect(uploads.map((upload) => upload.received().slice(0, 12))).toEqual(
      times(8, () => 'HTTP/1.1 100'),
    );
    expect((await count(apiKey)).status).toBe(429);
    expect((await postMessages(gateway, apiKey, userMessage('Hello'))).status).toBe(200);
    for (const upload of uploads) upload.send('{}');
    for (const upload of uploads) await upload.receive(/HTTP\/1\.1 400 /);
    expect((await count(apiKey)).status).toBe(200);
  });
});

describe('the limit of the balance endpoint', () => {
  // F47: 31st balance read in a minute: 429; 30 in any minute; reads with a refused key are
  // counted.
  it('admits 30 reads a minute from one client address and refuses the 31st, whichever keys are sent', async () => {
    const gateway = await startTestGateway();
    const { apiKey } = await gateway.createKey();
    const read = (authorization: string, forwardedFor: string): Promise<Response> =>
      fetch(`${gateway.url}/v1/dashboard/balance`, {
        headers: { authorization, 'x-forwarded-for': forwardedFor },
      });
    for (let i = 0; i < 30; i += 1) {
      // A forged address changes nothing, and a refused key counts like any other.
      const response = await read(
        i % 3 === 0 ? 'Bearer nonsense' : `Bearer ${apiKey}`,
        `10.0.0.${i}`,
      );
      expect(response.status).toBe(i % 3 === 0 ? 401 : 200);
    }
    const refused = await read(`Bearer ${apiKey}`, '10.1.1.1');
    expect(refused.status).toBe(429);
    const seconds = Number(refused.headers.get('retry-after'));
    expect(seconds).toBeGreaterThanOrEqual(1);
    expect(seconds).toBeLessThanOrEqual(60);
    expect(await refused.json()).toMatchObject({ error: { type: 'rate_limit_error' } });
    await gateway.stop();
  });

  // F48: 1,000 forged addresses; 1,000 of one /64: 30 of each are answered.
  it('counts a client by its own address, not by those that it claims, and a /64 network as one client', async () => {
    const gateway = await startTestGateway({ env: { TRUST_PROXY: '1' } });
    const { apiKey } = await gateway.createKey();
    /** The one trusted proxy appends the address that it sees to those that the client claims. */
    const read = async (claimed: string, seenByProxy: string): Promise<number> => {
      const response = await fetch(`${gateway.url}/v1/dashboard/balance`, {
        headers: {
          authorization: `Bearer ${apiKey}`,
          'x-forwarded-for': `${claimed}, ${seenByProxy}`,
        },
      });
      await response.text();
      return response.status;
    };
    const countOf = async (addresses: (n: number) => [claimed: string, seenByProxy: string]) => {
      const statuses: number[] = [];
      for (let first = 0; first < 1_000; first += 50) {
        const some = Array.from({ length: 50 }, (_, n) => read(...addresses(first + n)));
        statuses.push(...(await Promise.all(some)));
      }
      expect(statuses.filter((status) => status !== 200 && status !== 429)).toEqual([]);
      return statuses.filter((status) => status === 200).length;
    };
    expect(await countOf((n) => [`10.0.${n >> 8}.${n & 255}`, '192.0.2.1'])).toBe(30);
    expect(await countOf((n) => ['10.0.0.1', `2001:db8:1:2:${n.toString(16)}::1`])).toBe(30);
    expect(await read('192.0.2.1', '192.0.2.2')).toBe(200);
    expect(await read('192.0.2.1', '2001:db8:1:3::1')).toBe(200);
    await gateway.stop();
  });
});
