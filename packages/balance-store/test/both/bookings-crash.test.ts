/** Processes that book allowances at once, or close accounts, and are killed while they do. */

import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { openEmbeddedStore } from '../../src/embedded/index.js';
import type { BalanceStore } from '../../src/index.js';
import { openPostgresStore } from '../../src/postgres/index.js';
import { sampleLimits } from '../../src/testing/index.js';
import { waitPastMidnight } from '../../src/testing/midnight.js';
import { usePostgresServer } from '../postgres-server.js';
import type { PostgresServer } from '../postgres-server.js';

const PEPPER = 'pepper of the tests';
const ALLOWANCE = 5n;
const WITH_KEY = { key: { name: 'key', limits: sampleLimits, expiresAt: null } } as const;
const HOOKS = join(__dirname, '../run-typescript.mjs');

/** In the form that `booker.ts` expects. */
type Place = readonly [kind: 'embedded' | 'postgres', place: string];

let postgres: PostgresServer;
const folder = mkdtempSync(join(tmpdir(), 'bookings-crash-'));
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

async function newAccounts(
  place: Place,
  count: number,
  credit?: bigint,
): Promise<readonly string[]> {
  // With a new month, each account would have another allowance.
  await waitPastMidnight(120_000);
  const store = await openAt(place);
  const ids: string[] = [];
  for (let n = 0; n < count; n += 1) {
    const created = await store.create({
      account: { name: `account ${String(n)}`, allowance: ALLOWANCE },
      ...(credit === undefined ? {} : { ...WITH_KEY, credit: { amount: credit, source: 'paid' } }),
      by: { name: 'tests' },
    });
    if (created.outcome !== 'created') throw new Error(created.outcome);
    if (credit !== undefined) await store.bookDue(created.account.id);
    ids.push(created.account.id);
  }
  await store.close();
  return ids;
}

/** @param killAt - The line at which the process is killed. @returns the lines it printed */
async function bookAll(
  place: Place,
  accountIds: readonly string[],
  killAt?: string,
  work: 'allowance' | 'closing' = 'allowance',
): Promise<readonly string[]> {
  const program = join(__dirname, '../booker.ts');
  const args = ['--import', HOOKS, program, work, ...place, ...accountIds];
  const booker = spawn(process.execPath, args, {
    stdio: ['ignore', 'pipe', 'inherit'],
    // Otherwise it could end by itself before the signal arrives.
    env: { ...process.env, ...(killAt === undefined ? {} : { STAY: '1' }) },
  });
  const exited = new Promise<number | null>((resolve) => booker.once('exit', resolve));
  const lines: string[] = [];
  for await (const line of createInterface({ input: booker.stdout })) {
    lines.push(line);
    if (line === killAt) booker.kill('SIGKILL');
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
      expect(await bookAll(place, accounts, line)).toContain(line);
    }
    await bookAll(place, accounts);
    await expectOneEach(place, accounts);
  });
});

describe.each(['embedded', 'postgres'] as const)('closings on the %s ledger', (kind) => {
  // F510: the process is killed with SIGKILL while it closes an account, and right after it: each
  // account is open with all of its money, key and allowance, or closed without any.
  it('are whole or not there, although each process that closes is killed', async () => {
    const place: Place = [
      kind,
      kind === 'embedded' ? join(folder, 'closings') : await postgres.createDatabase(),
    ];
    const accounts = await newAccounts(place, 12, 9n);
    let left = [...accounts];
    for (const [word, at] of [
      ['begins', 2],
      ['booked', 3],
      ['begins', 1],
    ] as const) {
      const line = `${word} ${left[at]!}`;
      expect(await bookAll(place, left, line, 'closing')).toContain(line);
      const store = await openAt(place);
      const states = await Promise.all(left.map((id) => stateOf(store, id)));
      const open = states.map((state, index) => (state.startsWith('active') ? left[index]! : ''));
      left = open.filter((id) => id !== '');
      for (const state of states) expect(['active 14 1 5 0', 'closed 0 0 null 2']).toContain(state);
      await store.close();
    }
    expect(left.length).toBeLessThan(accounts.length);
    await bookAll(place, left, undefined, 'closing');
    const store = await openAt(place);
    for (const id of accounts) expect(await stateOf(store, id)).toBe('closed 0 0 null 2');
    expect((await store.audit()).isSound).toBe(true);
    await store.close();
  });
});

/** An account's state, balance, usable keys and allowance, and how many adjustments it has. */
async function stateOf(store: BalanceStore, id: string): Promise<string> {
  const account = await store.getAccount(id);
  const { entries } = await store.listEntries({ accountId: id, kind: 'adjustment', limit: 10 });
  const parts = [account?.state, account?.balance, account?.usableKeys, account?.allowance];
  return [...parts, entries.length].map(String).join(' ');
}

// F281: two replicas book the allowances of the same accounts at once, one from the first to the
// last and one backwards, and one of them is killed: each account has one.
it('allowances are booked once by two replicas on one PostgreSQL', async () => {
  const place: Place = ['postgres', await postgres.createDatabase()];
  const accounts = await newAccounts(place, 40);
  await Promise.all([
    bookAll(place, accounts),
    bookAll(place, accounts),
    bookAll(place, accounts.toReversed(), `begins ${accounts[15]!}`),
  ]);
  await expectOneEach(place, accounts);
});
