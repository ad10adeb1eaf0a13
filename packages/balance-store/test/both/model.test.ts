/** Compares random histories of commands, step by step, with the model in `model.ts`. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { openEmbeddedStore } from '../../src/embedded/index.js';
import type { BalanceStore, HoldOutcome, Settlement } from '../../src/index.js';
import { openPostgresStore } from '../../src/postgres/index.js';
import { sampleLimits, settlement } from '../../src/testing/index.js';
import {
  adjust,
  bookFee,
  chargeKey,
  expireCredits,
  expiredOf,
  givenIn,
  heldByAccount,
  newModel,
  placeHold,
  reverse,
  rotate,
  spendable,
  standingOf,
  topUp,
  transfer,
  unspentOf,
} from '../model.js';
import type { COUNTERS, Model, ModelKey } from '../model.js';
import { querySql, usePostgresServer } from '../postgres-server.js';
import { runs } from '../../../../scripts/runs.cjs';

const PEPPER = 'pepper of the tests';
const DEADLINE = { deadlineMs: 20_000 };
const BY = { name: 'model' };
/** The price of one input token, in units of 10^-14 USD. */
const TOKEN_PRICE = 300_000_000n;
const FAR_MS = Date.parse('2200-01-01T00:00:00.000Z');
const ALWAYS = { from: new Date(0), until: new Date(FAR_MS) };

/** For each key, the index of its account. */
const OWNERS = [0, 0, 1] as const;
const LOW_BALANCE = TOKEN_PRICE;
const NOTICE_SHARES = [1, 50, 80, 100];

/** Reads rows by plain SQL. */
type Query = (sql: string) => Promise<readonly Readonly<Record<string, unknown>>[]>;

interface Real {
  readonly store: BalanceStore;
  readonly query: Query;
  /** Prefix that makes the ids of one history unique. */
  readonly history: string;
  readonly startMs: number;
  readonly accountIds: readonly string[];
  readonly keyIds: readonly string[];
  /** The credentials of each key, oldest first. */
  readonly credentials: readonly string[][];
}

type Step = fc.AsyncCommand<Model, Real>;

function step(name: string, run: (model: Model, real: Real) => Promise<void>): Step {
  return { check: () => true, toString: () => name, run };
}

const keyOf = (model: Model, index: number): ModelKey => {
  const key = model.keys[index];
  if (key === undefined) throw new Error('the model lacks a key');
  return key;
};

const settleStep = (key: number, id: number, tokens: number, overdraft: Settlement['overdraft']) =>
  step(
    `settle(key ${String(key)}, request ${String(id)}, ${String(tokens)} tokens, overdraft ${overdraft})`,
    async (model, { store, history, keyIds }) => {
      const requestId = `${history}:${String(id)}`;
      const usage = { inputTokens: tokens };
      const charge = settlement(keyIds[key] ?? '', { requestId, usage, overdraft });
      const { amount } = charge;
      const expected = chargeKey(model, keyOf(model, key), { requestId, amount, overdraft });
      expect(await store.settle(charge, DEADLINE)).toEqual(expected);
    },
  );

const holdStep = (key: number, id: number, amount: bigint) =>
  step(
    `hold(key ${String(key)}, request ${String(id)}, ${String(amount)} units)`,
    async (model, { store, history, keyIds }) => {
      const requestId = `${history}:${String(id)}`;
      const outcome = await store.placeHold({ requestId, keyId: keyIds[key] ?? '', amount });
      expect(withoutBudget(outcome)).toEqual(
        placeHold(model, keyOf(model, key), { requestId, amount }),
      );
    },
  );

function withoutBudget(outcome: HoldOutcome) {
  if (outcome.outcome !== 'over_budget') return outcome;
  const { amount, used, held } = outcome.use;
  return { outcome: 'over_budget', use: { amount, used, held } };
}

const releaseStep = (id: number) =>
  step(`release(request ${String(id)})`, async (model, { store, history }) => {
    const requestId = `${history}:${String(id)}`;
    model.holds.delete(requestId);
    store.releaseHold(requestId);
    const isThere = async () =>
      (await store.listHolds({ state: 'live', limit: 1_000 })).some(
        (hold) => hold.requestId === requestId,
      );
    while (await isThere()) await new Promise((resolve) => setTimeout(resolve, 2));
  });

