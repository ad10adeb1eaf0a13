/** Processes that record requests, and are killed before or while these are added to the sums. */

import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client } from 'pg';
import { openEmbeddedStore } from '../../src/embedded/index.js';
import type { BalanceStore, RequestDimension, RequestRecord } from '../../src/index.js';
import { openPostgresStore } from '../../src/postgres/index.js';
import { requestRecord } from '../../src/testing/samples.js';
import { querySql, usePostgresServer } from '../postgres-server.js';
import type { PostgresServer } from '../postgres-server.js';

const PEPPER = 'pepper of the tests';
const DAY_MS = 86_400_000;
const HOOKS = join(__dirname, '../run-typescript.mjs');
/** Of the requests of a batch of `recorder.ts` that are only counted, with one unit each. */
const COUNTED = 2;
const KEPT = 30;

/** In the form that `recorder.ts` expects. */
type Place = readonly [kind: 'embedded' | 'postgres', place: string];

let postgres: PostgresServer;
const folders: string[] = [];
beforeAll(async () => {
  postgres = await usePostgresServer();
});
afterAll(async () => {
  await postgres.stop();
  for (const folder of folders) rmSync(folder, { recursive: true });
});

const PLACES: readonly (readonly [Place[0], () => Promise<Place>])[] = [
  [
    'embedded',
    () => {
      const folder = mkdtempSync(join(tmpdir(), 'requests-crash-'));
      folders.push(folder);
      return Promise.resolve(['embedded', folder]);
    },
  ],
  ['postgres', async () => ['postgres', await postgres.createDatabase()]],
];

/** Of an embedded ledger, one process is the owner. */
type Role = 'owner' | 'guest';

function openAt([kind, place]: Place, access: Role = 'owner'): Promise<BalanceStore> {
  return kind === 'embedded'
    ? openEmbeddedStore({ dataDir: place, pepper: PEPPER, access })
    : openPostgresStore({ connectionString: place, pepper: PEPPER });
}

let recorders = 0;

