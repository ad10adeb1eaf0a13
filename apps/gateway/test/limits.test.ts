import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startRedisCluster } from '../../../packages/rate-limiter/test/redis-server.js';
import type { RedisCluster } from '../../../packages/rate-limiter/test/redis-server.js';
import { postChat, postMessages, startTestGateway, userMessage } from './support/gateway.js';
import type { TestGateway } from './support/gateway.js';

describe.each(['memory', 'Redis Cluster'])('limits of a key in %s', (where) => {
  let gateway: TestGateway;
  let cluster: RedisCluster | undefined;
  beforeAll(async () => {
    if (where === 'Redis Cluster') cluster = await startRedisCluster();
    gateway = await startTestGateway({
      simulator: { latencyMs: 300 },
      env: { REDIS_URL: cluster?.urls.join(',') ?? '' },
    });
  });
  afterAll(async () => {
    const metrics = await (await fetch(`${gateway.adminUrl}/metrics`)).text();
    await gateway.stop();
    await cluster?.stop();
    // What was tested is what the title says.
    expect(metrics).toContain('gateway_limits_redis_lost_total 0');
  });

  it('lets exactly C of C+1 parallel requests pass, charges the refused one nothing, and serves it after the wait', async () => {
    const { id, apiKey } = await gateway.createKey({ concurrency: 3 });
    const responses = await Promise.all(
      Array.from({ length: 4 }, () => postMessages(gateway, apiKey, userMessage('Hello'))),
    );
    expect(responses.map((response) => response.status).sort()).toEqual([200, 200, 200, 429]);

    const refused = responses.find((response) => response.status === 429)!;
    const seconds = Number(refused.headers.get('retry-after'));
    const body = await refused.json();
    expect(refused.headers.get('content-type')).toBe('application/json');
    expect(seconds).toBeGreaterThanOrEqual(1);
    expect(body).toMatchObject({ type: 'error', error: { type: 'rate_limit_error' } });
    expect(body.error.message).toContain(`wait ${seconds} second`);

    const entries = await gateway.call('listLedger', { key_id: id, kind: 'charge' });
    expect(entries.data).toHaveLength(3);
    await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
    expect((await postMessages(gateway, apiKey, userMessage('Hello'))).status).toBe(200);
  });

  it('lets exactly B of a burst pass, in either format, and one more after the wait', async () => {
    const { id, apiKey } = await gateway.createKey({ burst: 5, requests_per_minute: 60 });
    const responses = await Promise.all(
      Array.from({ length: 12 }, (_, i) =>
        (i % 2 === 0 ? postMessages : postChat)(gateway, apiKey, userMessage('Hello')),
      ),
    );
    expect(responses.filter((response) => response.status === 200)).toHaveLength(5);
    const refused = responses.filter((response) => response.status === 429);
    expect(refused).toHaveLength(7);

    const seconds = Number(refused[0]!.headers.get('retry-after'));
    await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
    expect((await postMessages(gateway, apiKey, userMessage('Hello'))).status).toBe(200);
    const entries = await gateway.call('listLedger', { key_id: id, kind: 'charge' });
    expect(entries.data).toHaveLength(6);
  });

  it('gives the lease back when the upstream fails', async () => {
    const { apiKey } = await gateway.createKey({ concurrency: 1 });
    gateway.simulator.script({ status: 500, error: { type: 'api_error', message: 'Internal' } });
    expect((await postMessages(gateway, apiKey, userMessage('Hello'))).status).toBe(500);
    expect((await postMessages(gateway, apiKey, userMessage('Hello'))).status).toBe(200);
  });
});

describe('limit of the balance endpoint', () => {
  it('answers 30 reads of one address in a minute and refuses the 31st, whoever asks', async () => {
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

  it('counts one address, whatever others it claims, and one /64 as one', async () => {
    const gateway = await startTestGateway({ env: { TRUST_PROXY: '1' } });
    const { apiKey } = await gateway.createKey();
    /** What the one trusted proxy appends to what the client claims. */
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
