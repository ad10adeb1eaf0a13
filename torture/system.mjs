/** A whole system for the torture: databases, upstream, links that can break, gateways, keys. */

import { setTimeout as sleep } from 'node:timers/promises';
import { openPostgresStore } from '../packages/balance-store/dist/postgres/index.js';
import { freePort } from '../scripts/free-port.cjs';
import { startPostgres, startRedis } from '../scripts/servers.mjs';
import { startFaultProxy } from './fault-proxy.mjs';
import { createReplica } from './replicas.mjs';
import { startUpstreams } from './upstreams.mjs';

export const ADMIN_TOKEN = 'torture-admin-token';
export const PEPPER = 'torture-pepper-torture-pepper';

/**
 * @param {object} options
 * @param {number} options.replicaCount
 * @param {Readonly<Record<string, string>>} [options.env] - configuration that all gateways share
 * @param {readonly string[]} [options.nodeFlags] - flags of Node for all gateways
 * @param {{ readonly processes: string }} [options.memoryLimit] - memory limit of all gateways
 *   together, see `memory-limit.mjs`
 * @param {number} [options.upstreamAccounts] - 0: one upstream without `UPSTREAMS`
 * @param {number} options.journalEntries - number of responses that the upstream's journal keeps
 */
export async function startSystem({
  replicaCount,
  env = {},
  nodeFlags,
  memoryLimit,
  upstreamAccounts = 0,
  journalEntries,
}) {
  const postgres = await startPostgres();
  const redis = await startRedis();
  const upstreams = await startUpstreams({ accounts: upstreamAccounts, journalEntries });
  const links = {
    postgres: await startFaultProxy(addressOf(postgres.url)),
    redis: await startFaultProxy(addressOf(redis.url)),
    ...Object.fromEntries(upstreams.members.map(({ name, link }) => [name, link])),
  };
  const replicas = [];
  for (let i = 0; i < replicaCount; i += 1) {
    const shared = {
      DATABASE_URL: `postgres://postgres@127.0.0.1:${links.postgres.port}/postgres`,
      REDIS_URL: `redis://127.0.0.1:${links.redis.port}`,
      ...upstreams.env,
      KEY_PEPPER: PEPPER,
      ADMIN_TOKEN,
      REPLICAS: String(replicaCount),
      ...env,
    };
    const ports = { port: await freePort(), adminPort: await freePort() };
    replicas.push(
      createReplica(`replica-${i + 1}`, {
        ...ports,
        env: shared,
        nodeFlags,
        memoryLimit,
      }),
    );
  }
  // Connects without the proxies, so that faults of links do not affect these calls.
  const store = await openPostgresStore({ connectionString: postgres.url, pepper: PEPPER });
  await Promise.all(replicas.map((replica) => replica.start()));

  return {
    postgres,
    redis,
    upstreams,
    links,
    replicas,
    store,
    /**
     * @param {string} name
     * @param {{ credit: bigint, concurrency: number, expiresAt?: Date | null }} key
     */
    async createKey(name, { credit, concurrency, expiresAt = null }) {
      const { record, credential } = await store.createKey({
        name,
        limits: { concurrency, burst: 100_000, requestsPerMinute: 1_000_000 },
        expiresAt,
      });
      if (credit > 0n)
        await store.topUp({
          topUpId: `credit-${record.id}`,
          to: { keyId: record.id },
          amount: credit,
          by: { name: 'torture' },
        });
      return { id: record.id, credential };
    },
    /** Ends all faults and drains every gateway. @returns the number that did not exit with 0. */
    async drain() {
      for (const link of Object.values(links)) link.set('none');
      upstreams.heal();
      await Promise.all(replicas.map((replica) => replica.untilReady()));
      const exits = await Promise.all(replicas.map((replica) => replica.stop()));
      return exits.filter((code) => code !== 0).length;
    },
    async stop() {
      await store.close();
      for (const link of Object.values(links)) link.stop();
      await upstreams.stop();
      postgres.stop();
      redis.stop();
    },
  };
}

/**
 * Stops PostgreSQL or Redis at once, without a clean shutdown, and starts it again after some
 * milliseconds.
 *
 * @param {{ readonly crash: () => Promise<unknown>, readonly start: () => Promise<void> }} server
 * @param {number} ms
 */
export async function crashFor(server, ms) {
  await server.crash();
  await sleep(ms);
  await server.start();
}

function addressOf(url) {
  const { hostname, port } = new URL(url);
  return { host: hostname, port: Number(port) };
}
