/** Compares random histories of commands, step by step, with a model of a few lines. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { openEmbeddedStore } from '../src/embedded/index.js';
import type { BalanceStore, Settlement, TopUp } from '../src/index.js';
import { openPostgresStore } from '../src/postgres/index.js';
import { sampleLimits, settlement } from '../src/testing/index.js';
import { usePostgresServer } from './postgres-server.js';

const PEPPER = 'pepper of the tests';
const DEADLINE = { deadlineMs: 20_000 };

interface ModelKey {
  balance: bigint;
  /** Written off since the last credit. */
  uncovered: bigint;
  entries: number;
  state: 'active' | 'suspended' | 'revoked';
  isExpired: boolean;
}

/** The state that decides every outcome: keys and used ids. */
interface Model {
  readonly keys: Map<string, ModelKey>;
  readonly used: Map<
    string,
    { readonly contents: string; readonly balance: bigint; readonly writtenOff: bigint }
  >;
  /** Live and orphaned holds by request id. */
  readonly holds: Map<string, { readonly keyId: string; amount: bigint; isLive: boolean }>;
}

function heldBy(model: Model, keyId: string): bigint {
  return [...model.holds.values()]
    .filter((hold) => hold.isLive && hold.keyId === keyId)
    .reduce((sum, { amount }) => sum + amount, 0n);
}

interface Real {
  readonly store: BalanceStore;
  /** Prefix that makes the ids of one history unique. */
  readonly history: string;
  readonly keyIds: readonly string[];
}

type Step = fc.AsyncCommand<Model, Real>;

function standingOf(key: ModelKey): string {
  if (key.state !== 'active') return key.state;
  if (key.isExpired) return 'expired';
  return key.balance > 0n && key.uncovered === 0n ? 'active' : 'exhausted';
}

function keyOf(model: Model, keyId: string): ModelKey {
  const key = model.keys.get(keyId);
  if (key === undefined) throw new Error('the model lacks a key');
  return key;
}

/** The rules that charges and top-ups share. */
function applyOnce(
  model: Model,
  entry: {
    readonly id: string;
    readonly keyId: string;
    readonly delta: bigint;
    readonly writtenOff: bigint;
    readonly contents: string;
  },
  fresh: 'settled' | 'credited',
) {
  const key = keyOf(model, entry.keyId);
  const known = model.used.get(entry.id);
  if (known !== undefined && known.contents !== entry.contents) return { outcome: 'conflict' };
  if (known === undefined) {
    key.balance += entry.delta;
    key.entries += 1;
    key.uncovered = fresh === 'credited' ? 0n : key.uncovered + entry.writtenOff;
    model.used.set(entry.id, { ...entry, balance: key.balance });
  }
  const writtenOff = known?.writtenOff ?? entry.writtenOff;
  return {
    outcome: known === undefined ? fresh : 'replayed',
    balance: known?.balance ?? key.balance,
    isActive: standingOf(key) === 'active',
    ...(fresh === 'settled' ? { writtenOff } : {}),
  };
}

/** Splits a charge into the part that its key's balance covers and the part that is written off. */
function splitOf(
  model: Model,
  { requestId, keyId, amount, overdraft }: Settlement,
): { readonly delta: bigint; readonly writtenOff: bigint } {
  const hold = model.holds.get(requestId);
  const hasHold = hold?.keyId === keyId;
  if (overdraft === 'bounded' && !hasHold) return { delta: -amount, writtenOff: 0n };
  const { balance } = keyOf(model, keyId);
  const own = hasHold && hold.isLive ? hold.amount : 0n;
  const free = max(own, balance - (heldBy(model, keyId) - own));
  const charged = min(amount, max(0n, min(balance, free)));
  return { delta: -charged, writtenOff: amount - charged };
}

const min = (a: bigint, b: bigint): bigint => (a < b ? a : b);
const max = (a: bigint, b: bigint): bigint => (a > b ? a : b);

const always = () => true;