function startRecorder([kind, place]: Place, role: Role, quiet: number) {
  recorders += 1;
  const args = [kind, place, role, String(recorders), String(quiet)];
  const recorder = spawn(
    process.execPath,
    ['--import', HOOKS, join(__dirname, '../recorder.ts'), ...args],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const lines = createInterface({ input: recorder.stdout });
  const ended = new Promise((resolve) => lines.once('close', resolve));
  const seen: string[] = [];
  return {
    /** Resolves when this line was printed so often. */
    has: (line: string, times: number) =>
      new Promise<void>((resolve, reject) => {
        const look = () => {
          if (seen.filter((each) => each === line).length >= times) resolve();
        };
        lines.on('line', (next) => {
          seen.push(next);
          look();
        });
        lines.once('close', () => {
          reject(new Error('the recorder has ended by itself'));
        });
      }),
    async kill() {
      recorder.kill('SIGKILL');
      await ended;
    },
  };
}

/** @param line - It is killed when it has printed this line so often. */
async function recordUntilKilled(place: Place, quiet: number, line: string, times: number) {
  const recorder = startRecorder(place, 'owner', quiet);
  await recorder.has(line, times);
  await recorder.kill();
}

/** How many rows of a table there are, whatever the store does. */
async function countRows([kind, place]: Place, table: string): Promise<number> {
  const sql = `SELECT count(*) AS count FROM ${table}`;
  if (kind === 'postgres') return Number((await querySql(place, sql))[0]?.['count']);
  const database = new DatabaseSync(join(place, 'requests.db'), { readOnly: true });
  const count = Number(database.prepare(sql).get()?.['count']);
  database.close();
  return count;
}

/** Lets nobody end a transaction that writes sums. */
async function holdSums([kind, place]: Place) {
  if (kind === 'postgres') {
    const client = new Client({ connectionString: place });
    await client.connect();
    await client.query('BEGIN; LOCK TABLE request_label IN EXCLUSIVE MODE');
    return {
      async isReached() {
        const { rowCount } = await client.query(
          "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()",
        );
        return rowCount !== 0;
      },
      async release() {
        await client.query('ROLLBACK');
        await client.end();
      },
    };
  }
  const database = new DatabaseSync(join(place, 'requests.db'), { timeout: 0 });
  database.exec(
    'CREATE TRIGGER held BEFORE INSERT ON request_label BEGIN SELECT count(*) FROM (WITH ' +
      'RECURSIVE endless(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM endless) ' +
      'SELECT n FROM endless); END',
  );
  const isBusy = () => {
    try {
      database.exec('BEGIN IMMEDIATE; ROLLBACK');
      return false;
    } catch {
      return true;
    }
  };
  return {
    /** No other transaction lasts so long. */
    async isReached() {
      for (let times = 0; times < 40; times += 1) {
        if (!isBusy()) return false;
        await new Promise((resolve) => setTimeout(resolve, 25));
      }
      return true;
    },
    release() {
      database.exec('DROP TRIGGER held');
      database.close();
      return Promise.resolve();
    },
  };
}

async function listAll(store: BalanceStore): Promise<readonly RequestRecord[]> {
  const found: RequestRecord[] = [];
  let cursor: string | undefined;
  do {
    const page = await store.listRequests({ limit: 1_000, cursor });
    found.push(...page.requests);
    cursor = page.next;
  } while (cursor !== undefined);
  return found;
}

const MEMBERS = { tag: 'tag', session: 'sessionId', client: 'client', key: 'keyId' } as const;

/** Compares all sums with all requests that are recorded. */
async function expectSumsOfAll(store: BalanceStore): Promise<void> {
  const requests = await listAll(store);
  const from = Math.floor(Date.now() / DAY_MS) * DAY_MS - 4 * DAY_MS;
  const days = { from: new Date(from), until: new Date(from + 4 * DAY_MS) };
  const counted = (requests.length / KEPT) * COUNTED;
  for (const [by, member] of Object.entries(MEMBERS) as [RequestDimension, 'tag'][]) {
    const expected = new Map<string | undefined, readonly [number, bigint]>();
    const add = (name: string | undefined, count: number, charge: bigint) => {
      const [requestsSoFar, chargeSoFar] = expected.get(name) ?? [0, 0n];
      expected.set(name, [requestsSoFar + count, chargeSoFar + charge]);
    };
    for (const request of requests) add(request[member], 1, request.charge ?? 0n);
    // Of a key they are the first two.
    if (by === 'key')
      for (const key of [0, 1]) add(`key_${String(key)}`, counted / 2, BigInt(counted / 2));
    else add(undefined, counted, BigInt(counted));
    const sums = await store.sumRequests({ ...days, by: [by], maxSums: 50_000 });
    const found = new Map(sums.map((sum) => [sum[member], [sum.requests, sum.charge]]));
    expect(found).toEqual(expected);
  }
  const hours = await store.sumRequests({ ...days, by: [], everyMs: 3_600_000, maxSums: 999 });
  expect(hours.reduce((sum, { requests: of }) => sum + of, 0)).toBe(requests.length + counted);
}

describe.each(PLACES)('sums of requests on %s', (kind, newPlace) => {
  // F478: a process is killed before its last requests are in the sums: what each tag, session and
  // program spent is all there after the next start, once, however often that is killed, too.
  it('have all recorded requests once after kills', async () => {
    const place = await newPlace();
    for (let kill = 1; kill <= 2; kill += 1) {
      await recordUntilKilled(place, 1_000, 'recorded', 40);
      expect(await countRows(place, 'request_sum')).toBe(0);
      expect(await countRows(place, 'request_unsummed')).toBeGreaterThanOrEqual(80 * kill);
    }
    for (let asks = 1; asks <= 4; asks += 1) await recordUntilKilled(place, 3, 'asks', asks);
    const store = await openAt(place);
    await expectSumsOfAll(store);
    await store.close();
    expect(await countRows(place, 'request_unsummed')).toBe(0);
    const again = await openAt(place);
    await expectSumsOfAll(again);
    await again.close();
  }, 120_000);

  // F478
  it('have all recorded requests once if a process dies in the middle of writing them', async () => {
    const place = await newPlace();
    await recordUntilKilled(place, 1_000, 'recorded', 1);
    const held = await holdSums(place);
    const recorder = startRecorder(place, 'owner', 20);
    await recorder.has('asks', 1);
    while (!(await held.isReached()));
    await recorder.kill();
    await held.release();
    const store = await openAt(place);
    await expectSumsOfAll(store);
    await store.close();
  }, 60_000);

  // F479: two processes add the same requests to the sums at once: each request is added once.
  it('have all recorded requests once if several processes make them', async () => {
    const place = await newPlace();
    const owner = await openAt(place);
    const recorders = [startRecorder(place, 'guest', 5), startRecorder(place, 'guest', 5)];
    await Promise.all(recorders.map((recorder) => recorder.has('asks', 15)));
    await Promise.all(recorders.map((recorder) => recorder.kill()));
    const others = await Promise.all([openAt(place, 'guest'), openAt(place, 'guest')]);
    await Promise.all([owner, ...others].map(expectSumsOfAll));
    await Promise.all(others.map((store) => store.close()));
    await owner.close();
  }, 120_000);

  // F480: an account is erased by another process while this one goes on recording its requests:
  // their sessions stay in the files.
  it('have nothing of an account that another process erased', async () => {
    const place = await newPlace();
    const store = await openAt(place);
    const other = await openAt(place, 'guest');
    const created = await other.create({ account: { name: 'n' }, by: { name: 'tests' } });
    if (created.outcome !== 'created') throw new Error(created.outcome);
    const { id: accountId } = created.account;
    const request = (id: string) => requestRecord({ id, accountId, endedAt: Date.now() - 1 });
    await store.recordRequests({ kept: [request('req_1')], counted: [] });
    const closing = { closingId: accountId, accountId, debt: 'refuse', reason: 'r' } as const;
    await other.closeAccount({ ...closing, by: { name: 'tests' } });
    await other.eraseAccount(accountId, { name: 'tests' });
    await store.recordRequests({ kept: [request('req_2')], counted: [request('req_3')] });
    expect(await countRows(place, 'request_block')).toBe(0);
    const day = Math.floor(Date.now() / DAY_MS) * DAY_MS;
    const days = { from: new Date(day - DAY_MS), until: new Date(day + DAY_MS) };
    expect(await store.sumRequests({ ...days, by: ['session'], maxSums: 9 })).toEqual([]);
    await other.close();
    await store.close();
    for (const table of ['sum', 'label', 'series', 'unsummed']) {
      expect([kind, table, await countRows(place, `request_${table}`)]).toEqual([kind, table, 0]);
    }
  });
});
