/**
 * Starts and stops everything that a run needs: the upstream, the clients, databases, contestants.
 */

import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startPostgres, startRedis } from '../scripts/servers.mjs';
import { startHelper } from './ipc.mjs';
import { childNamed } from './proc.mjs';

const ORDER = ['direct', 'bare', 'nginx', 'express', 'gateway-embedded', 'gateway-servers'];

/** @returns the adapters in `contestants/` by name, the known ones first. */
export async function loadContestants() {
  const names = readdirSync(new URL('contestants/', import.meta.url))
    .filter((file) => file.endsWith('.mjs'))
    .map((file) => file.slice(0, -'.mjs'.length))
    .sort((a, b) => place(a) - place(b));
  const entries = names.map(async (name) => {
    const { default: adapter } = await import(`./contestants/${name}.mjs`);
    return /** @type {const} */ ([name, { name, ...adapter }]);
  });
  return new Map(await Promise.all(entries));
}

function place(name) {
  return ORDER.includes(name) ? ORDER.indexOf(name) : ORDER.length;
}

export async function openSession() {
  const scratch = mkdtempSync(join(tmpdir(), 'gateway-bench-'));
  const upstream = await startHelper('upstream.mjs');
  const load = await startHelper('load.mjs');
  const running = new Set();
  let servers;
  const startServersOnce = async () => (servers ??= await startServers());

  return {
    scratch,
    upstream,
    load,
    /** PostgreSQL and Redis, started at the first call. */
    startServers: startServersOnce,
    /** Others, which the caller stops. */
    startOwnServers: startServers,
    /** Another process of clients, which the caller stops. */
    startLoad: () => startHelper('load.mjs'),
    /** @param nodeFlags - for the contestant's own process, such as `--cpu-prof` */
    async start(contestant, nodeFlags = []) {
      const started = await contestant.start({
        upstreamUrl: `http://127.0.0.1:${upstream.ready.port}`,
        scratch,
        nodeFlags,
        servers: contestant.needsServers ? await startServersOnce() : undefined,
      });
      const process = {
        ...contestant,
        ...started,
        adapter: contestant,
        /** The sum of charges that its keys must have by now, in units of 10^-14 USD. */
        expectedCharge: 0n,
        async stop() {
          running.delete(process);
          await started.stop();
        },
      };
      running.add(process);
      return process;
    },
    async close() {
      await Promise.all([...running].map((process) => process.stop()));
      servers?.stop();
      upstream.stop();
      load.stop();
      rmSync(scratch, { recursive: true, force: true });
    },
  };
}

async function startServers() {
  const postgres = await startPostgres();
  const redis = await startRedis();
  return {
    databaseUrl: postgres.url,
    redisUrl: redis.url,
    pids: { postgres: childNamed('postgres'), redis: childNamed('redis-server') },
    stop() {
      postgres.stop();
      redis.stop();
    },
  };
}