function settleStep(
  key: number,
  id: number,
  tokens: number,
  overdraft: Settlement['overdraft'],
): Step {
  return {
    check: always,
    toString: () =>
      `settle(key ${String(key)}, request ${String(id)}, ${String(tokens)} tokens, overdraft ${overdraft})`,
    async run(model, { store, history, keyIds }) {
      const keyId = keyIds[key] ?? '';
      const charge: Settlement = settlement(keyId, {
        requestId: `${history}:${String(id)}`,
        usage: { inputTokens: tokens },
        overdraft,
      });
      const { requestId } = charge;
      const expected = applyOnce(
        model,
        {
          id: requestId,
          keyId,
          ...splitOf(model, charge),
          contents: `${keyId} ${String(tokens)}`,
        },
        'settled',
      );
      model.holds.delete(requestId);
      expect(await store.settle(charge, DEADLINE)).toEqual(expected);
    },
  };
}

function holdStep(key: number, id: number, amount: bigint): Step {
  return {
    check: always,
    toString: () => `hold(key ${String(key)}, request ${String(id)}, ${String(amount)} units)`,
    async run(model, { store, history, keyIds }) {
      const keyId = keyIds[key] ?? '';
      const requestId = `${history}:${String(id)}`;
      const of = keyOf(model, keyId);
      const outcome = await store.placeHold({ requestId, keyId, amount });
      const standing = standingOf(of);
      if (standing !== 'active') {
        expect(outcome).toEqual({ outcome: 'inactive', standing });
        return;
      }
      const { balance } = of;
      const shortfall = heldBy(model, keyId) + amount - balance;
      if (model.holds.get(requestId)?.isLive !== true) {
        if (shortfall > 0n) {
          const held = heldBy(model, keyId);
          expect(outcome).toEqual({ outcome: 'short', balance, held, shortfall });
          return;
        }
        model.holds.set(requestId, { keyId, amount, isLive: true });
      }
      expect(outcome).toEqual({ outcome: 'held', balance, held: heldBy(model, keyId) });
    },
  };
}

function releaseStep(id: number): Step {
  return {
    check: always,
    toString: () => `release(request ${String(id)})`,
    async run(model, { store, history }) {
      const requestId = `${history}:${String(id)}`;
      model.holds.delete(requestId);
      store.releaseHold(requestId);
      const isThere = async () =>
        (
          await Promise.all([
            store.listHolds({ state: 'live', limit: 1_000 }),
            store.listHolds({ state: 'orphaned', limit: 1_000 }),
          ])
        )
          .flat()
          .some((hold) => hold.requestId === requestId);
      while (await isThere()) await new Promise((resolve) => setTimeout(resolve, 2));
    },
  };
}

function topUpStep(key: number, id: number, units: bigint): Step {
  return {
    check: always,
    toString: () => `topUp(key ${String(key)}, id ${String(id)}, ${String(units)} units)`,
    async run(model, { store, history, keyIds }) {
      const keyId = keyIds[key] ?? '';
      const topUp: TopUp = {
        topUpId: `${history}:${String(id)}`,
        keyId,
        amount: units,
        actor: 'model',
      };
      const expected = applyOnce(
        model,
        {
          id: `topup:${topUp.topUpId}`,
          keyId,
          delta: units,
          writtenOff: 0n,
          contents: `${keyId} ${String(units)}`,
        },
        'credited',
      );
      expect(await store.topUp(topUp)).toEqual(expected);
    },
  };
}

function operatorStep(
  key: number,
  act: 'suspend' | 'resume' | 'revoke' | 'expire' | 'unexpire',
): Step {
  return {
    check: always,
    toString: () => `${act}(key ${String(key)})`,
    async run(model, { store, keyIds }) {
      const keyId = keyIds[key] ?? '';
      const modelKey = keyOf(model, keyId);
      switch (act) {
        case 'suspend':
          if (modelKey.state === 'active') modelKey.state = 'suspended';
          await store.suspendKey(keyId);
          break;
        case 'resume':
          if (modelKey.state === 'suspended') modelKey.state = 'active';
          await store.resumeKey(keyId);
          break;
        case 'revoke':
          modelKey.state = 'revoked';
          await store.revokeKey(keyId);
          break;
        case 'expire':
          modelKey.isExpired = true;
          await store.updateKey(keyId, { expiresAt: new Date(0) });
          break;
        case 'unexpire':
          modelKey.isExpired = false;
          await store.updateKey(keyId, { expiresAt: null });
          break;
      }
      await expectSame(model, store, keyId);
    },
  };
}