interface Credit {
  readonly isGiven: boolean;
  /** `passing`: it has expired already; `far`: it expires after many years. */
  readonly expires: 'never' | 'passing' | 'far';
  readonly tax: bigint;
}

const topUpStep = (key: number, id: number, units: bigint, { isGiven, expires, tax }: Credit) =>
  step(
    `topUp(key ${String(key)}, id ${String(id)}, ${String(units)} units, ` +
      `${isGiven ? 'given' : 'paid'}, expires ${expires}, tax ${String(tax)})`,
    async (model, { store, history, startMs, accountIds, keyIds }) => {
      const { account } = keyOf(model, key);
      const accountId = accountIds[account.index] ?? '';
      const topUpId = `${history}:${String(id)}`;
      // Few times, so that credits have equal terms.
      const offset = id % 2;
      const times = { passing: startMs - 1_000 + offset, far: FAR_MS + offset, never: Infinity };
      const expiresAtMs = times[expires];
      const outcome = await store.topUp({
        topUpId,
        // Crediting a key is the same as crediting its account.
        to: id % 2 === 0 ? { accountId } : { keyId: keyIds[key] ?? '' },
        amount: units,
        source: isGiven ? 'promotional' : 'paid',
        ...(expires === 'never' ? {} : { expiresAt: new Date(expiresAtMs) }),
        tax,
        by: BY,
      });
      const credit = { isGiven, expiresAtMs, isPassing: expires === 'passing' };
      const expected = topUp(model, account, { id: `topup:${topUpId}`, units, credit, tax });
      expect(outcome).toEqual(
        expected.outcome === 'conflict' ? expected : { ...expected, accountId },
      );
    },
  );

const adjustStep = (
  account: number,
  id: number,
  units: bigint,
  reason: keyof typeof COUNTERS,
  tax: bigint,
) =>
  step(
    `adjust(account ${String(account)}, id ${String(id)}, ${String(units)} units, ${reason}, ` +
      `tax ${String(tax)})`,
    async (model, { store, history, accountIds }) => {
      const adjustmentId = `${history}:${String(id)}`;
      const accountId = accountIds[account] ?? '';
      const outcome = await store.adjust({
        adjustmentId,
        accountId,
        amount: units,
        reason,
        tax,
        by: BY,
      });
      const of = model.accounts[account]!;
      const adjustment = { id: `adjustment:${adjustmentId}`, units, reason, tax };
      expect(outcome).toEqual(adjust(model, of, adjustment));
    },
  );

type Reversible = 'topup:' | 'adjustment:' | 'fee:' | 'transfer:';

const reverseStep = (account: number, id: number, of: Reversible, target: number) =>
  step(
    `reverse(account ${String(account)}, id ${String(id)}, ${of}${String(target)})`,
    async (model, { store, history, accountIds }) => {
      const adjustmentId = `${history}:${String(id)}`;
      const half = of === 'transfer:' ? ':out' : '';
      const reverses = `${of}${history}:${String(target)}${half}`;
      const accountId = accountIds[account] ?? '';
      const outcome = await store.reverse({ adjustmentId, accountId, reverses, by: BY });
      const reversal = { id: `adjustment:${adjustmentId}`, reverses };
      expect(outcome).toEqual(reverse(model, model.accounts[account]!, reversal));
    },
  );

const feeStep = (account: number, id: number, fee: bigint) =>
  step(
    `fee(account ${String(account)}, id ${String(id)}, ${String(fee)} units)`,
    async (model, { store, history, accountIds }) => {
      const feeId = `${history}:${String(id)}`;
      const accountId = accountIds[account] ?? '';
      const counter = 'cash:stripe';
      const outcome = await store.bookFee({ feeId, accountId, fee, counter, by: BY });
      const of = model.accounts[account]!;
      expect(outcome).toEqual(bookFee(model, of, { id: `fee:${feeId}`, fee }));
    },
  );

