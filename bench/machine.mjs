/** Describes the machine, on which all figures depend. */

import { execFileSync } from 'node:child_process';
import { availableParallelism, cpus, release, totalmem } from 'node:os';
import { createRequire } from 'node:module';
import pg from 'pg';
import { findRedis } from '../scripts/servers.mjs';

export function describeMachine() {
  return {
    cores: availableParallelism(),
    processor: cpus()[0]?.model ?? 'unknown',
    memoryGib: Math.round(totalmem() / 2 ** 30),
    kernel: release(),
    node: process.version,
    undici: versionOf('undici'),
    express: versionOf('express'),
  };
}

export async function versionsOf({ databaseUrl }) {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  const { rows } = await client.query('show server_version');
  await client.end();
  const redis = execFileSync(findRedis(), ['--version'], { encoding: 'utf8' });
  return {
    PostgreSQL: rows[0].server_version.split(' ')[0],
    Redis: /v=(\S+)/.exec(redis)?.[1] ?? 'unknown',
  };
}

function versionOf(name) {
  const gateway = createRequire(new URL('../apps/gateway/package.json', import.meta.url));
  return gateway(`${name}/package.json`).version;
}
