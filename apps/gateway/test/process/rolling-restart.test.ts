/**
 * Restarts without lost requests: with DRAIN_DELAY_S a gateway announces that it will stop, and
 * serves requests until load balancers have noticed.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { startPostgresServer } from '../../../../packages/balance-store/test/postgres-server.js';
import type { OwnPostgresServer } from '../../../../packages/balance-store/test/postgres-server.js';
import { startRedisServer } from '../../../../packages/rate-limiter/test/redis-server.js';
import type { RedisServer } from '../../../../packages/rate-limiter/test/redis-server.js';
import { freePort } from '../../../../scripts/free-port.cjs';
import { createRemoteCaller } from '../../src/operator/operations/callers.js';
import { startBalancer } from '../support/balancer.js';
import { startGatedUpstream } from '../support/gated-upstream.js';
import type { GatedUpstream } from '../support/gated-upstream.js';
import { spawnGateway } from '../support/gateway-process.js';
import type { GatewayProcess } from '../support/gateway-process.js';
import { postMessages, userMessage } from '../support/gateway.js';
import { openRedisLink } from '../support/redis-link.js';
import { startClients } from '../support/restless-clients.js';
import { until } from '../support/until.js';

const ADMIN_TOKEN = 'admin-token-of-the-tests';

let upstream: GatedUpstream;
const running = new Set<GatewayProcess>();
const dataDirs = new Set<string>();

beforeAll(async () => {
  upstream = await startGatedUpstream();
});
afterEach(async () => {
  for (const gateway of running) {
    gateway.send('SIGKILL');
    await gateway.exited;
  }
  running.clear();
  for (const dataDir of dataDirs) rmSync(dataDir, { recursive: true, force: true });
  dataDirs.clear();
});
afterAll(() => upstream.close());

async function start(env: Readonly<Record<string, string>>): Promise<GatewayProcess> {
  const gateway = await spawnGateway({
    ADMIN_TOKEN,
    UPSTREAM_URL: upstream.url,
    UPSTREAM_API_KEY: 'upstream-key',
    KEY_CONCURRENCY: '1000',
    KEY_BURST: '100000',
    KEY_REQUESTS_PER_MINUTE: '1000000',
    ...env,
  });
  running.add(gateway);
  return gateway;
}

function callerOf({ adminUrl }: Pick<GatewayProcess, 'adminUrl'>) {
  return createRemoteCaller({ url: adminUrl, token: ADMIN_TOKEN });
}

async function statusOf(url: string): Promise<number> {
  return (await fetch(url)).status;
}

describe.each(['1', '2'])('DRAIN_DELAY_S with WORKERS=%s', (workers) => {
  // F96: replicas restarted one after the other: `/readyz` says so first; no request is lost, each
  // is charged once.
  it('makes /readyz answer 503 on both ports, takes requests meanwhile, then exits with status 0', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'gateway-drain-'));
    dataDirs.add(dataDir);
    const gateway = await start({ DATA_DIR: dataDir, WORKERS: workers, DRAIN_DELAY_S: '5' });
    const key = await callerOf(gateway)('createKey', { name: 'test', balance_usd: '10' });
    expect(await statusOf(`${gateway.url}/readyz`)).toBe(200);
    gateway.send('SIGTERM');
    await until(async () => (await statusOf(`${gateway.url}/readyz`)) === 503);
    expect(await statusOf(`${gateway.adminUrl}/readyz`)).toBe(503);
    expect(await statusOf(`${gateway.url}/healthz`)).toBe(200);
    const answer = await postMessages(gateway, key.api_key ?? '', userMessage('Hello'));
    expect([answer.status, answer.headers.get('connection')]).toEqual([200, 'keep-alive']);
    expect(await gateway.exited).toBe(0);
  });
});

describe('two replicas behind a balancer that asks /readyz', () => {
  let postgres: OwnPostgresServer;
  let redis: RedisServer;
  beforeAll(async () => {
    postgres = await startPostgresServer();
    redis = await startRedisServer();
  });
  afterAll(async () => {
    await redis.stop();
    await postgres.stop();
  });

  // F96
  it('are restarted one after the other under traffic, and no request is lost', async () => {
    const link = await openRedisLink(redis);
    const env = {
      DATABASE_URL: await postgres.createDatabase(),
      REDIS_URL: link.url,
      REPLICAS: '2',
      KEY_PEPPER: 'pepper of the tests of restarts',
      DRAIN_DELAY_S: '1',
    };
    // A replica must get its port again when it comes back.
    const startOn = (port: string) => start({ ...env, PORT: port });
    const replicas = [
      await startOn(String(await freePort())),
      await startOn(String(await freePort())),
    ];
    const key = await callerOf(replicas[0]!)('createKey', { name: 'test', balance_usd: '1000000' });
    const balancer = await startBalancer(replicas.map(({ url }) => url));
    const clients = startClients(balancer.url, key.api_key ?? '', {
      staying: 8,
      coming: 8,
      pauseMs: 50,
    });

    for (const [index, replica] of replicas.entries()) {
      const before = clients.outcomes.get(200) ?? 0;
      await until(() => (clients.outcomes.get(200) ?? 0) > before + 20);
      replica.send('SIGTERM');
      expect(await replica.exited).toBe(0);
      const again = await startOn(new URL(replica.url).port);
      replicas[index] = again;
      await until(() => balancer.ready().includes(again.url));
    }
    await clients.stop();
    await balancer.close();
    await link.close();

    expect(clients.refusals).toEqual([]);
    expect([...clients.outcomes.keys()]).toEqual([200]);
    // A top-up, and one charge for each response.
    const entries = 1 + clients.outcomes.get(200)!;
    const call = callerOf(replicas[0]!);
    expect(await call('auditLedger', {})).toMatchObject({
      is_sound: true,
      gap_usd: '0',
      entries,
    });
  });
});
