/** Processes that book the allowances of a month at once, and are killed while they do. */

import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { openEmbeddedStore } from '../../src/embedded/index.js';
import type { BalanceStore } from '../../src/index.js';
import { openPostgresStore } from '../../src/postgres/index.js';
import { waitPastMidnight } from '../../src/testing/midnight.js';
import { usePostgresServer } from '../postgres-server.js';
import type { PostgresServer } from '../postgres-server.js';

const PEPPER = 'pepper of the tests';
const ALLOWANCE = 5n;
const HOOKS = join(__dirname, '../run-typescript.mjs');

/** In the form that `renewer.ts` expects. */
type Place = readonly [kind: 'embedded' | 'postgres', place: string];

let postgres: PostgresServer;
const folder = mkdtempSync(join(tmpdir(), 'allowance-crash-'));
beforeAll(async () => {
  postgres = await usePostgresServer();
});
afterAll(async () => {
  await postgres.stop();
  rmSync(folder, { recursive: true });
});

function openAt([kind, place]: Place): Promise<BalanceStore> {
  return kind === 'embedded'
    ? openEmbeddedStore({ dataDir: place, pepper: PEPPER })
    : openPostgresStore({ connectionString: place, pepper: PEPPER });
}

async function newAccounts(place: Place, count: number): Promise<readonly string[]> {
  // With a new month, each account would have another allowance.
  await waitPastMidnight(120_000);
  const store = await openAt(place);
  const ids: string[] = [];
  for (let n = 0; n < count; n += 1) {
    const created = await store.create({
      account: { name: `account ${String(n)}`, allowance: ALLOWANCE },
      by: { name: 'tests' },
    });
    if (created.outcome !== 'created') throw new Error(created.outcome);
    ids.push(created.account.id);
  }
  await store.close();
  return ids;
}

/** @param killAt - The line at which the process is killed. @returns the lines it printed */
async function renew(
  place: Place,
  accountIds: readonly string[],
  killAt?: string,
): Promise<readonly string[]> {
  const args = ['--import', HOOKS, join(__dirname, '../renewer.ts'), ...place, ...accountIds];
  const renewer = spawn(process.execPath, args, {
    stdio: ['ignore', 'pipe', 'inherit'],
    // Otherwise it could end by itself before the signal arrives.
    env: { ...process.env, ...(killAt === undefined ? {} : { STAY: '1' }) },
  });
  const exited = new Promise<number | null>((resolve) => renewer.once('exit', resolve));
  const lines: string[] = [];
  for await (const line of createInterface({ input: renewer.stdout })) {
    lines.push(line);
    if (line === killAt) renewer.kill('SIGKILL');
  }
  expect(await exited).toBe(killAt === undefined ? 0 : null);
  return lines;
}

async function expectOneEach(place: Place, accountIds: readonly string[]): Promise<void> {
  const store = await openAt(place);
  // What a gateway does when it starts, and once a minute.
  await store.expire({ keysWithinMs: 0 });
  for (const accountId of accountIds) {
    const { entries } = await store.listEntries({ accountId, limit: 10 });
    expect([accountId, entries.map(({ delta }) => delta)]).toEqual([accountId, [ALLOWANCE]]);
    const lots = (await store.readUnspent(accountId))?.lots.map(({ remaining }) => remaining);
    expect([accountId, lots]).toEqual([accountId, [ALLOWANCE]]);
  }
  expect((await store.audit()).isSound).toBe(true);
  await store.close();
}

describe.each(['embedded', 'postgres'] as const)('allowances on the %s ledger', (kind) => {
  // F280: the process is killed with SIGKILL while it books the allowance of an account, and right
  // after it: the next process books what is missing, and no account has two.
  it('are one in a month, although each process that books them is killed', async () => {
    const place: Place = [kind, kind === 'embedded' ? folder : await postgres.createDatabase()];
    const accounts = await newAccounts(place, 12);
    const killAt = [`begins ${accounts[2]!}`, `booked ${accounts[5]!}`, `begins ${accounts[8]!}`];
    for (const line of killAt) {
      expect(await renew(place, accounts, line)).toContain(line);
    }
    await renew(place, accounts);
    await expectOneEach(place, accounts);
  });
});

// F281: two replicas book the allowances of the same accounts at once, one from the first to the
// last and one backwards, and one of them is killed: each account has one.
it('allowances are booked once by two replicas on one PostgreSQL', async () => {
  const place: Place = ['postgres', await postgres.createDatabase()];
  const accounts = await newAccounts(place, 40);
  await Promise.all([
    renew(place, accounts),
    renew(place, accounts),
    renew(place, accounts.toReversed(), `begins ${accounts[15]!}`),
  ]);
  await expectOneEach(place, accounts);
});
