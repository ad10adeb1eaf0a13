/**
 * `--members 10000`: an account with so many members, on both ledgers: how long its import, its
 * pages, searches and breakdowns take, and how much memory the gateway and the import need.
 *
 * Imports are those of the command line over the admin API. Each member is charged once, for a
 * request that a client sent with its name. Its sums are then written for each of 30 days (or
 * DAYS), directly into the database, so that breakdowns read as many as after a month.
 */

import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { DatabaseSync } from 'node:sqlite';
import { request } from 'undici';
import { node, root, step } from '../scripts/setup.mjs';
import { query } from '../torture/plain-sql.mjs';
import { ADMIN_TOKEN, startSystem } from '../torture/system.mjs';
import { median } from './statistics.mjs';

const MAIN = join(root, 'apps/gateway/dist/main.js');
const READS = 5;
const PAGE = 1_000;
const GROUPS = 100;
const DAYS = Number(process.env.DAYS ?? 30);
const DAY_MS = 86_400_000;
const CLIENTS = 32;
/** Of the command, when it ends. */
const PRINTS_MEMORY =
  'data:text/javascript,process.on("exit",()=>' +
  'process.stderr.write(`\\nMiB: ${process.resourceUsage().maxRSS/1024}\\n`))';

/** @returns the exit code */
export async function measureMembers(session, count) {
  const file = join(session.scratch, 'people.csv');
  for (const ledger of /** @type {const} */ (['embedded', 'PostgreSQL'])) {
    step(`${ledger}: ${count.toLocaleString('en-US')} members`);
    const dataDir = mkdtempSync(join(session.scratch, 'members-'));
    const system = await startSystem({ ledger, replicaCount: 1, redis: false, dataDir });
    const write = (sql) => {
      if (ledger === 'PostgreSQL') return query(system.postgres.url, sql);
      const database = new DatabaseSync(join(dataDir, 'ledger.db'), { timeout: 5_000 });
      database.exec(sql);
      database.close();
    };
    try {
      await measure(system, { file, count, write });
    } finally {
      await system.drain();
      await system.stop();
    }
  }
  return 0;
}

async function measure({ replicas, callAdmin, read }, { file, count, write }) {
  const [gateway] = replicas;
  const { id } = await callAdmin('POST', 'accounts', { name: 'company', balance_usd: '1000' });
  const links = `${file}.${gateway.pid}.links`;
  const importing = async (title, ...options) => {
    const args = ['members', 'import', file, '--account', id, ...options];
    const { seconds, mib, last } = await command(gateway, args);
    say(title, `${seconds.toFixed(1)} s, ${mib} MiB: ${last}`);
  };
  writeFileSync(file, peopleOf(count, 'no'));
  await importing('import, dry run', '--dry-run');
  await importing('import');
  await importing('import again');
  await charge(gateway, { callAdmin, id, count });
  for (const table of ['spender_hour', 'usage_hour']) await write(await copiesOf(table, read));
  say('memory of the gateway', memoryOf(gateway));
  const { data: groups } = await callAdmin('GET', `groups?account_id=${id}&limit=${PAGE}`);
  await callAdmin('POST', 'budgets', {
    account_id: id,
    name: 'each',
    scope: 'member',
    amount_usd: '20',
    period: 'month',
  });
  const of = `account_id=${id}`;
  const middle = Math.floor(count / 2);
  const day = (days) =>
    `${new Date(Date.now() + days * DAY_MS).toISOString().slice(0, 10)}T00:00:00Z`;
  const month = `${of}&from=${day(1 - DAYS)}&until=${day(1)}`;
  const reads = {
    'a page of 1,000 members': `members?${of}&limit=${PAGE}`,
    'the same with what they used': `members?${of}&limit=${PAGE}&with=budgets`,
    'search by a part of the name': `members?${of}&name=rson%20${middle}`,
    'search by a name that nobody has': `members?${of}&name=nobody`,
    'search by external id': `members?${of}&external_id=p-${middle}`,
    'search by address': `members?${of}&email=p-${middle}@example.com`,
    'the members of a group': `members?${of}&group_id=${groups[0].id}`,
    'breakdown by member': `breakdown?${month}&by=member`,
    'breakdown by member, the first 100': `breakdown?${month}&by=member&top=100`,
    'breakdown by group': `breakdown?${month}&by=group`,
    'breakdown by metadata': `breakdown?${month}&by=member.metadata.cost_centre`,
  };
  for (const [title, path] of Object.entries(reads)) {
    const times = [];
    for (let read = 0; read < READS; read += 1) {
      times.push(await timed(() => callAdmin('GET', path)));
    }
    say(title, `${(median(times) ?? 0).toFixed(0)} ms, at most ${Math.max(...times).toFixed(0)}`);
  }
  const times = await pagesOf(callAdmin, of);
  say(`each of ${times.length} pages`, `at most ${Math.max(...times).toFixed(0)} ms`);
  say('memory of the gateway', memoryOf(gateway));
  writeFileSync(file, peopleOf(count, 'yes'));
  await importing('a key and a link for each', '--links', links);
  say('memory of the gateway', memoryOf(gateway));
}

