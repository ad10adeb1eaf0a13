/**
 * `--units`: the cost of one request for each part of the system, by the number of simultaneous
 * clients. The more clients, the more requests share a round trip and a commit. The figures in
 * docs/scaling.md come from this file.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import pg from 'pg';
import { step } from '../scripts/setup.mjs';
import { measure } from './measure.mjs';
import { printUnitCosts } from './report/terminal.mjs';
import { works } from './works.mjs';

const CONNECTIONS = [1, 8, 32, 128];
const WARM_UP_MS = 2_000;
const MEASURED_MS = 4_000;
const WORKS = ['native-json-1k', 'native-stream-300'];

/** @returns the exit code. */
export async function measureUnitCosts(session, contestants) {
  const { databaseUrl, redisUrl } = await session.startServers();
  const contestant = await session.start(contestants.get('gateway-servers'));
  const servers = await openCounters(databaseUrl, redisUrl);
  let failures = 0;
  for (const work of works.filter(({ name }) => WORKS.includes(name))) {
    step(work.title);
    const rows = [];
    for (const connections of CONNECTIONS) {
      const run = (durationMs) =>
        measure({
          session,
          contestant,
          work,
          pace: 'full',
          act: (load) => load.ask('busy', { connections, durationMs }),
        });
      await run(WARM_UP_MS);
      const before = await servers.read();
      const figures = await run(MEASURED_MS);
      const after = await servers.read();
      failures += figures.failures.length;
      const each = (name) => (after[name] - before[name]) / figures.answered;
      rows.push({
        title: `${connections} at once`,
        figures,
        walBytes: each('walBytes'),
        transactions: each('transactions'),
        ledgerBytes: each('ledgerBytes'),
        redisCalls: each('redisCalls'),
        redisCommands: each('redisCommands'),
      });
    }
    printUnitCosts(rows);
  }
  await servers.close();
  return failures === 0 ? 0 : 1;
}

async function openCounters(databaseUrl, redisUrl) {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  const redis = new Redis(redisUrl);
  return {
    async read() {
      // Other sessions publish their statistics at most once a second.
      await sleep(1_100);
      const { rows } = await client.query(
        `select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8 as "walBytes",
                pg_total_relation_size('ledger')::float8 as "ledgerBytes",
                (select xact_commit::float8 from pg_stat_database where datname = current_database())
                  as transactions`,
      );
      const stats = await redis.info('commandstats');
      const calls = (name) =>
        Number(new RegExp(`cmdstat_${name}:calls=(\\d+)`).exec(stats)?.[1] ?? 0);
      const all = [...stats.matchAll(/cmdstat_\w+:calls=(\d+)/g)];
      return {
        ...rows[0],
        redisCalls: calls('evalsha'),
        redisCommands: all.reduce((sum, [, count]) => sum + Number(count), 0),
      };
    },
    async close() {
      await client.end();
      redis.disconnect();
    },
  };
}
