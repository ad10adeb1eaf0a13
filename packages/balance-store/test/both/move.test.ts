/** Moving the embedded ledger to PostgreSQL: all rows arrive, and the old ledger stays closed. */

import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { TABLES } from '../../src/generated/tables.js';
import { moveEmbeddedLedger, openEmbeddedStore } from '../../src/embedded/index.js';
import { LedgerMoveError, LedgerMovedError } from '../../src/index.js';
import type { BalanceStore, LedgerEntry, Spender } from '../../src/index.js';
import { openPostgresStore } from '../../src/postgres/index.js';
import { sampleLimits, settlement } from '../../src/testing/index.js';
import { waitPastMidnight } from '../../src/testing/midnight.js';
import { querySql, usePostgresServer } from '../postgres-server.js';
import type { PostgresServer } from '../postgres-server.js';

const PEPPER = 'pepper of the tests';
const DEADLINE = { deadlineMs: 20_000 };

let server: PostgresServer;
let dataDir: string;
beforeAll(async () => {
  server = await usePostgresServer();
  dataDir = mkdtempSync(join(tmpdir(), 'balance-store-'));
});
afterAll(async () => {
  rmSync(dataDir, { recursive: true, force: true });
  await server.stop();
});

async function fill(store: BalanceStore) {
  const { record, credential } = await store.createKey({
    name: 'Ünï "quoted" \\ 🙂',
    limits: { ...sampleLimits, requestsPerMinute: 0.1 },
    expiresAt: new Date('2200-01-01T00:00:00.123Z'),
  });
  const keyId = record.id;
  // More digits than a double has.
  await store.topUp({
    topUpId: '1',
    to: { keyId },
    amount: 12_345_678_901_234_567_891_234n,
    by: { name: 'a' },
  });
  const team = await store.create({
    creationId: 'team',
    account: {
      name: 'Téam',
      externalId: 'e',
      metadata: { a: '"', b: '1' },
      lowBalance: 10n,
      prices: '0.9',
      allowance: 3n,
    },
    key: {
      name: 'k',
      limits: sampleLimits,
      expiresAt: null,
      externalId: 'k',
      metadata: { b: '2', a: '\\' },
      scope: 'manage',
      models: ['m "x"\n\\', 'claude-test'],
      caps: { day: 0n, week: 10n ** 20n, total: 1n },
    },
    credit: { amount: 70n, source: 'promotional', expiresAt: new Date('2200-01-01T00:00:00Z') },
    by: { name: 'a', address: '192.0.2.0/24' },
  });
  if (team.outcome !== 'created' || team.key === undefined) throw new Error(team.outcome);
  const to = { accountId: team.account.id };
  await store.topUp({ topUpId: '2', to, amount: 5n, source: 'promotional', by: { name: 'b' } });
  await store.settle(settlement(team.key.id, { overdraft: 'none' }), DEADLINE);
  await store.adjust({
    adjustmentId: '3',
    accountId: team.account.id,
    amount: 20n,
    reason: 'goodwill',
    note: 'a note\n',
    reference: 'r',
    by: { name: 'b' },
  });
  await store.rotateKey(team.key.id, { graceMs: 3_600_000_000, by: { name: 'b' } });
  await store.updateKey(team.key.id, { name: 'later' });
  const [due] = await store.takeDueEvents({ channel: 'webhook', limit: 1, leaseMs: 1 });
  const failed = { outcome: 'failed', error: 'é', retryAt: new Date('2200-01-01') } as const;
  await store.finishEvent('webhook', due?.seq ?? 0n, failed);
  const charges = Array.from({ length: 1_200 }, (_, index) =>
    settlement(keyId, { usage: { inputTokens: index, outputTokens: 1 }, upstreamId: undefined }),
  );
  await Promise.all(charges.map((charge) => store.settle(charge, DEADLINE)));
  await store.sealEntries({ all: true });
  // Sums of hours that are rolled up, beside sums of the charges that come later.
  await store.rollUpUsage({ before: new Date('2200-01-01') });
  const spender = await addSpender(store, keyId);
  await store.settle(settlement(keyId, { spender }), DEADLINE);
  await store.settle(settlement(keyId, { model: 'm "x"\n\\' }), DEADLINE);
  await store.settle({ ...charges[0]!, model: 'another' }, DEADLINE);
  await store.quarantine({ requestId: 'q', keyId, model: 'm', reason: 'r' });
  await store.writeDocument({
    kind: 'written_event',
    id: 'd',
    accountId: team.account.id,
    version: 0,
    data: { b: { z: 'é', a: [1, { y: null, x: true }] }, a: 'first' },
    balanceBelow: -1n,
  });
  await store.placeHold({ requestId: 'h', keyId, amount: 7n });
  return { keyId, credential };
}

