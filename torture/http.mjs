/**
 * Whole-system torture: replicas, PostgreSQL, Redis and clients, with processes killed and links broken
 * while streamed requests run. Afterwards clients, upstream and ledger must agree.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { openPostgresStore } from '../packages/balance-store/dist/postgres/index.js';
import { startUpstreamSimulator } from '../packages/upstream-simulator/dist/index.js';
import { freePort, startPostgres, startRedis } from '../scripts/servers.mjs';
import { MODELS, checkInvariants, readLedger } from './check.mjs';
import { createClients } from './clients.mjs';
import { startFaultProxy } from './fault-proxy.mjs';
import { createReplica } from './replicas.mjs';

const PEPPER = 'torture-pepper-torture-pepper';
const UPSTREAM_KEY = 'torture-upstream-key';
const KEYS = 20;
const CREDIT = 1_000n * 10n ** 14n;
/** What one request of the clients can cost at most, many times over. */
const DEAREST = 10n ** 14n;

/**
 * @param options.requests - complete responses that clients must see
 * @param options.kills - kill -9 of a replica, spread over the run
 * @param options.databaseCrashes - immediate stops of PostgreSQL, followed by a start
 * @param options.redisFaults - kills and flushes of Redis
 */
export async function tortureHttp(options, random, say) {
  const { requests, kills, databaseCrashes, redisFaults, replicaCount, parallel } = options;
  const postgres = await startPostgres();
  const redis = await startRedis();
  const simulator = await startUpstreamSimulator({
    apiKey: UPSTREAM_KEY,
    keepBodies: false,
    eventDelayMs: 1,
    maxJournalEntries: requests * 20,
  });
  const links = {
    postgres: await startFaultProxy(addressOf(postgres.url)),
    redis: await startFaultProxy(addressOf(redis.url)),
    upstream: await startFaultProxy(addressOf(simulator.url)),
  };
  const env = {
    DATABASE_URL: `postgres://postgres@127.0.0.1:${links.postgres.port}/postgres`,
    REDIS_URL: `redis://127.0.0.1:${links.redis.port}`,
    UPSTREAM_URL: `http://127.0.0.1:${links.upstream.port}`,
    UPSTREAM_API_KEY: UPSTREAM_KEY,
    KEY_PEPPER: PEPPER,
    ADMIN_TOKEN: 'torture-admin-token',
    REPLICAS: String(replicaCount),
  };
  const replicas = [];
  for (let i = 0; i < replicaCount; i += 1) {
    const ports = { port: await freePort(), adminPort: await freePort() };
    replicas.push(createReplica(`replica-${i + 1}`, { ...ports, env }));
  }
  const store = await openPostgresStore({ connectionString: postgres.url, pepper: PEPPER });
  const keys = [];
  for (let i = 0; i < KEYS; i += 1) {
    const { record, credential } = await store.createKey({
      name: `torture-${i}`,
      limits: { concurrency: 1000, burst: 100_000, requestsPerMinute: 1_000_000 },
      expiresAt: null,
    });
    await store.topUp({
      topUpId: `credit-${i}`,
      keyId: record.id,
      amount: CREDIT,
      actor: 'torture',
    });
    keys.push({ id: record.id, credential });
  }
  await Promise.all(replicas.map((replica) => replica.start()));

  const done = {
    kills: 0,
    terms: 0,
    pauses: 0,
    databaseCrashes: 0,
    redisFaults: 0,
    linkFaults: 0,
    badExits: 0,
  };
  let lastSaid = Date.now();
  const clients = createClients({
    replicas,
    keys,
    models: MODELS,
    parallel,
    random,
    onProgress(tally) {
      if (Date.now() - lastSaid < 10_000) return;
      lastSaid = Date.now();
      say(
        `${tally.complete} complete, ${tally.cut} cut, ${tally.refused} refused; ${done.kills} kills`,
      );
    },
  });
  const running = clients.run();
  // A fault is due when the clients have come as far as the faults so far are of all faults.
  const plan = faultPlan();
  for (const [index, fault] of plan.entries()) {
    await clientsReach(Math.floor((index / plan.length) * requests));
    await fault();
  }
  await clientsReach(requests);
  clients.stop();
  await running;

  say('healing: all faults off, every replica drains');
  for (const link of Object.values(links)) link.set('none');
  await Promise.all(replicas.map((replica) => replica.untilReady()));
  const exits = await Promise.all(replicas.map((replica) => replica.stop()));
  done.badExits += exits.filter((code) => code !== 0).length;
  const audit = await store.audit();
  await store.close();
  const ledger = await readLedger(postgres.url);
  const served = simulator.journal.usages().map(servedCounts);
  for (const link of Object.values(links)) link.stop();
  await simulator.close();
  postgres.stop();
  redis.stop();

  const lines = checkInvariants({
    ledger,
    seen: clients.seen,
    refused: clients.refused,
    served,
    floorPerKey: DEAREST,
  });
  lines.push({
    name: 'audit',
    what: `the product's own audit finds the ledger sound (gap ${audit.gap})`,
    violations: audit.isSound ? 0 : 1,
    examples: audit.differences.slice(0, 3),
  });
  lines.push({
    name: 'I10',
    what: 'every replica drained and exited with 0',
    violations: done.badExits,
    examples: [],
  });
  return { lines, tally: clients.tally, done };

  async function clientsReach(count) {
    while (clients.tally.complete < count) await sleep(10);
  }

  function faultPlan() {
    const faults = [
      ...times(kills, () => killReplica('SIGKILL')),
      ...times(Math.ceil(kills / 10), () => killReplica('SIGTERM')),
      ...times(Math.ceil(kills / 10), pauseReplica),
      ...times(databaseCrashes, crashDatabase),
      ...times(redisFaults, breakRedis),
      ...times(Math.ceil(kills / 4), breakLink),
    ];
    return shuffled(faults);
  }

  async function killReplica(signal) {
    const replica = random.pick(replicas);
    if (!replica.isRunning()) return;
    if (signal === 'SIGTERM') {
      // Before it is ready a process has no streams to finish: it just ends.
      await replica.untilReady();
      done.terms += 1;
      if ((await replica.restart(signal)) !== 0) done.badExits += 1;
    } else {
      done.kills += 1;
      await replica.restart(signal);
    }
  }

  async function pauseReplica() {
    const replica = random.pick(replicas);
    done.pauses += 1;
    replica.pause();
    await sleep(500 + random.below(1500));
    replica.resume();
  }

  async function crashDatabase() {
    done.databaseCrashes += 1;
    await postgres.crash();
    await sleep(random.below(1000));
    await postgres.start();
  }

  async function breakRedis() {
    done.redisFaults += 1;
    await redis.crash();
    await sleep(random.below(1000));
    await redis.start();
  }

  async function breakLink() {
    done.linkFaults += 1;
    const link = random.pick(Object.values(links));
    const fault = random.pick(['latency', 'slices', 'stall', 'reset']);
    link.set(fault);
    await sleep(200 + random.below(800));
    link.set('none');
  }

  function shuffled(items) {
    const list = [...items];
    for (let i = list.length - 1; i > 0; i -= 1) {
      const j = random.below(i + 1);
      [list[i], list[j]] = [list[j], list[i]];
    }
    return list;
  }
}

function times(count, action) {
  return Array.from({ length: count }, () => action);
}

function addressOf(url) {
  const { hostname, port } = new URL(url);
  return { host: hostname, port: Number(port) };
}

function servedCounts({ messageId, usage }) {
  return { messageId, input: usage.input_tokens, output: usage.output_tokens };
}
