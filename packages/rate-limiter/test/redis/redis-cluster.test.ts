import { once } from 'node:events';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Cluster, Redis } from 'ioredis';
import { createRedisLimiter } from '../../src/redis/index.js';
import { losingRedis } from '../losing-redis.js';
import { startRedisCluster } from '../redis-server.js';
import type { RedisCluster } from '../redis-server.js';

let servers: RedisCluster;
let cluster: Cluster;
beforeAll(async () => {
  servers = await startRedisCluster();
  cluster = new Cluster([...servers.urls]);
});
afterAll(async () => {
  cluster.disconnect();
  await servers.stop();
});

it('limits many subjects at once, on every node of a cluster', async () => {
  const limiter = createRedisLimiter({
    redis: cluster,
    // No lease expires while the test runs.
    leaseTtlMs: 3_600_000,
    heartbeatMs: 3_000_000,
    timeoutMs: 600_000,
    onStateChange({ deciding }) {
      throw new Error(`limits are decided by ${deciding}`);
    },
  });
  const subjects = Array.from({ length: 40 }, (_, n) => `key-${n}`);
  const policy = { concurrency: 3, burst: 100, requestsPerMinute: 1 / 60 };
  // Every second subject has a group, in which it comes first.
  const groupOf = (subject: string) =>
    Number(subject.slice(4)) % 2 === 0
      ? { subject: `${subject}'s group`, policy: { ...policy, concurrency: 4 } }
      : undefined;
  const admissions = await Promise.all(
    subjects.flatMap((subject) =>
      Array.from({ length: 5 }, async () => limiter.admit(subject, policy, groupOf(subject))),
    ),
  );
  expect(admissions.map(({ outcome }) => outcome)).toEqual(
    subjects.flatMap(() => ['admitted', 'admitted', 'admitted', 'denied', 'denied']),
  );
  const leases = async (subject: string) => limiter.leases(subject, groupOf(subject)?.subject);
  for (const subject of subjects) {
    expect(await leases(subject)).toBe(3);
    const group = groupOf(subject);
    if (group === undefined) continue;
    const others = [1, 2].map(async (n) => limiter.admit(`other-${n}`, policy, group));
    const outcomes = (await Promise.all(others)).map((other) => {
      if (other.outcome === 'admitted') other.lease.release();
      return other.outcome;
    });
    expect(outcomes).toEqual(['admitted', 'denied']);
  }
  for (const admission of admissions) {
    if (admission.outcome === 'admitted') admission.lease.release();
  }
  for (const subject of subjects) {
    expect(await leases(subject)).toBe(0);
    expect(await limiter.leases(groupOf(subject)?.subject ?? '')).toBe(0);
  }
  // Both nodes took part.
  for (const url of servers.urls) {
    const node = new Redis(url);
    expect(Number(await node.dbsize())).toBeGreaterThan(0);
    node.disconnect();
  }
  await limiter.close();
});

losingRedis({
  name: 'Redis Cluster',
  async connect() {
    const client = new Cluster([...servers.urls], { enableOfflineQueue: false });
    await once(client, 'ready');
    // The client refuses calls to a node while it connects to it.
    await Promise.all(client.nodes('master').map((node) => node.ping()));
    const disconnect = async () => client.disconnect();
    return { client, lose: disconnect, stop: disconnect };
  },
});