/** A member with a budget that was raised. */
async function addSpender(store: BalanceStore, keyId: string): Promise<Spender> {
  const accountId = (await store.getKey(keyId))?.accountId ?? '';
  const by = { by: { name: 'b' } };
  const group = await store.createGroup({ accountId, name: 'g "x"\n\\' }, by);
  if (group.outcome !== 'created') throw new Error(group.outcome);
  const of = { accountId, groupId: group.record.id, name: 'é', email: 'x@y.org' };
  const member = await store.createMember(of, by);
  if (member.outcome !== 'created') throw new Error(member.outcome);
  const terms = { scope: 'member', period: 'month', zone: 'Asia/Kolkata' } as const;
  const amount = 10n ** 20n;
  const budget = await store.createBudget({ accountId, name: 'b', amount, ...terms }, by);
  if (budget.outcome !== 'created') throw new Error(budget.outcome);
  const until = new Date('2200-01-01T00:00:00Z');
  await store.raiseBudget({ budgetId: budget.record.id, amount: 1n, until }, by);
  return { memberId: member.record.id, groups: group.record.path, tag: 't "x"\\', run: 'é' };
}

async function everything(store: BalanceStore) {
  const entries: LedgerEntry[] = [];
  for (let cursor: string | undefined; ;) {
    const page = await store.listEntries({
      limit: 500,
      ...(cursor === undefined ? {} : { cursor }),
    });
    entries.push(...page.entries);
    cursor = page.next;
    if (cursor === undefined) break;
  }
  const accounts = await store.listAccounts({ limit: 10 });
  const always = { from: new Date(0), until: new Date('2200-01-01') };
  return {
    entries,
    keys: await store.listKeys({ limit: 10 }),
    accounts,
    members: await Promise.all(
      accounts.map(({ id }) => store.listMembers({ accountId: id, limit: 10 })),
    ),
    budgets: await Promise.all(
      accounts.map(({ id }) => store.listBudgets({ accountId: id, limit: 10 })),
    ),
    unspent: await Promise.all(accounts.map(({ id }) => store.readUnspent(id))),
    usage: await store.readUsage({
      by: ['hour', 'account', 'key', 'model', 'endpoint'],
      byRates: true,
      ...always,
    }),
    events: await store.listEvents({ limit: 100 }),
    documents: await store.listDocuments({ kind: 'written_event', limit: 100 }),
    trail: await store.listTrail({ limit: 100 }),
    audit: await store.audit(),
    holds: await store.listHolds({ state: 'live', limit: 10 }),
  };
}

