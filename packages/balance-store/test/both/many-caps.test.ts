/**
 * An account has thousands of keys with a cap each: a request reads the budgets of its own key, not
 * those of others. These tests look at plans and at how many rows were read, not at times.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from '@jest/globals';
import { Client } from 'pg';
import { openEmbeddedStore } from '../../src/embedded/index.js';
import { ledgerFile } from '../../src/embedded/open.js';
import { findBudgets, readUses } from '../../src/embedded/sqlite/budgets.js';
import { openReader } from '../../src/embedded/sqlite/connection.js';
import { readStanding } from '../../src/embedded/sqlite/keys.js';
import type { BalanceStore } from '../../src/index.js';
import { placeQueryOf } from '../../src/postgres/holds.js';
import { openPostgresStore } from '../../src/postgres/index.js';
import { settleQueryOf } from '../../src/postgres/settle.js';
import { standingsQueryOf } from '../../src/postgres/standing-reader.js';
import { sampleLimits, settlement } from '../../src/testing/index.js';
import { querySql, usePostgresServer } from '../postgres-server.js';
import { rewriteLedger } from '../rewrite-ledger.js';
import { plansOf } from '../sqlite-plans.js';

const PEPPER = 'pepper of the tests';
const BY = { name: 'tests' };
const USD = 10n ** 14n;
const CAPS = 3_000;

const closing: (() => unknown)[] = [];
afterAll(async () => {
  for (const close of closing.reverse()) await close();
});

/** An account with a capped key, another key, and thousands of caps of others. */
async function fill(store: BalanceStore) {
  const key = { name: 'k', limits: sampleLimits, expiresAt: null };
  const credit = { amount: USD, source: 'paid' } as const;
  const capped = { ...key, caps: { day: USD, total: USD } };
  const created = await store.create({ account: { name: 'a' }, key: capped, credit, by: BY });
  if (created.outcome !== 'created') throw new Error(created.outcome);
  const { id: accountId } = created.account;
  const other = await store.create({ account: { id: accountId }, key, by: BY });
  if (other.outcome !== 'created') throw new Error(other.outcome);
  return { accountId, cappedId: created.key?.id ?? '', otherId: other.key?.id ?? '' };
}

/** Each is a copy of the key's own cap. */
function copies(numbers: string): string {
  const columns = 'account_id, name, scope, amount, period, zone, action, created_at, is_cap';
  return (
    `INSERT INTO budget (id, subject, ${columns}) SELECT 'cap_day_key_' || n.i, 'key_' || n.i, ` +
    `${columns} FROM budget, ${numbers} WHERE period = 'day'`
  );
}

it('are not read for the requests of one key on SQLite', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'many-caps-'));
  closing.push(() => {
    rmSync(dataDir, { recursive: true });
  });
  const store = await openEmbeddedStore({ dataDir, pepper: PEPPER });
  closing.push(() => store.close());
  const { accountId, cappedId, otherId } = await fill(store);
  await store.settle(settlement(cappedId), { deadlineMs: 20_000 });
  const numbers =
    `(WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${String(CAPS)}) ` +
    'SELECT i FROM n) n';
  await rewriteLedger({ dataDir }, copies(numbers));
  const reader = openReader(ledgerFile(dataDir));
  closing.push(() => {
    reader.close();
  });
  const request = {
    accountId,
    keyId: cappedId,
    spender: { memberId: 'm', groups: '/g/', tag: 't' },
  };
  let found = 0;
  const plans = await plansOf(reader, (recording) => {
    readStanding(recording, cappedId);
    const budgets = findBudgets(recording, request);
    found = readUses(recording, budgets, request, Date.now()).length;
  });
  expect(found).toBe(2);
  const ofBudgets = plans.filter((step) => /^(SCAN|SEARCH) (budget|b)\b/.test(step));
  expect(ofBudgets.length).toBeGreaterThanOrEqual(3);
  const isOwn =
    /INDEX (budget_live_idx \(account_id=\? AND subject=\?|budget_not_cap_idx|.*\(id=\?\))/;
  expect(ofBudgets.filter((step) => !isOwn.test(step))).toEqual([]);
  // A key without caps costs one look at the account's row, and one at the index.
  expect(findBudgets(reader, { ...request, keyId: otherId }).budgets).toEqual([]);
  expect(readStanding(reader, otherId)).not.toHaveProperty('isBudgeted');
});

it('are not read for the requests of one key on PostgreSQL', async () => {
  const server = await usePostgresServer();
  closing.push(() => server.stop());
  const connectionString = await server.createDatabase();
  const store = await openPostgresStore({ connectionString, pepper: PEPPER });
  closing.push(() => store.close());
  const { cappedId, otherId } = await fill(store);
  await querySql(connectionString, copies(`generate_series(1, ${String(CAPS)}) AS n (i)`));
  await querySql(connectionString, 'ANALYZE budget');
  const client = new Client({ connectionString });
  await client.connect();
  closing.push(() => client.end());
  type Query = { readonly text: string; readonly values: readonly unknown[] };
  /** How many rows of budgets a query reads. */
  const budgetsRead = async ({ text, values }: Query) => {
    await client.query('BEGIN');
    // Of this session, since it last published them.
    const readSoFar = async () => {
      const { rows } = await client.query<{ read: string }>(
        'SELECT seq_tup_read + coalesce(idx_tup_fetch, 0) AS read ' +
          "FROM pg_stat_xact_user_tables WHERE relname = 'budget'",
      );
      return Number(rows[0]?.read ?? 0);
    };
    const before = await readSoFar();
    await client.query(text, [...values]);
    const after = await readSoFar();
    await client.query('ROLLBACK');
    return after - before;
  };
  const hold = (keyId: string) => placeQueryOf([{ requestId: 'h', keyId, amount: 1n }], 60_000);
  // Its two caps. A charge reads them to add to them, and again for their events.
  expect([
    await budgetsRead(standingsQueryOf([cappedId])),
    await budgetsRead(hold(cappedId)),
    await budgetsRead(settleQueryOf([settlement(cappedId)])),
  ]).toEqual([2, 2, 5]);
  for (const query of [
    standingsQueryOf([otherId]),
    hold(otherId),
    settleQueryOf([settlement(otherId)]),
  ]) {
    expect(await budgetsRead(query)).toBe(0);
  }
});