/** One request of each member. */
async function charge(gateway, { callAdmin, id, count }) {
  const { api_key: key } = await callAdmin('POST', 'keys', {
    account_id: id,
    name: 'proxy',
    names_members: { unknown: 'refuse' },
    concurrency: CLIENTS,
    burst: count,
    requests_per_minute: 1_000_000,
  });
  const body = JSON.stringify({
    model: 'claude-haiku-4-5',
    max_tokens: 20,
    messages: [{ role: 'user', content: 'Hello' }],
  });
  let next = 0;
  async function client() {
    for (let person = next++; person < count; person = next++) {
      const answer = await request(`${gateway.url}/v1/messages`, {
        method: 'POST',
        headers: {
          'x-api-key': key,
          'anthropic-version': '2023-06-01',
          'content-type': 'application/json',
          'x-gateway-member': `p-${person}`,
        },
        body,
      });
      const text = await answer.body.text();
      if (answer.statusCode !== 200) throw new Error(text);
    }
  }
  await Promise.all(Array.from({ length: CLIENTS }, client));
}

/** @returns SQL that repeats a table's sums on each of the days before */
async function copiesOf(table, read) {
  const [row] = await read(`SELECT * FROM ${table} LIMIT 1`);
  const columns = Object.keys(row).map((name) => `"${name}"`);
  const copied = columns.map((name) => (name === '"hour"' ? 'hour - 24 * n' : name));
  return (
    `WITH RECURSIVE days (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM days WHERE n < ${DAYS - 1}) ` +
    `INSERT INTO ${table} (${columns.join(', ')}) SELECT ${copied.join(', ')} FROM ${table}, days`
  );
}

/** @returns the milliseconds that each page took */
async function pagesOf(callAdmin, of) {
  const times = [];
  let after = '';
  for (let hasMore = true; hasMore;) {
    /** @type {any} */
    let page;
    times.push(
      await timed(async () => {
        page = await callAdmin('GET', `members?${of}&limit=${PAGE}${after}`);
      }),
    );
    hasMore = page.has_more;
    after = `&after=${page.data.at(-1)?.id}`;
  }
  return times;
}

function peopleOf(count, key) {
  const lines = Array.from({ length: count }, (_, person) => {
    const group = `Department ${person % GROUPS}`;
    return `Person ${person},p-${person},p-${person}@example.com,${group},${person % 7},${key}`;
  });
  return ['name,external_id,email,group,meta:cost_centre,key', ...lines, ''].join('\n');
}

/** Runs the command line against a gateway. */
function command(gateway, args) {
  const startedAt = performance.now();
  const child = spawn(node, ['--import', PRINTS_MEMORY, MAIN, ...args], {
    env: { PATH: process.env.PATH, ADMIN_URL: gateway.adminUrl, ADMIN_TOKEN },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [out, err] = ['', ''];
  child.stdout.on('data', (text) => (out = (out + text).slice(-1_000)));
  child.stderr.on('data', (text) => (err = (err + text).slice(-1_000)));
  return new Promise((resolve) => {
    child.once('close', () => {
      const seconds = (performance.now() - startedAt) / 1_000;
      const mib = Math.round(Number(/MiB: ([\d.]+)/.exec(err)?.[1]));
      const last = out.trimEnd().split('\n').at(-1) ?? '';
      resolve({ seconds, mib, last: last === '' ? err : last });
    });
  });
}

async function timed(work) {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

function memoryOf({ pid }) {
  const [, kib] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return `${Math.round(Number(kib) / 1024)} MiB`;
}

function say(title, text) {
  process.stdout.write(`  ${title.padEnd(36)} ${text}\n`);
}