it('moves every row unchanged, once, and leaves the embedded ledger closed permanently', async () => {
  // Otherwise the target could report caps of another day than the source.
  await waitPastMidnight(120_000);
  const connectionString = await server.createDatabase();
  const source = await openEmbeddedStore({ dataDir, pepper: PEPPER });
  const { keyId, credential } = await fill(source);
  const before = await everything(source);
  expect(before.audit).toMatchObject({ isSound: true, sealed: 1_205, conflicts: 1 });
  // A ledger that is in use cannot be moved.
  const move = () => moveEmbeddedLedger({ dataDir, pepper: PEPPER, connectionString });
  await expect(move()).rejects.toThrow('open in another gateway');
  await source.close();

  const { rows, audit } = await move();
  const {
    usage_hour: sums = 0,
    usage_day: days = 0,
    money_hour: sides = 0,
    ...counts
  } = Object.fromEntries(rows);
  expect(sides).toBeGreaterThan(0);
  expect(counts).toEqual({
    account: 2,
    api_key: 2,
    ledger: 1_207,
    credit_lot: 3,
    creation: 1,
    event: 8,
    // One of the test, and what the operator set for two keys.
    document: 3,
    trail: 14,
    personal_text: 8,
    hold: 1,
    ledger_block: 5,
    ledger_seal: 7,
    ledger_archive: 0,
    ledger_carry: 0,
    closed_month: 0,
    issued_statement: 0,
    spend_group: 1,
    member: 1,
    budget: 4,
    budget_raise: 1,
    budget_use: 4,
    spender: 1,
    spender_hour: 1,
    quarantine: 1,
    settle_conflict: 1,
  });
  expect(sums).toBeGreaterThanOrEqual(4);
  expect(days).toBeGreaterThanOrEqual(5);
  expect(audit).toEqual(before.audit);
  await expect(openEmbeddedStore({ dataDir, pepper: PEPPER })).rejects.toThrow(LedgerMovedError);
  await expect(move()).rejects.toThrow(LedgerMovedError);

  const target = await openPostgresStore({ connectionString, pepper: PEPPER });
  expect(await everything(target)).toEqual(before);
  expect((await target.findKeyByCredential(credential))?.id).toBe(keyId);
  // Every table of the schema is among those that are copied, but for the record of requests.
  const apart = Object.values(TABLES).flatMap(({ isApart, table }) => (isApart ? [table] : []));
  const tables = await querySql(
    connectionString,
    "SELECT tablename FROM pg_tables WHERE schemaname = 'public' " +
      "AND tablename NOT IN ('_prisma_migrations', 'schema_function') ORDER BY tablename",
  );
  expect(tables.map(({ tablename }) => tablename)).toEqual([...rows.keys(), ...apart].sort());
  // The numbers of events and of the trail continue, and the chain continues from the same block.
  const next = await target.create({ account: { name: 'n' }, by: { name: 'a' } });
  expect(next.outcome).toBe('created');
  await target.suspendKey(keyId);
  await target.resumeKey(keyId);
  expect((await target.sealEntries())?.block).toBe(6n);
  expect((await target.settle(settlement(keyId), DEADLINE)).outcome).toBe('settled');
  await target.close();
});

it('lets no command that has the ledger open write to it during the move or after it', async () => {
  const ownDir = mkdtempSync(join(tmpdir(), 'balance-store-'));
  const source = await openEmbeddedStore({ dataDir: ownDir, pepper: PEPPER });
  const { keyId } = await fill(source);
  await source.close();
  const guest = await openEmbeddedStore({ dataDir: ownDir, pepper: PEPPER, access: 'guest' });
  const credit = async (store: BalanceStore, topUpId: string) =>
    (await store.topUp({ topUpId, to: { keyId }, amount: 1n, by: { name: 'guest' } })).outcome;
  const connectionString = await server.createDatabase();
  const moving = moveEmbeddedLedger({ dataDir: ownDir, pepper: PEPPER, connectionString });
  let isMoved = false;
  void moving.finally(() => (isMoved = true)).catch(() => undefined);
  const credited: string[] = [];
  for (let number = 0; !isMoved; number += 1) {
    const id = `during ${String(number)}`;
    await credit(guest, id).then(
      () => credited.push(id),
      () => undefined,
    );
  }
  await moving;
  await expect(credit(guest, 'after')).rejects.toThrow('was moved to PostgreSQL');
  await guest.close();
  const target = await openPostgresStore({ connectionString, pepper: PEPPER });
  const ids = new Set(
    (await target.listEntries({ kind: 'top_up', limit: 1_000 })).entries.map(({ id }) => id),
  );
  expect(credited.filter((id) => !ids.has(`topup:${id}`))).toEqual([]);
  await target.close();
  rmSync(ownDir, { recursive: true, force: true });
});

it('repeats a move that was cut off before it wrote its mark, and refuses a target with rows of another ledger', async () => {
  const ownDir = mkdtempSync(join(tmpdir(), 'balance-store-'));
  const source = await openEmbeddedStore({ dataDir: ownDir, pepper: PEPPER });
  await fill(source);
  await source.close();
  const occupied = await server.createDatabase();
  const other = await openPostgresStore({ connectionString: occupied, pepper: PEPPER });
  await other.createKey({ name: 'k', limits: sampleLimits, expiresAt: null });
  const before = await everything(other);
  const move = (connectionString: string) =>
    moveEmbeddedLedger({ dataDir: ownDir, pepper: PEPPER, connectionString });
  await expect(move(occupied)).rejects.toThrow(LedgerMoveError);
  expect(await everything(other)).toEqual(before);
  await other.close();

  const connectionString = await server.createDatabase();
  const first = await move(connectionString);
  // Simulates a process that died before it wrote the mark.
  rmSync(
    join(
      ownDir,
      readdirSync(ownDir).find((name) => name.startsWith('moved'))!,
    ),
  );
  expect(await move(connectionString)).toEqual(first);
  rmSync(ownDir, { recursive: true, force: true });
});
