/**
 * An admission from memory is never older than the last commit that finished before it, whoever
 * committed: this process, another one, or another program.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { openEmbeddedStore } from '../../src/embedded/index.js';
import { createStandingMemory } from '../../src/embedded/standing-memory.js';
import type { KnownCommit } from '../../src/embedded/standing-memory.js';
import { openReader } from '../../src/embedded/sqlite/connection.js';
import type { Connection } from '../../src/embedded/sqlite/connection.js';
import { readStanding } from '../../src/embedded/sqlite/keys.js';
import type { BalanceStore } from '../../src/index.js';
import { sampleLimits } from '../../src/testing/index.js';
import { CHANGES, perform } from '../guest-commands.js';
import type { GuestCommand } from '../guest-commands.js';
import { runs } from '../../../../scripts/runs.cjs';

const PEPPER = 'pepper of the tests';
const USD = 10n ** 14n;
const BY = { name: 'tests' };

/** A ledger with two keys of one account and one of another, without a file. */
function fakeLedger() {
  const owners = ['a', 'a', 'b'] as const;
  const state = {
    commits: 0,
    balances: { a: 0n, b: 0n },
    queries: 0,
    /** Called at the end of each query. */
    afterQuery: () => {},
  };
  const reports: KnownCommit[] = [];
  const textOf = (units: bigint) => `${String(units)}.00000000000000`;
  const reader = {
    get(_sql: string, keyId: string) {
      state.queries += 1;
      const accountId = owners[Number(keyId)] ?? 'a';
      const row = {
        accountId,
        state: 'active',
        accountState: 'active',
        expiresAt: null,
        balance: textOf(state.balances[accountId]),
        uncovered: textOf(0n),
        nextExpiryAt: null,
        emptiedBy: null,
        isBudgeted: 0,
        capTexts: null,
      };
      state.afterQuery();
      return row;
    },
  } as unknown as Connection;
  const markOf = (commits: number) =>
    Buffer.from(Uint32Array.of(0, 0, commits).buffer).toString('latin1');
  const memory = createStandingMemory({
    reader,
    readMark: () => markOf(state.commits),
    receiveCommits: () => undefined,
    mayCommit: () => reports.length > 0,
  });
  function commit(account: 'a' | 'b', balance: bigint): KnownCommit {
    const from = markOf(state.commits);
    state.commits += 1;
    state.balances[account] = balance;
    const accounts = [{ id: account, balance: balance * USD, uncovered: 0n }];
    return { from, to: markOf(state.commits), changed: { accounts, budgetedKeyIds: [] } };
  }
  return { owners, state, reports, memory, commit };
}

describe('standing memory', () => {
  it('answers as the ledger is, in every order of commits, their reports and reads', () => {
    const account = fc.constantFrom('a' as const, 'b' as const);
    const step = fc.oneof(
      fc.record({ does: fc.constant('commit' as const), account, isOwn: fc.boolean() }),
      fc.record({ does: fc.constant('report' as const) }),
      fc.record({ does: fc.constant('read' as const), key: fc.nat(2) }),
      fc.record({ does: fc.constant('commit after the next query' as const), account }),
    );
    fc.assert(
      fc.property(fc.array(step, { minLength: 30, maxLength: 60 }), (steps) => {
        const { owners, state, reports, memory, commit } = fakeLedger();
        let next = 1n;
        for (const taken of steps) {
          if (taken.does === 'commit') {
            const report = commit(taken.account, (next += 1n));
            if (taken.isOwn) reports.push(report);
          } else if (taken.does === 'report') {
            const report = reports.shift();
            if (report !== undefined) memory.committed(report);
          } else if (taken.does === 'commit after the next query') {
            state.afterQuery = () => {
              state.afterQuery = () => {};
              commit(taken.account, (next += 1n));
            };
          } else {
            const { [owners[taken.key] ?? 'a']: balance } = state.balances;
            expect(memory.readStanding(String(taken.key))).toMatchObject({
              balance: balance * USD,
            });
          }
        }
      }),
      { numRuns: runs(__filename, 'histories') },
    );
  });

  it('needs no query after commits that are reported, and one per key after any other', () => {
    const { state, memory, commit } = fakeLedger();
    const readAll = () => ['0', '1', '2'].map((keyId) => memory.readStanding(keyId));
    readAll();
    expect(state.queries).toBe(3);
    const version = memory.version();
    for (let round = 0n; round < 10n; round += 1n) {
      memory.committed(commit('a', round));
      readAll();
    }
    expect(state.queries).toBe(3);
    expect(memory.version()).toBe(version);
    commit('b', 7n);
    expect(memory.version()).not.toBe(version);
    readAll();
    readAll();
    expect(state.queries).toBe(6);
  });

  it('forgets what it knew before a commit that followed another one', () => {
    const { state, memory, commit } = fakeLedger();
    memory.readStanding('0');
    commit('a', 5n);
    memory.committed(commit('b', 6n));
    expect(memory.readStanding('0')).toMatchObject({ balance: 5n * USD });
    expect(state.queries).toBe(2);
  });
});

