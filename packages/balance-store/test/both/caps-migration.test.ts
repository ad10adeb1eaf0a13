/**
 * The caps of keys that an earlier version set become budgets that have used what the keys have
 * used in the current windows, to the last unit. On both ledgers.
 */

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from '@jest/globals';
import { openEmbeddedStore } from '../../src/embedded/index.js';
import { ledgerFile } from '../../src/embedded/open.js';
import { openWriter } from '../../src/embedded/sqlite/connection.js';
import type { BalanceStore } from '../../src/index.js';
import { capStartAt } from '../../src/ledger/rules/caps.js';
import { numericFromUnits } from '../../src/numeric.js';
import { openPostgresStore } from '../../src/postgres/index.js';
import { sampleLimits, settlement } from '../../src/testing/index.js';
import { waitPastMidnight } from '../../src/testing/midnight.js';
import { querySql, usePostgresServer } from '../postgres-server.js';
import { ageLedger, rewriteLedger } from '../rewrite-ledger.js';
import type { LedgerPlace } from '../rewrite-ledger.js';

const PEPPER = 'pepper of the tests';
const BY = { name: 'tests' };
const DAY_MS = 86_400_000;
const AGE_DAYS = 40;
const USD = 10n ** 14n;
const NAME = '20261130220000_caps_are_budgets';
/** What the migration adds. */
const UNDO =
  'DROP INDEX budget_live_idx; DROP INDEX budget_not_cap_idx; ALTER TABLE budget DROP COLUMN is_cap';
const { amount } = settlement('');

interface Old {
  readonly place: LedgerPlace;
  readonly open: () => Promise<BalanceStore>;
  /** Runs the migration. */
  readonly migrate: () => Promise<void>;
}

const closing: (() => unknown)[] = [];
afterAll(async () => {
  for (const close of closing.reverse()) await close();
});

function onSqlite(): Promise<Old> {
  const dataDir = mkdtempSync(join(tmpdir(), 'caps-migration-'));
  closing.push(() => {
    rmSync(dataDir, { recursive: true });
  });
  return Promise.resolve({
    place: { dataDir },
    open: () => openEmbeddedStore({ dataDir, pepper: PEPPER }),
    migrate() {
      const connection = openWriter(ledgerFile(dataDir), { checkpoints: false });
      const sql = readFileSync(join(__dirname, `../../sqlite/migrations/${NAME}.sql`), 'utf8');
      connection.write(() => {
        connection.exec(sql);
      });
      connection.close();
      return Promise.resolve();
    },
  });
}

async function onPostgres(): Promise<Old> {
  const server = await usePostgresServer();
  closing.push(() => server.stop());
  const connectionString = await server.createDatabase();
  const file = join(__dirname, `../../prisma/migrations/${NAME}/migration.sql`);
  return {
    place: { databaseUrl: connectionString },
    open: () => openPostgresStore({ connectionString, pepper: PEPPER }),
    async migrate() {
      await querySql(connectionString, readFileSync(file, 'utf8'));
    },
  };
}

/** As the earlier version stored caps, and what a key had used before the windows of `at`. */
function columnsAt(at: number, base: bigint): string {
  const windows = (['day', 'week', 'month'] as const).map((period) => {
    const start = capStartAt(period, at) / DAY_MS;
    return `${period}_start = ${String(start)}, ${period}_base = '${numericFromUnits(base)}'`;
  });
  const caps = ['day', 'week', 'month', 'total'].map(
    (period, index) => `cap_${period} = '${numericFromUnits(BigInt(index + 5) * amount)}'`,
  );
  return [...windows, ...caps].join(', ');
}

it.each([
  ['SQLite', onSqlite],
  ['PostgreSQL', onPostgres],
])('caps of an earlier version go on to count where they were, on %s', async (_name, at) => {
  await waitPastMidnight();
  const { place, open, migrate } = await at();
  const store = await open();
  const key = { name: 'k', limits: sampleLimits, expiresAt: null };
  const credit = { amount: USD, source: 'paid' } as const;
  const created = await store.create({ account: { name: 'a' }, key, credit, by: BY });
  if (created.outcome !== 'created') throw new Error(created.outcome);
  const { id: accountId } = created.account;
  const keyIds = [created.key?.id ?? ''];
  for (let n = 0; n < 3; n += 1) {
    const more = await store.create({ account: { id: accountId }, key, by: BY });
    if (more.outcome === 'created') keyIds.push(more.key?.id ?? '');
  }
  const [used = '', idle = '', unused = '', uncapped = ''] = keyIds;
  const charge = async (by: BalanceStore, keyId: string) => {
    const { outcome } = await by.settle(settlement(keyId), { deadlineMs: 20_000 });
    expect(outcome).toBe('settled');
  };
  for (const keyId of [used, idle, uncapped]) await charge(store, keyId);
  await ageLedger(place, AGE_DAYS);
  for (const keyId of [used, used, uncapped]) await charge(store, keyId);
  const before = await store.listTrail({ limit: 100 });
  await store.close();
  const now = Date.now();
  const set = (keyId: string, columns: string) =>
    `UPDATE api_key SET ${columns} WHERE id = '${keyId}'`;
  await rewriteLedger(
    place,
    [
      set(used, columnsAt(now, amount)),
      set(idle, columnsAt(now - AGE_DAYS * DAY_MS, 0n)),
      set(unused, columnsAt(0, 0n)),
      UNDO,
    ].join('; '),
  );
  await migrate();

  const again = await open();
  const capsOf = async (keyId: string) => {
    const record = await again.getKey(keyId);
    return [record?.caps, record?.used];
  };
  const caps = { day: 5n * amount, week: 6n * amount, month: 7n * amount, total: 8n * amount };
  const sums = (units: bigint) => ({ day: units, week: units, month: units });
  const none = { day: null, week: null, month: null, total: null };
  expect(await capsOf(used)).toEqual([caps, { ...sums(2n * amount), total: 3n * amount }]);
  expect(await capsOf(idle)).toEqual([caps, { ...sums(0n), total: amount }]);
  expect(await capsOf(unused)).toEqual([caps, { ...sums(0n), total: 0n }]);
  expect(await capsOf(uncapped)).toEqual([none, { ...none, total: 2n * amount }]);
  expect((await again.audit()).differences).toEqual([]);
  for (const keyId of [used, used, idle, unused, uncapped]) await charge(again, keyId);
  expect(await again.readStanding(used)).toMatchObject({
    cap: { period: 'day', cap: 5n * amount, used: 4n * amount },
  });
  const hold = { requestId: 'h', keyId: used, amount: 2n * amount };
  expect((await again.placeHold(hold)).outcome).toBe('over_budget');
  await again.updateKey(used, { caps: { day: null, week: 9n * amount } }, BY);
  await again.sealEntries({ all: true });
  expect((await again.audit()).differences).toEqual([]);
  const trail = await again.listTrail({ limit: 100 });
  const former = trail.filter(({ seq }) => before.some((row) => row.seq === seq));
  expect(former).toEqual(before);
  expect(trail.filter(({ action }) => action === 'budget.create')).toHaveLength(12);
  await again.close();
});
