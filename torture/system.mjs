/** A whole system for the torture: databases, upstream, links that can break, gateways, keys. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { request } from 'undici';
import { openEmbeddedStore } from '../packages/balance-store/dist/embedded/index.js';
import { openPostgresStore } from '../packages/balance-store/dist/postgres/index.js';
import { freePort } from '../scripts/free-port.cjs';
import { startPgbouncer, startPostgres, startRedis } from '../scripts/servers.mjs';
import { startFaultProxy } from './fault-proxy.mjs';
import { query } from './plain-sql.mjs';
import { createReplica } from './replicas.mjs';
import { startUpstreams } from './upstreams.mjs';

export const ADMIN_TOKEN = 'torture-admin-token';
export const PEPPER = 'torture-pepper-torture-pepper';

/**
 * @param {object} options
 * @param {number} options.replicaCount - the embedded ledger has one
 * @param {'embedded' | 'PostgreSQL'} [options.ledger]
 * @param {boolean} [options.redis] - whether the gateways share their limits through Redis
 * @param {1 | 2} [options.workers] - processes of each gateway
 * @param {Readonly<Record<string, string>>} [options.env] - configuration that all gateways share
 * @param {readonly string[]} [options.nodeFlags] - flags of Node for all gateways
 * @param {{ readonly processes: string }} [options.memoryLimit] - memory limit of all gateways
 *   together, see `memory-limit.mjs`
 * @param {number} [options.upstreamAccounts] - 0: one upstream without `UPSTREAMS`
 * @param {number} [options.journalEntries] - number of responses that the upstream's journal keeps
 * @param {Readonly<Record<string, string>>} [options.upstreamEnv] - the variables of an upstream
 *   that the part has started itself, in place of simulators
 * @param {string} [options.dataDir] - an empty folder for the embedded ledger
 * @param {string} [options.postgresParent] - the folder in which PostgreSQL's is made
 * @param {boolean} [options.hasPooler] - whether gateways reach PostgreSQL through PgBouncer
 * @param {boolean} [options.hasLinks] - whether gateways reach the servers through `links`, which
 *   break on demand. They run in this process, so its work delays what passes through them
 */
export async function startSystem({
  replicaCount,
  ledger = 'PostgreSQL',
  redis: hasRedis = true,
  workers = 1,
  env = {},
  nodeFlags,
  memoryLimit,
  upstreamAccounts = 0,
  journalEntries = 1,
  upstreamEnv,
  dataDir = mkdtempSync(join(tmpdir(), 'gateway-torture-data-')),
  postgresParent,
  hasPooler = false,
  hasLinks = false,
}) {
  const isEmbedded = ledger === 'embedded';
  const postgres = isEmbedded ? undefined : await startPostgres(undefined, postgresParent);
  const pooler = postgres && hasPooler ? await startPgbouncer(postgres.url) : undefined;
  const redis = hasRedis ? await startRedis() : undefined;
  const upstreams =
    upstreamEnv === undefined
      ? await startUpstreams({ accounts: upstreamAccounts, journalEntries })
      : undefined;
  const databaseUrl = (pooler ?? postgres)?.url;
  const links = {
    ...(hasLinks && databaseUrl && { postgres: await startFaultProxy(addressOf(databaseUrl)) }),
    ...(hasLinks && redis && { redis: await startFaultProxy(addressOf(redis.url)) }),
    ...Object.fromEntries(upstreams?.members.map(({ name, link }) => [name, link]) ?? []),
  };
  const replicas = [];
  for (let i = 0; i < replicaCount; i += 1) {
    const shared = {
      ...(databaseUrl === undefined
        ? { DATA_DIR: dataDir }
        : { DATABASE_URL: throughLink(databaseUrl, links.postgres) }),
      ...(redis && { REDIS_URL: throughLink(redis.url, links.redis) }),
      ...(upstreamEnv ?? upstreams?.env),
      KEY_PEPPER: PEPPER,
      ADMIN_TOKEN,
      REPLICAS: String(replicaCount),
      WORKERS: String(workers),
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
  const store =
    postgres && (await openPostgresStore({ connectionString: postgres.url, pepper: PEPPER }));
  await Promise.all(replicas.map((replica) => replica.start()));

  return {
    replicas,
    links,
    get postgres() {
      return present(postgres);
    },
    get pooler() {
      return present(pooler);
    },
    get redis() {
      return present(redis);
    },
    get upstreams() {
      return present(upstreams);
    },
    /** Only with PostgreSQL: the gateway alone has the embedded ledger open. */
    get store() {
      return present(store);
    },
    /**
     * Calls the admin API of the first gateway.
     *
     * @param {'GET' | 'POST' | 'PATCH'} method
     * @param {string} path - below `/admin/`
     * @param {object} [body]
     * @returns {Promise<any>} the answer
     * @throws {Error} its status is not 200
     */
    async callAdmin(method, path, body) {
      const { statusCode, body: answer } = await request(`${replicas[0].adminUrl}/admin/${path}`, {
        method,
        headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' },
        body: body === undefined ? null : JSON.stringify(body),
      });
      const text = await answer.text();
      if (statusCode !== 200) throw new Error(`${method} ${path}: ${statusCode} ${text}`);
      return JSON.parse(text);
    },
    /**
     * Reads either ledger with plain SQL, without the code under test, also while gateways run.
     * Amounts are exact decimals of USD.
     *
     * @returns {Promise<any[]>} the rows
     */
    async read(sql) {
      if (postgres !== undefined) return query(postgres.url, sql);
      const database = new DatabaseSync(join(dataDir, 'ledger.db'), { readOnly: true });
      try {
        return database.prepare(sql).all();
      } finally {
        database.close();
      }
    },
    /** Call this only after `drain`, when no gateway has the ledger open. */
    async audit() {
      if (store !== undefined) return store.audit();
      const embedded = await openEmbeddedStore({ dataDir, pepper: PEPPER });
      try {
        return await embedded.audit();
      } finally {
        await embedded.close();
      }
    },
    /**
     * @param {string} name
     * @param {{ credit: bigint, concurrency: number, expiresAt?: Date | null }} key
     */
    async createKey(name, { credit, concurrency, expiresAt = null }) {
      const { record, credential } = await present(store).createKey({
        name,
        limits: { concurrency, burst: 100_000, requestsPerMinute: 1_000_000 },
        expiresAt,
      });
      if (credit > 0n)
        await present(store).topUp({
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
      upstreams?.heal();
      await Promise.all(replicas.map((replica) => replica.untilReady()));
      const exits = await Promise.all(replicas.map((replica) => replica.stop()));
      return exits.filter((code) => code !== 0).length;
    },
    async stop() {
      await store?.close();
      for (const link of Object.values(links)) link.stop();
      await upstreams?.stop();
      pooler?.stop();
      postgres?.stop();
      redis?.stop();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

/**
 * @template Part
 * @param {Part | undefined} part
 * @returns {Part}
 */
function present(part) {
  if (part === undefined) throw new Error('this set-up of the torture has no such part');
  return part;
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

function throughLink(url, link) {
  if (link === undefined) return url;
  const changed = new URL(url);
  changed.host = `127.0.0.1:${link.port}`;
  return changed.href;
}

function addressOf(url) {
  const { hostname, port } = new URL(url);
  return { host: hostname, port: Number(port) };
}
