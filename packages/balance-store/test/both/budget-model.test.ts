/**
 * Compares random trees of groups, members and budgets, and chains of budgets, with a model:
 * charges as plain data, filtered and summed anew for each question. Two stores serve PostgreSQL,
 * as two gateways do.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { openEmbeddedStore } from '../../src/embedded/index.js';
import type { BalanceStore, BudgetRecord, MemberRecord, Spender } from '../../src/index.js';
import { periodAt } from '../../src/ledger/rules/budgets.js';
import { openPostgresStore } from '../../src/postgres/index.js';
import { sampleLimits, settlement } from '../../src/testing/index.js';
import { querySql, usePostgresServer } from '../postgres-server.js';
import { runs } from '../../../../scripts/runs.cjs';

const PEPPER = 'pepper of the tests';
const DEADLINE = { deadlineMs: 20_000 };
const BY = { by: { name: 'model' } };
const USD = 10n ** 14n;
const ZONES = ['UTC', 'Europe/Berlin', 'America/New_York', 'Asia/Kolkata', 'Australia/Lord_Howe'];
const SCOPES = ['account', 'group', 'member', 'key', 'tag', 'run', 'reserve'] as const;
const MAX_CHAIN = 4;

/** A charge or a hold, as plain data. */
interface Spent {
  readonly key: string;
  readonly member: string;
  readonly groups: readonly string[];
  readonly tag: string;
  readonly run: string;
  readonly amount: bigint;
  readonly requestId: string;
}

/** A part of a charge that a reserve paid for another budget. */
interface Part {
  readonly budgetId: string;
  readonly paidBy: string;
  readonly amount: bigint;
}

interface Kept {
  readonly record: BudgetRecord;
  amount: bigint;
  thenId: string | null;
  /** By subject; empty: everybody's. */
  readonly raises: Map<string, bigint>;
}

interface World {
  readonly stores: readonly BalanceStore[];
  readonly accountId: string;
  readonly keys: readonly string[];
  readonly groups: Map<string, readonly string[]>;
  readonly members: Map<string, MemberRecord>;
  readonly budgets: Map<string, Kept>;
  readonly charges: (Spent & { readonly parts: readonly Part[] })[];
  readonly holds: Map<string, Spent>;
  readonly random: (below: number) => number;
  readonly hasChains: boolean;
}