const transferStep = (from: number, id: number, units: bigint) =>
  step(
    `transfer(from account ${String(from)}, id ${String(id)}, ${String(units)} units)`,
    async (model, { store, history, accountIds }) => {
      const transferId = `${history}:${String(id)}`;
      const [source, target] = [model.accounts[from]!, model.accounts[1 - from]!];
      const outcome = await store.transfer({
        transferId,
        from: accountIds[source.index] ?? '',
        to: accountIds[target.index] ?? '',
        amount: units,
        by: BY,
      });
      expect(outcome).toEqual(transfer(model, { id: transferId, source, target, units }));
    },
  );

const expireStep = () =>
  step('expire()', async (model, { store }) => {
    await store.expire({ keysWithinMs: 0 });
    for (const account of model.accounts) expireCredits(model, account);
  });

// Rolls up the current hour, too, so that later charges are in an hour that was rolled up before.
const rollUpStep = () =>
  step('rollUp()', async (_model, { store }) => {
    await store.rollUpUsage({ before: new Date(FAR_MS) });
  });

const capStep = (key: number, cap: bigint | null) =>
  step(`cap(key ${String(key)}, ${String(cap)})`, async (model, { store, keyIds }) => {
    keyOf(model, key).cap = cap;
    await store.updateKey(keyIds[key] ?? '', { caps: { total: cap } });
  });

const rotateStep = (key: number, graceMs: number) =>
  step(
    `rotate(key ${String(key)}, grace ${String(graceMs)})`,
    async (model, { store, keyIds, credentials }) => {
      const rotated = await store.rotateKey(keyIds[key] ?? '', { graceMs, by: BY });
      expect(rotated.outcome).toBe(rotate(model, keyOf(model, key), graceMs > 0));
      if (rotated.outcome === 'rotated') credentials[key]?.push(rotated.credential);
    },
  );