describe('admission from memory beside other processes', () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'standing-memory-'));
  let store: BalanceStore;
  let direct: Connection;
  let other: DatabaseSync;
  const keyIds: string[] = [];
  const guests: ReturnType<typeof startGuest>[] = [];

  beforeAll(async () => {
    store = await openEmbeddedStore({ dataDir, pepper: PEPPER });
    direct = openReader(join(dataDir, 'ledger.db'));
    other = new DatabaseSync(join(dataDir, 'ledger.db'));
    other.exec('PRAGMA busy_timeout = 5000');
    const key = { name: 'k', limits: sampleLimits, expiresAt: null };
    const first = await store.createKey(key);
    const { accountId } = first.record;
    const second = await store.create({
      account: { id: accountId },
      key: { ...key, caps: { day: USD } },
      by: BY,
    });
    const third = await store.createKey(key);
    if (second.outcome !== 'created') throw new Error(second.outcome);
    keyIds.push(first.record.id, second.key?.id ?? '', third.record.id);
    guests.push(startGuest(dataDir), startGuest(dataDir));
  });
  afterAll(async () => {
    await Promise.all(guests.map((guest) => guest.stop()));
    direct.close();
    other.close();
    await store.close();
    rmSync(dataDir, { recursive: true, force: true });
  });

  /** The answer must be the state of the file at a moment within the call. */
  async function expectCurrent(): Promise<void> {
    for (const keyId of keyIds) {
      const before = readStanding(direct, keyId, Date.now());
      const answer = store.readStanding(keyId);
      const after = readStanding(direct, keyId, Date.now());
      // Another commit may have happened during the call, or a new day may have begun.
      if (JSON.stringify(before, plain) === JSON.stringify(after, plain)) {
        expect(await answer).toEqual(before);
      }
    }
  }

  type Step = GuestCommand & { readonly by: 'owner' | 'guest' | 'other program' | 'owner, later' };

  /** The step of another program is made by SQL. The charge of an owner, later, is not awaited. */
  async function follow(steps: readonly Step[]): Promise<void> {
    const charges: Promise<unknown>[] = [];
    for (const { by, ...command } of steps) {
      if (by === 'owner, later') charges.push(perform(store, { ...command, does: 'settle' }));
      else if (by === 'owner') await perform(store, command);
      else if (by === 'guest') await guests[charges.length % guests.length]?.ask(command);
      else other.exec(`UPDATE account SET balance = '${command.units}.00000000000000'`);
      await expectCurrent();
    }
    await Promise.all(charges);
    await expectCurrent();
  }
  const stepBy = (...authors: readonly Step['by'][]) =>
    fc.record({
      by: fc.constantFrom(...authors),
      does: fc.constantFrom(...CHANGES),
      keyId: fc.nat(2).map((index) => keyIds[index] ?? ''),
      units: fc.bigInt({ min: 1n, max: USD }).map(String),
    });
  const expectToFollow = (...authors: readonly Step['by'][]) =>
    fc.assert(
      fc.asyncProperty(fc.array(stepBy(...authors), { minLength: 5, maxLength: 25 }), follow),
      { numRuns: runs(__filename, 'histories with processes') },
    );

  it('sees charges, credits, suspensions and caps after each of them, and the ledger stays sound', async () => {
    await expectToFollow('owner, later', 'owner, later', 'owner', 'guest');
    expect(await store.audit()).toMatchObject({ isSound: true, gap: 0n, quarantined: 0 });
  });

  it('sees what another program changes by SQL', async () => {
    await expectToFollow('owner, later', 'guest', 'other program');
  });
});

it('a store that is opened again beside another one sees what a guest commits', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'standing-memory-'));
  const open = (access: 'owner' | 'guest') =>
    openEmbeddedStore({ dataDir, pepper: PEPPER, access });
  let owner = await open('owner');
  const key = { name: 'k', limits: sampleLimits, expiresAt: null };
  const { id } = (await owner.createKey(key)).record;
  for (let round = 0; round < 3; round += 1) {
    // From the second round on, the log and its index are new files.
    const guest = await open('guest');
    await owner.close();
    owner = await open('owner');
    for (const does of ['topUp', 'suspend', 'resume', 'adjust', 'suspend'] as const) {
      await owner.readStanding(id);
      await perform(guest, { does, keyId: id, units: '5' });
      expect(await owner.readStanding(id)).toEqual(await guest.readStanding(id));
    }
    expect(await owner.readStanding(id)).toMatchObject({ standing: 'suspended' });
    await owner.close();
    await guest.close();
    owner = await open('owner');
    expect(await owner.readStanding(id)).toMatchObject({ standing: 'suspended' });
  }
  await owner.close();
  rmSync(dataDir, { recursive: true, force: true });
});

/** An operator's command in a process of its own. */
function startGuest(dataDir: string) {
  const hooks = join(__dirname, '../run-typescript.mjs');
  const child = spawn(
    process.execPath,
    ['--no-warnings', '--import', hooks, join(__dirname, '../guest.ts'), dataDir],
    { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] },
  );
  const ready = once(child, 'message');
  const ended = once(child, 'exit');
  return {
    async ask(command: GuestCommand): Promise<void> {
      await ready;
      const done = once(child, 'message');
      child.send(command);
      await done;
    },
    async stop(): Promise<void> {
      await ready;
      child.disconnect();
      await ended;
    },
  };
}

const plain = (_name: string, value: unknown) =>
  typeof value === 'bigint' ? String(value) : value;