/** The same choices for the same seed. */
function choices(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

function oneOf<Item>({ random }: Pick<World, 'random'>, items: readonly Item[]): Item | undefined {
  return items[random(items.length)];
}

/** Of which subject of a budget a charge is; undefined: of none. Written apart from the store. */
function whose({ scope, subject, withinGroup }: BudgetRecord, of: Spent): string | undefined {
  if (withinGroup !== null && !of.groups.includes(withinGroup)) return undefined;
  if (scope === 'account') return '';
  if (scope === 'reserve') return undefined;
  if (scope === 'group') return of.groups.includes(subject ?? '') ? '' : undefined;
  const own = { member: of.member, key: of.key, tag: of.tag, run: of.run }[scope];
  if (own === '') return undefined;
  if (subject === null) return own;
  return subject === own ? '' : undefined;
}

function sumOf(spent: Iterable<Spent>, budget: BudgetRecord, subject: string): bigint {
  let sum = 0n;
  for (const one of spent) if (whose(budget, one) === subject) sum += one.amount;
  return sum;
}

function most(amounts: readonly bigint[]): bigint {
  return amounts.reduce((a, b) => (a > b ? a : b), 0n);
}

/** What its charges cost, less what others paid of them, or what it paid for others. */
function usedOf({ charges }: World, { record }: Kept, subject: string): bigint {
  const partsWith = (name: 'budgetId' | 'paidBy', parts: readonly Part[]) =>
    parts.filter((part) => part[name] === record.id).map(({ amount }) => amount);
  if (record.scope === 'reserve') {
    return charges.reduce((sum, { parts }) => sum + most(partsWith('paidBy', parts)), 0n);
  }
  return charges
    .filter((one) => whose(record, one) === subject)
    .flatMap(({ amount, parts }) => [amount, ...partsWith('budgetId', parts).map((part) => -part)])
    .reduce((sum, part) => sum + part, 0n);
}

function amountOf({ amount, raises }: Kept, subject: string): bigint {
  return amount + (raises.get('') ?? 0n) + (subject === '' ? 0n : (raises.get(subject) ?? 0n));
}

function leftOf(world: World, kept: Kept, subject: string): bigint {
  return most([amountOf(kept, subject) - usedOf(world, kept, subject)]);
}

/** A budget and those that pay after it. */
function chainFrom({ budgets }: Pick<World, 'budgets'>, kept: Kept): readonly Kept[] {
  const next = kept.thenId === null ? undefined : budgets.get(kept.thenId);
  return next === undefined ? [kept] : [kept, ...chainFrom({ budgets }, next)];
}

/** What these holds may use of a reserve: what does not fit into those that it pays for. */
function neededOf(world: World, reserve: Kept, holds: readonly Spent[]): bigint {
  let sum = 0n;
  for (const kept of world.budgets.values()) {
    if (kept.thenId !== reserve.record.id) continue;
    if (kept.record.scope === 'reserve') {
      sum += most([neededOf(world, kept, holds) - leftOf(world, kept, '')]);
      continue;
    }
    const subjects = new Set(holds.map((hold) => whose(kept.record, hold)));
    for (const subject of subjects) {
      if (subject === undefined) continue;
      sum += most([sumOf(holds, kept.record, subject) - leftOf(world, kept, subject)]);
    }
  }
  return sum;
}

/** The budgets that count a request, and the reserves of their chains. */
function statesOf(world: World, asked: Spent) {
  const holds = [...world.holds.values()];
  const reserves = new Set<Kept>();
  const own = [...world.budgets.values()].flatMap((kept) => {
    const subject = whose(kept.record, asked);
    if (subject === undefined) return [];
    for (const reserve of chainFrom(world, kept).slice(1)) reserves.add(reserve);
    return [{ kept, subject, held: sumOf(holds, kept.record, subject) }];
  });
  const paying = [...reserves].map((kept) => {
    return { kept, subject: '', held: neededOf(world, kept, holds) };
  });
  return [...own, ...paying].map(({ kept, subject, held }) => ({
    id: kept.record.id,
    subject,
    amount: amountOf(kept, subject),
    used: usedOf(world, kept, subject),
    held,
  }));
}

/** Whether a budget, or a chain, that refuses requests lacks room for this one. */
function isLacking(world: World, asked: Spent): boolean {
  const holds = [...world.holds.values()];
  return [...world.budgets.values()].some((kept) => {
    const subject = whose(kept.record, asked);
    const chain = chainFrom(world, kept);
    if (subject === undefined || chain.some(({ record }) => record.action !== 'refuse'))
      return false;
    const lefts = chain.map((one) => leftOf(world, one, one === kept ? subject : ''));
    if (lefts.every((left) => left === 0n)) return true;
    const last = chain.at(-1);
    if (last === undefined || last === kept) {
      const used = usedOf(world, kept, subject) + sumOf(holds, kept.record, subject);
      return used + asked.amount > amountOf(kept, subject);
    }
    const [before, after] = [holds, [...holds, asked]].map((of) => neededOf(world, last, of));
    return (after ?? 0n) > most([lefts.at(-1) ?? 0n, before ?? 0n]);
  });
}

/** What reserves pay of a charge that is booked now. */
function partsOf(world: World, of: Spent): readonly Part[] {
  return [...world.budgets.values()].flatMap((kept) => {
    const subject = whose(kept.record, of);
    const [, ...reserves] = chainFrom(world, kept);
    if (subject === undefined || reserves.length === 0) return [];
    let rest = most([of.amount - leftOf(world, kept, subject)]);
    const parts: Part[] = [];
    for (const reserve of reserves) {
      const left = leftOf(world, reserve, '');
      const amount = reserve === reserves.at(-1) || rest < left ? rest : left;
      rest -= amount;
      const { id: paidBy } = reserve.record;
      if (amount > 0n) parts.push({ budgetId: kept.record.id, paidBy, amount });
    }
    return parts;
  });
}

function newSpent(world: World): Spent {
  const { random } = world;
  const member = random(4) === 0 ? undefined : oneOf(world, [...world.members.values()]);
  const usage = { inputTokens: 1 + random(3_000), outputTokens: random(300) };
  const { amount } = settlement('', { usage });
  return {
    key: oneOf(world, world.keys) ?? '',
    member: member?.id ?? '',
    groups: member?.groups.split('/').filter((id) => id !== '') ?? [],
    tag: random(3) === 0 ? `tag ${String(random(3))}` : '',
    run: random(3) === 0 ? `run ${String(random(3))}` : '',
    amount,
    requestId: `req_${world.accountId}_${String(random(2 ** 31))}`,
  };
}

function spenderIn({ member, groups, tag, run }: Spent): Spender {
  return {
    ...(member === '' ? {} : { memberId: member }),
    ...(groups.length === 0 ? {} : { groups: `/${groups.join('/')}/` }),
    ...(tag === '' ? {} : { tag }),
    ...(run === '' ? {} : { run }),
  };
}

/** A settlement of exactly this amount. */
async function charge(world: World, store: BalanceStore, of: Spent): Promise<void> {
  const inputTokens = Number(of.amount / 300_000_000n);
  const parts = { requestId: of.requestId, usage: { inputTokens }, spender: spenderIn(of) };
  const settled = settlement(of.key, parts);
  expect((await store.settle(settled, DEADLINE)).outcome).toBe('settled');
  world.holds.delete(of.requestId);
  const spent = { ...of, amount: settled.amount };
  const paid = partsOf(world, spent);
  const [entry] = await store.findEntries([of.requestId]);
  const byId = (a: Part, b: Part) => (a.budgetId + a.paidBy < b.budgetId + b.paidBy ? -1 : 1);
  const recorded = entry?.kind === 'charge' ? entry.parts : [];
  expect(recorded.toSorted(byId)).toEqual(paid.toSorted(byId));
  world.charges.push({ ...spent, parts: paid });
}

/** A reserve that a budget may have as its next one, or none. */
function anyReserve(world: World): string | undefined {
  const reserves = [...world.budgets.values()].filter(({ record }) => record.scope === 'reserve');
  return oneOf(world, reserves)?.record.id;
}

/** Whether no chain is too long, or has no end, once this budget has that next one. */
function isFit({ budgets }: World, id: string, thenId: string): boolean {
  const nexts = new Map([...budgets].map(([of, kept]) => [of, kept.thenId]));
  nexts.set(id, thenId);
  return [...nexts.keys()].every((first) => {
    const chain = [first];
    for (let n = 0; n < MAX_CHAIN; n += 1) {
      const next = nexts.get(chain.at(-1) ?? '') ?? null;
      if (next === null) return true;
      chain.push(next);
    }
    return false;
  });
}

async function addBudget(
  world: World,
  store: BalanceStore,
  { scope, thenId }: { readonly scope: (typeof SCOPES)[number]; readonly thenId?: string },
): Promise<string | undefined> {
  const { random, accountId } = world;
  const group = oneOf(world, [...world.groups.keys()]) ?? null;
  if (scope === 'group' && group === null) return undefined;
  const isOne = scope === 'account' || scope === 'group' || scope === 'reserve';
  const isEach = !isOne && random(2) === 0;
  const own = {
    account: null,
    reserve: null,
    group,
    member: oneOf(world, [...world.members.keys()]) ?? null,
    key: oneOf(world, world.keys) ?? null,
    tag: 'tag 1',
    run: 'run 1',
  }[scope];
  const created = await store.createBudget(
    {
      accountId,
      name: 'a budget',
      scope,
      subject: isEach ? null : own,
      withinGroup: isEach && random(2) === 0 ? group : null,
      amount: BigInt(random(200)) * 10n ** 11n,
      period: (['day', 'week', 'month'] as const)[random(3)] ?? 'day',
      zone: oneOf(world, ZONES) ?? 'UTC',
      action: random(5) === 0 ? 'notify' : 'refuse',
      ...(thenId === undefined ? {} : { thenId }),
    },
    BY,
  );
  if (thenId !== undefined && !isFit(world, 'new', thenId)) {
    expect(created.outcome).toBe('unfit_next');
    return undefined;
  }
  if (created.outcome !== 'created') throw new Error(created.outcome);
  const { record } = created;
  const { amount } = record;
  world.budgets.set(record.id, { record, amount, thenId: thenId ?? null, raises: new Map() });
  return record.id;
}

/** A budget of any scope, of which half have a next one. */
async function addAnyBudget(world: World, store: BalanceStore): Promise<void> {
  const { random } = world;
  const scope = SCOPES[random(SCOPES.length)] ?? 'account';
  const thenId = random(2) === 0 ? anyReserve(world) : undefined;
  await addBudget(world, store, { scope, ...(thenId === undefined ? {} : { thenId }) });
}

/** Chains that end with the same reserves. */
async function addChains(world: World, store: BalanceStore): Promise<void> {
  const last = (await addBudget(world, store, { scope: 'reserve' })) ?? '';
  const third = (await addBudget(world, store, { scope: 'reserve', thenId: last })) ?? '';
  const second = (await addBudget(world, store, { scope: 'reserve', thenId: third })) ?? '';
  for (const thenId of [last, third, second]) {
    for (const scope of ['account', 'key', 'tag'] as const) {
      if (world.random(2) === 0) await addBudget(world, store, { scope, thenId });
    }
  }
}

/** Of what a step is in a world with chains: mostly of holds and charges. */
const STEPS_WITH_CHAINS = [1, 3, 4, 5, 5, 5, 6, 7, 7, 8];

async function step(world: World): Promise<void> {
  const { random, accountId } = world;
  const store = oneOf(world, world.stores);
  const asked = newSpent(world);
  if (store === undefined) throw new Error('no store');
  const kind = random(10);
  switch (world.hasChains ? STEPS_WITH_CHAINS[kind] : kind) {
    case 0: {
      const parentId = random(3) === 0 ? undefined : oneOf(world, [...world.groups.keys()]);
      const created = await store.createGroup({ accountId, parentId, name: 'g' }, BY);
      if (created.outcome !== 'created') break;
      world.groups.set(
        created.record.id,
        created.record.path.split('/').filter((id) => id !== ''),
      );
      break;
    }
    case 1: {
      const groupId = oneOf(world, [...world.groups.keys()]);
      const created = await store.createMember({ accountId, groupId, name: 'm' }, BY);
      if (created.outcome !== 'created') throw new Error(created.outcome);
      world.members.set(created.record.id, created.record);
      break;
    }
    case 2: {
      const member = oneOf(world, [...world.members.keys()]);
      const groupId = oneOf(world, [...world.groups.keys()]) ?? null;
      if (member === undefined) break;
      const moved = await store.updateMember(member, { groupId }, BY.by);
      if (typeof moved === 'object') world.members.set(member, moved);
      break;
    }
    case 3:
      await addAnyBudget(world, store);
      break;
    case 4: {
      const kept = oneOf(world, [...world.budgets.values()]);
      if (kept === undefined) break;
      const { id } = kept.record;
      if (random(4) === 0) {
        await store.endBudget(id, BY.by);
        world.budgets.delete(id);
      } else if (random(3) === 0) {
        const thenId = anyReserve(world) ?? null;
        const changed = await store.updateBudget(id, { thenId }, BY.by);
        const fits = thenId === null || isFit(world, id, thenId);
        expect(changed === 'unfit_next').toBe(!fits);
        if (fits) kept.thenId = thenId;
      } else if (random(2) === 0) {
        kept.amount = BigInt(random(300)) * 10n ** 11n;
        await store.updateBudget(id, { amount: kept.amount }, BY.by);
      } else {
        const subject = oneOf(world, ['', 'tag 1', ...world.keys]) ?? '';
        const raise = { budgetId: id, amount: 7n * 10n ** 11n, until: new Date('2200-01-01') };
        await store.raiseBudget(subject === '' ? raise : { ...raise, subject }, BY);
        kept.raises.set(subject, (kept.raises.get(subject) ?? 0n) + raise.amount);
      }
      break;
    }
    case 5:
    case 6: {
      const { requestId, key: keyId, amount } = asked;
      const placed = await store.placeHold({ requestId, keyId, amount, spender: spenderIn(asked) });
      expect(placed.outcome).toBe(isLacking(world, asked) ? 'over_budget' : 'held');
      if (placed.outcome === 'held') world.holds.set(requestId, asked);
      break;
    }
    case 7: {
      const held = oneOf(world, [...world.holds.values()]);
      if (held === undefined) break;
      await charge(world, store, held);
      break;
    }
    default:
      await charge(world, store, asked);
  }
  const found = await store.readBudgets(asked.key, spenderIn(asked));
  const byId = (a: { readonly id: string }, b: { readonly id: string }) => (a.id < b.id ? -1 : 1);
  expect(
    found
      .map(({ budget: { id }, subject, amount, used, held }) => ({
        id,
        subject,
        amount,
        used,
        held,
      }))
      .sort(byId),
  ).toEqual(statesOf(world, asked).sort(byId));
}

async function history(stores: readonly BalanceStore[], seed: number, steps: number) {
  const [store] = stores;
  if (store === undefined) throw new Error('no store');
  const key = { name: 'k', limits: sampleLimits, expiresAt: null };
  const by = BY.by;
  const account = { name: 'model' };
  const credit = { amount: 1_000_000n * USD, source: 'paid' } as const;
  const created = await store.create({ account, key, credit, by });
  if (created.outcome !== 'created') throw new Error(created.outcome);
  const { id: accountId } = created.account;
  const keys = [created.key?.id ?? ''];
  for (let n = 0; n < 3; n += 1) {
    const more = await store.create({ account: { id: accountId }, key, by });
    if (more.outcome === 'created') keys.push(more.key?.id ?? '');
  }
  const world: World = {
    stores,
    accountId,
    keys,
    groups: new Map(),
    members: new Map(),
    budgets: new Map(),
    charges: [],
    holds: new Map(),
    random: choices(seed),
    hasChains: seed % 2 === 0,
  };
  if (world.hasChains) await addChains(world, store);
  for (let n = 0; n < steps; n += 1) await step(world);
  const total = world.charges.reduce((sum, { amount }) => sum + amount, 0n);
  expect((await store.getAccount(accountId))?.spent).toBe(total);
}

/** The test must not run while a period begins somewhere: each starts at a quarter of an hour. */
async function awayFromPeriods(): Promise<void> {
  const quarter = 900_000;
  const left = quarter - (Date.now() % quarter);
  if (left < 60_000) await new Promise((resolve) => setTimeout(resolve, left + 1_000));
}

describe('budgets', () => {
  const directory = mkdtempSync(join(tmpdir(), 'balance-store-budgets-'));
  const closing: (() => Promise<void>)[] = [];
  afterAll(async () => {
    for (const close of closing.reverse()) await close();
    rmSync(directory, { recursive: true });
  });

  it('of random trees agree with the model on SQLite, at every step', async () => {
    const store = await openEmbeddedStore({ dataDir: directory, pepper: PEPPER });
    closing.push(() => store.close());
    for (let seed = 1; seed <= runs(__filename, 'histories'); seed += 1) {
      await awayFromPeriods();
      await history([store], seed, 120);
    }
    expect((await store.audit()).differences).toEqual([]);
  });

  it('of random trees agree with the model on PostgreSQL, whichever of two stores is asked', async () => {
    const server = await usePostgresServer();
    closing.push(() => server.stop());
    const connectionString = await server.createDatabase();
    const open = async () => {
      const store = await openPostgresStore({ connectionString, pepper: PEPPER });
      closing.push(() => store.close());
      return store;
    };
    const stores = [await open(), await open()];
    for (let seed = 1; seed <= runs(__filename, 'histories'); seed += 1) {
      await awayFromPeriods();
      await history(stores, seed, 120);
    }
    expect((await stores[0]?.audit())?.differences).toEqual([]);
  });

  it('begin their periods at the same moments on both databases', async () => {
    const server = await usePostgresServer();
    closing.push(() => server.stop());
    const connectionString = await server.createDatabase();
    await (await openPostgresStore({ connectionString, pepper: PEPPER })).close();
    const zones = [...ZONES, 'America/Sao_Paulo', 'Asia/Beirut', 'America/Havana', 'Pacific/Apia'];
    const random = choices(7);
    const wrong: string[] = [];
    for (const zone of zones) {
      const times = Array.from({ length: 150 }, () => 1_000 * random(2_000_000_000));
      // Around the changes of clocks in spring and autumn.
      for (const day of ['2018-11-04', '2026-03-29', '2026-10-25', '2026-11-01', '2025-03-30']) {
        const at = Date.parse(`${day}T00:00:00Z`);
        for (let quarter = -60; quarter < 60; quarter += 1) times.push(at + quarter * 900_000);
      }
      for (const period of ['day', 'week', 'month'] as const) {
        const rows = await querySql<{ ms: string; start: string }>(
          connectionString,
          'SELECT t::text AS ms, (extract(epoch FROM date_trunc($1, ' +
            "'epoch'::timestamptz + t * interval '1 millisecond', $2)) * 1000)::bigint::text AS start " +
            'FROM unnest($3::bigint[]) t',
          [period, zone, `{${times.join(',')}}`],
        );
        for (const { ms, start } of rows) {
          const found = periodAt({ period, zone, fromAt: null, untilAt: null }, Number(ms));
          if (found?.start !== Number(start))
            wrong.push(`${zone} ${period} ${ms}: ${start}, not ${String(found?.start)}`);
        }
      }
    }
    expect(wrong).toEqual([]);
  });
});