const operatorStep = (key: number, act: 'suspend' | 'resume' | 'revoke' | 'expire' | 'unexpire') =>
  step(`${act}(key ${String(key)})`, async (model, { store, keyIds }) => {
    const keyId = keyIds[key] ?? '';
    const modelKey = keyOf(model, key);
    switch (act) {
      case 'suspend':
        if (modelKey.state === 'active') {
          modelKey.state = 'suspended';
          modelKey.account.events.push('key.suspended');
        }
        await store.suspendKey(keyId);
        break;
      case 'resume':
        if (modelKey.state === 'suspended') {
          modelKey.state = 'active';
          modelKey.account.events.push('key.resumed');
        }
        await store.resumeKey(keyId);
        break;
      case 'revoke':
        if (modelKey.state !== 'revoked') modelKey.account.events.push('key.revoked');
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
  });

const readStep = (key: number) =>
  step(`read(key ${String(key)})`, (model, real) => expectSame(model, real, key));

async function expectSame(model: Model, real: Real, index: number): Promise<void> {
  const { store, accountIds, keyIds, credentials } = real;
  const key = keyOf(model, index);
  const { account, cap, used } = key;
  const { uncovered } = account;
  const [balance, expired] = [spendable(account), expiredOf(account)];
  const emptiedBy = expired > 0n ? 'expiry' : account.emptiedBy;
  const [keyId, accountId] = [keyIds[index] ?? '', accountIds[account.index] ?? ''];
  expect(await store.readStanding(keyId)).toEqual({
    standing: standingOf(key),
    balance,
    uncovered,
    ...(standingOf(key) === 'exhausted' && emptiedBy !== undefined ? { emptiedBy } : {}),
    ...(cap === null ? {} : { cap: { period: 'total', cap, used } }),
  });
  expect(await store.getKey(keyId)).toMatchObject({
    balance,
    isActive: standingOf(key) === 'active',
    used: { day: null, week: null, month: null, total: used },
    spent: used - key.writtenOff,
    writtenOff: key.writtenOff,
    caps: { total: cap },
  });
  expect(await store.getAccount(accountId)).toMatchObject({
    balance,
    uncovered,
    expired: account.expired + expired,
    adjusted: account.adjusted,
    credited: account.credited,
    given: givenIn(account),
    usableKeys: model.keys.filter((of) => of.account === account && isUsable(of)).length,
  });
  expect(await store.readUnspent(accountId)).toMatchObject(unspentOf(account));
  const usage = await store.readUsage({ ...ALWAYS, by: [], keyId });
  const [sum = { listPrice: 0n, writtenOff: 0n }] = usage;
  expect([sum.listPrice, sum.writtenOff]).toEqual([used, key.writtenOff]);
  const { entries } = await store.listEntries({ accountId, limit: 1 });
  expect(entries[0]?.seq ?? 0n).toBe(BigInt(account.entries));
  const events = await store.listEvents({ accountId, limit: 1_000 });
  expect(events.map(({ type }) => type)).toEqual(account.events);
  const works = await Promise.all(
    (credentials[index] ?? []).map(async (credential) => {
      const found = await store.findKeyByCredential(credential);
      return found?.id === keyId;
    }),
  );
  expect(works).toEqual(key.works);
  const holds = await store.listHolds({ state: 'live', limit: 10_000 });
  const held = holds
    .filter((hold) => hold.accountId === accountId)
    .reduce((sum, { amount }) => sum + amount, 0n);
  expect(held).toBe(heldByAccount(model, account));
  await expectSameBooks(model, real);
}

const unitsOf = (amount: unknown) => BigInt(String(amount).replace('.', ''));

/** The sides of the books, and the charges, from the rows of the ledger alone. */
async function expectSameBooks(model: Model, { query, accountIds }: Real): Promise<void> {
  const ids = accountIds.map((id) => `'${id}'`).join(', ');
  const of = `WHERE account_id IN (${ids})`;
  const sides = new Map<string, bigint>();
  for (const { side, amount } of await query(`SELECT side, amount FROM money_hour ${of}`)) {
    sides.set(String(side), (sides.get(String(side)) ?? 0n) + unitsOf(amount));
  }
  const present = (all: ReadonlyMap<string, bigint>) =>
    [...all].filter(([, amount]) => amount !== 0n).sort();
  expect(present(sides)).toEqual(present(model.sides));
  expect([...sides.values()].reduce((sum, amount) => sum + amount, 0n)).toBe(0n);
  // Revenue: what charges paid, less what of it was given.
  let [charged, given] = [0n, 0n];
  const charges = `SELECT delta, given FROM ledger ${of} AND kind = 'charge'`;
  for (const row of await query(charges)) {
    charged -= unitsOf(row['delta']);
    given -= unitsOf(row['given'] ?? '0');
  }
  const inModel = (side: string) => model.sides.get(side) ?? 0n;
  const balances = model.accounts.reduce((sum, { balance }) => sum + balance, 0n);
  expect(given).toBe(inModel('redeemed'));
  expect(inModel('balance:paid') + inModel('balance:given')).toBe(balances + charged - given);
}

const isUsable = ({ state, isExpired }: ModelKey) => state === 'active' && !isExpired;

const key = fc.integer({ min: 0, max: OWNERS.length - 1 });
const account = fc.integer({ min: 0, max: 1 });
// Few ids, so that replays and conflicts are frequent. Amounts are of the size of the balances,
// which therefore cross zero in both directions.
const id = fc.integer({ min: 0, max: 9 });
const units = fc.constantFrom(1n, TOKEN_PRICE, 2n * TOKEN_PRICE);
const expires = fc.constantFrom('never', 'passing', 'far');
const tax = fc.constantFrom(0n, 0n, 1n);
const SOLD: Credit = { isGiven: false, expires: 'never', tax: 0n };
const reversible = fc.constantFrom<Reversible>('topup:', 'adjustment:', 'fee:', 'transfer:');
const steps = fc.commands(
  [
    fc
      .tuple(key, id, fc.integer({ min: 0, max: 3 }), fc.constantFrom('bounded', 'none'))
      .map((of) => settleStep(...of)),
    fc
      .tuple(key, id, fc.integer({ min: 0, max: 3 }), fc.constantFrom('none'))
      .map((of) => settleStep(...of)),
    fc
      .tuple(key, id, fc.constantFrom(0n, 1n, TOKEN_PRICE, 2n * TOKEN_PRICE))
      .map((of) => holdStep(...of)),
    id.map(releaseStep),
    fc
      .tuple(key, id, units, fc.record({ isGiven: fc.boolean(), expires, tax }))
      .map((of) => topUpStep(...of)),
    fc.tuple(key, id, units, fc.constant(SOLD)).map((of) => topUpStep(...of)),
    fc
      .tuple(
        account,
        id,
        fc.constantFrom(1n, 2n * TOKEN_PRICE, -1n, -TOKEN_PRICE, -3n * TOKEN_PRICE),
        fc.constantFrom('correction', 'goodwill', 'refund', 'write_off'),
        tax,
      )
      .map((of) => adjustStep(...of)),
    fc.tuple(account, id, units).map((of) => transferStep(...of)),
    fc.tuple(account, id, reversible, id).map((of) => reverseStep(...of)),
    fc.tuple(account, id, reversible, id).map((of) => reverseStep(...of)),
    fc.tuple(account, id, fc.constantFrom(1n, -1n)).map((of) => feeStep(...of)),
    fc.constant(expireStep()),
    fc.constant(rollUpStep()),
    fc
      .tuple(key, fc.constantFrom(null, 0n, TOKEN_PRICE, 3n * TOKEN_PRICE))
      .map((of) => capStep(...of)),
    fc.tuple(key, fc.constantFrom(0, 3_600_000)).map((of) => rotateStep(...of)),
    fc
      .tuple(key, fc.constantFrom('suspend', 'resume', 'expire', 'unexpire'))
      .map((of) => operatorStep(...of)),
    key.map((of) => operatorStep(of, 'revoke')),
    key.map(readStep),
    key.map(readStep),
  ],
  { maxCommands: 40, size: '+1' },
);

async function open(
  { store, query }: Pick<Real, 'store' | 'query'>,
  history: string,
): Promise<{ model: Model; real: Real }> {
  const accountIds: string[] = [];
  for (const name of ['a', 'b']) {
    const created = await store.create({ account: { name, lowBalance: LOW_BALANCE }, by: BY });
    if (created.outcome !== 'created') throw new Error(created.outcome);
    accountIds.push(created.account.id);
    await store.updateAccount(created.account.id, { noticeShares: NOTICE_SHARES }, BY);
  }
  const keyIds: string[] = [];
  const credentials: string[][] = [];
  for (const owner of OWNERS) {
    const created = await store.create({
      account: { id: accountIds[owner] ?? '' },
      key: { name: 'k', limits: sampleLimits, expiresAt: null },
      by: BY,
    });
    if (created.outcome !== 'created') throw new Error(created.outcome);
    keyIds.push(created.key?.id ?? '');
    credentials.push([created.credential ?? '']);
  }
  const startMs = Date.now();
  return {
    model: newModel(OWNERS, { lowBalance: LOW_BALANCE, noticeShares: NOTICE_SHARES }),
    real: { store, query, history, startMs, accountIds, keyIds, credentials },
  };
}

async function checkHistories(store: BalanceStore, query: Query): Promise<void> {
  let histories = 0;
  await fc.assert(
    fc.asyncProperty(steps, async (commands) => {
      histories += 1;
      const opened = await open({ store, query }, `history ${String(histories)}`);
      await fc.asyncModelRun(() => opened, commands);
      for (const index of OWNERS.keys()) await expectSame(opened.model, opened.real, index);
    }),
    { numRuns: runs(__filename, 'histories') },
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
    await checkHistories(store, (sql) => querySql(connectionString, sql));
  });

  it('embedded', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'balance-store-'));
    cleanUps.push(() => {
      rmSync(dataDir, { recursive: true, force: true });
    });
    const store = await openEmbeddedStore({ dataDir, pepper: PEPPER });
    cleanUps.push(() => store.close());
    const reader = new DatabaseSync(join(dataDir, 'ledger.db'), { readOnly: true });
    cleanUps.push(() => {
      reader.close();
    });
    await checkHistories(store, (sql) => Promise.resolve(reader.prepare(sql).all()));
  });
});