function readStep(key: number): Step {
  return {
    check: always,
    toString: () => `read(key ${String(key)})`,
    run: (model, { store, keyIds }) => expectSame(model, store, keyIds[key] ?? ''),
  };
}

async function expectSame(model: Model, store: BalanceStore, keyId: string): Promise<void> {
  const key = keyOf(model, keyId);
  const { balance, uncovered } = key;
  expect(await store.readStanding(keyId)).toEqual({
    standing: standingOf(key),
    balance,
    uncovered,
  });
  const { entries } = await store.listEntries({ keyId, limit: 1 });
  expect(entries[0]?.seq ?? 0n).toBe(BigInt(key.entries));
  expect(await store.getKey(keyId)).toMatchObject({
    balance,
    isActive: standingOf(key) === 'active',
  });
}

const KEYS = 3;
const key = fc.integer({ min: 0, max: KEYS - 1 });
// Few ids, so that replays and conflicts are frequent; amounts that cross zero both ways.
const id = fc.integer({ min: 0, max: 9 });
const steps = fc.commands(
  [
    fc
      .tuple(key, id, fc.integer({ min: 0, max: 3 }), fc.constantFrom('bounded', 'none'))
      .map((of) => settleStep(...of)),
    fc
      .tuple(key, id, fc.integer({ min: 0, max: 3 }), fc.constantFrom('none'))
      .map((of) => settleStep(...of)),
    fc
      .tuple(key, id, fc.constantFrom(0n, 1n, 300_000_000n, 600_000_000n))
      .map((of) => holdStep(...of)),
    id.map(releaseStep),
    fc
      .tuple(key, id, fc.constantFrom(1n, 300_000_000n, 600_000_000n))
      .map((of) => topUpStep(...of)),
    fc
      .tuple(key, fc.constantFrom('suspend', 'resume', 'expire', 'unexpire'))
      .map((of) => operatorStep(...of)),
    key.map((of) => operatorStep(of, 'revoke')),
    key.map(readStep),
  ],
  { maxCommands: 30, size: '+1' },
);

async function checkHistories(store: BalanceStore): Promise<void> {
  let histories = 0;
  await fc.assert(
    fc.asyncProperty(steps, async (commands) => {
      histories += 1;
      const keyIds: string[] = [];
      for (let index = 0; index < KEYS; index += 1) {
        const { record } = await store.createKey({
          name: 'k',
          limits: sampleLimits,
          expiresAt: null,
        });
        keyIds.push(record.id);
      }
      const history = `history ${String(histories)}`;
      const setup = () => {
        const newKey = (): ModelKey => ({
          balance: 0n,
          uncovered: 0n,
          entries: 0,
          state: 'active',
          isExpired: false,
        });
        const model: Model = {
          keys: new Map(keyIds.map((keyId) => [keyId, newKey()])),
          used: new Map(),
          holds: new Map(),
        };
        return { model, real: { store, history, keyIds } };
      };
      await fc.asyncModelRun(setup, commands);
    }),
    { numRuns: 100 },
  );
  expect(await store.audit()).toMatchObject({ isSound: true, gap: 0n, quarantined: 0 });
}

describe('a store behaves like its model through any history', () => {
  const cleanUps: (() => Promise<void> | void)[] = [];
  afterAll(async () => {
    for (const cleanUp of cleanUps.reverse()) await cleanUp();
  });

  it('on PostgreSQL', async () => {
    const server = await usePostgresServer();
    cleanUps.push(() => server.stop());
    const connectionString = await server.createDatabase();
    const store = await openPostgresStore({ connectionString, pepper: PEPPER });
    cleanUps.push(() => store.close());
    await checkHistories(store);
  });

  it('embedded', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'balance-store-'));
    cleanUps.push(() => {
      rmSync(dataDir, { recursive: true, force: true });
    });
    const store = await openEmbeddedStore({ dataDir, pepper: PEPPER });
    cleanUps.push(() => store.close());
    await checkHistories(store);
  });
});
