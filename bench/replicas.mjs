/**
 * `--replicas`: charges per second by number of processes and of keys, on this machine. Runs
 * balance stores without a gateway in front, all on one PostgreSQL. The table of charging alone in
 * docs/scaling.md comes from this file.
 */

import pg from 'pg';
import { step } from '../scripts/setup.mjs';
import { startHelper } from './ipc.mjs';
import { cpuSecondsOf } from './proc.mjs';
import { printReplicas } from './report/terminal.mjs';

const PROCESSES = [1, 2, 4];
const KEYS = [1, 1_000, 1_000_000];
/** Charges in flight of all processes together. */
const WAITING = 512;
const WARM_UP_MS = 1_000;
const MEASURED_MS = 4_000;

/** @returns the exit code */
export async function measureReplicas(session) {
  const { databaseUrl, pids } = await session.startServers();
  const settlers = [];
  while (settlers.length < Math.max(...PROCESSES)) {
    settlers.push(await startHelper('settler.mjs', ['postgres', databaseUrl]));
  }
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  let made = 0;
  for (const keys of KEYS) {
    step(`${keys.toLocaleString('en-US')} ${keys === 1 ? 'key' : 'keys'}`);
    await makeKeys(client, { from: made, until: keys });
    made = keys;
    const rows = [];
    for (const processes of PROCESSES) {
      const chosen = settlers.slice(0, processes);
      const settle = (durationMs) => settleAll(chosen, { keys, durationMs });
      await settle(WARM_UP_MS);
      const before = await readClocks(client, chosen, pids.postgres);
      const { settled, seconds } = await settle(MEASURED_MS);
      const after = await readClocks(client, chosen, pids.postgres);
      const each = (name) => (after[name] - before[name]) / settled;
      rows.push({
        title: `${processes} ${processes === 1 ? 'process' : 'processes'}`,
        perSecond: settled / seconds,
        perBatch: settled / (after.commits - before.commits),
        cpuUs: each('own') * 1e6,
        serverCpuUs: each('server') * 1e6,
        walBytes: each('walBytes'),
      });
    }
    printReplicas(rows);
  }
  await client.end();
  await Promise.all(settlers.map((helper) => helper.ask('close')));
  for (const helper of settlers) helper.stop();
  return 0;
}

/**
 * Inserts the keys with SQL, because creating a million with the store would take longer than the
 * measurement.
 */
async function makeKeys(client, { from, until }) {
  await client.query(
    `insert into account (id, name, balance, credited, created_at)
     select 'acct_bench_' || n, 'bench', 1000000, 1000000, now()
       from generate_series($1::int, $2::int) as n`,
    [from, until - 1],
  );
  await client.query(
    `insert into api_key (id, account_id, name, hint, credential_hmac, pepper_id, concurrency, burst,
                          requests_per_minute, created_at)
     select 'key_bench_' || n, 'acct_bench_' || n, 'bench', '', sha256(n::text::bytea), '', 1, 1, 1,
            now()
       from generate_series($1::int, $2::int) as n`,
    [from, until - 1],
  );
  await client.query('vacuum analyze account, api_key');
  await client.query('checkpoint');
}

async function settleAll(settlers, { keys, durationMs }) {
  const lanes = WAITING / settlers.length;
  const results = await Promise.all(
    settlers.map((helper) => helper.ask('settle', { lanes, durationMs, keys })),
  );
  return {
    settled: results.reduce((sum, { settled }) => sum + settled, 0),
    seconds: Math.max(...results.map(({ seconds }) => seconds)),
  };
}

async function readClocks(client, settlers, serverPid) {
  const { rows } = await client.query(
    `select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8 as "walBytes",
            (select count(distinct xmin::text)::int from ledger) as commits`,
  );
  return {
    ...rows[0],
    own: settlers.reduce((sum, { pid }) => sum + cpuSecondsOf(pid), 0),
    server: cpuSecondsOf(serverPid),
  };
}
