/** Closed months and issued statements, on both ledgers. */

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { openEmbeddedStore } from '../../src/embedded/index.js';
import { compareWithClosing } from '../../src/index.js';
import type { BalanceStore, BookPage } from '../../src/index.js';
import { openPostgresStore } from '../../src/postgres/index.js';
import { sampleLimits, settlement } from '../../src/testing/index.js';
import { ageLedger, rewriteLedger, timeLiteral } from '../rewrite-ledger.js';
import type { LedgerPlace } from '../rewrite-ledger.js';
import { usePostgresServer } from '../postgres-server.js';
import type { PostgresServer } from '../postgres-server.js';

const PEPPER = 'pepper of the tests';
const HOOKS = join(__dirname, '../run-typescript.mjs');
const BY = { name: 'tests' };
const USD = 10n ** 14n;
const DAY_MS = 86_400_000;
const DAYS = 40;
const today = Math.floor(Date.now() / DAY_MS) * DAY_MS;
const FIRST = { from: new Date(today - 45 * DAY_MS), until: new Date(today - 30 * DAY_MS) };
const SECOND = { from: FIRST.until, until: new Date(today - 10 * DAY_MS) };

let server: PostgresServer;
beforeAll(async () => {
  server = await usePostgresServer();
});
afterAll(() => server.stop());

describe.each(['embedded', 'postgres'] as const)('months that close (%s)', (kind) => {
  let store: BalanceStore;
  let at: string;
  let place: LedgerPlace;
  let accountIds: readonly string[];
  const folder = mkdtempSync(join(tmpdir(), 'closings-'));

  async function open(): Promise<BalanceStore> {
    return kind === 'embedded'
      ? openEmbeddedStore({ dataDir: at, pepper: PEPPER })
      : openPostgresStore({ connectionString: at, pepper: PEPPER });
  }

  beforeAll(async () => {
    at = kind === 'embedded' ? folder : await server.createDatabase();
    place = kind === 'embedded' ? { dataDir: at } : { databaseUrl: at };
    store = await open();
    const ids: string[] = [];
    for (const name of ['one', 'two', 'three']) {
      const created = await store.create({
        account: { name },
        key: { name, limits: sampleLimits, expiresAt: null },
        credit: { amount: 10n * USD, source: 'paid' },
        by: BY,
      });
      if (created.outcome !== 'created' || created.key === undefined) throw new Error('none');
      ids.push(created.account.id);
      await store.topUp({
        topUpId: `gift ${name}`,
        to: { accountId: created.account.id },
        amount: USD / 10_000n,
        source: 'promotional',
        by: BY,
      });
      await store.settle(settlement(created.key.id, { cost: 3n }), { deadlineMs: 20_000 });
    }
    accountIds = ids;
    await ageLedger(place, DAYS);
  });
  afterAll(async () => {
    await store.close();
    rmSync(folder, { recursive: true });
  });

  const read = (range: typeof FIRST) => store.readBooks({ ...range, limit: 100 });
  const sideOf = ({ sideTotals }: BookPage, side: string, isBefore = false) =>
    sideTotals.find((sum) => sum.side === side && sum.isBefore === isBefore)?.amount;

  it('reads what moved between the sides of the books, before and within a range', async () => {
    const page = await read(FIRST);
    expect(page.sideTotals.reduce((sum, { amount }) => sum + amount, 0n)).toBe(0n);
    expect(sideOf(page, 'cash:manual')).toBe(-30n * USD);
    expect(sideOf(page, 'given')).toBe((-3n * USD) / 10_000n);
    // Each charge costs more than the gift, which is used first.
    expect(sideOf(page, 'redeemed')).toBe((3n * USD) / 10_000n);
    expect(page.sides.filter(({ accountId }) => accountId === accountIds[0])).toHaveLength(5);
    expect(page.unopened).toEqual([]);
    const later = await read(SECOND);
    expect(sideOf(later, 'cash:manual', true)).toBe(-30n * USD);
    expect(later.sideTotals.filter(({ isBefore }) => !isBefore)).toEqual([]);
  });

  // F498: the books of a month in which an account got its entry "opening" could not be read, and
  // what nobody recorded before it was counted as paid.
  it('names the accounts whose sides are not known before their entry "opening"', async () => {
    const [accountId = ''] = accountIds;
    const columns =
      '(id, account_id, seq, kind, delta, balance_after, input_hash, created_at, actor, reason, counter)';
    const zero = "'0.00000000000000'";
    const hash = kind === 'embedded' ? "x'00'" : "'\\x00'::bytea";
    const time = timeLiteral(place, new Date(FIRST.until.getTime() + DAY_MS));
    await rewriteLedger(
      place,
      `INSERT INTO ledger ${columns} VALUES ('opening:test', '${accountId}', 99, 'adjustment', ` +
        `${zero}, ${zero}, ${hash}, ${time}, 'opening', 'opening', 'unknown')`,
    );
    expect((await read(FIRST)).unopened).toEqual([{ accountId, isAtEnd: true }]);
    const second = await read(SECOND);
    expect(second.unopened).toEqual([{ accountId, isAtEnd: false }]);
    expect(second.unopenedTotal).toEqual({ accountId: '', isAtEnd: false });
    expect(second.totals.map(({ reason }) => reason)).toContain('opening');
    await rewriteLedger(place, "DELETE FROM ledger WHERE id = 'opening:test'");
    expect((await read(SECOND)).unopenedTotal).toBeUndefined();
  });

  // F499: two gateways close a month at once, and one is killed while statements get their numbers.
  it('closes a month once, with numbers without gaps, through kills and two at once', async () => {
    await store.close();
    const run = (killAfter: number) =>
      new Promise<readonly string[]>((resolve) => {
        const args = [kind, at, '2001-01', FIRST.from.toISOString(), FIRST.until.toISOString()];
        const child = spawn(process.execPath, [
          '--import',
          HOOKS,
          join(__dirname, '../closer.ts'),
          ...args,
          ...accountIds,
        ]);
        const lines: string[] = [];
        createInterface({ input: child.stdout }).on('line', (line) => {
          lines.push(line);
          if (lines.length === killAfter) child.kill('SIGKILL');
        });
        child.on('close', () => {
          resolve(lines);
        });
      });
    expect((await run(2)).slice(0, 2)).toEqual(['closed', '1']);
    const runs =
      kind === 'embedded' ? [await run(9), await run(9)] : await Promise.all([run(9), run(9)]);
    expect(runs).toEqual([
      ['closed', '1', '2', '3'],
      ['closed', '1', '2', '3'],
    ]);
    store = await open();
    const [closed] = await store.listClosedMonths();
    expect(await store.listClosedMonths()).toHaveLength(1);
    expect(closed).toMatchObject({ month: '2001-01', ...FIRST, previousHash: '' });
    const issued = await store.listStatements({ month: '2001-01', limit: 2 });
    expect(issued.map(({ accountId }) => accountId)).toEqual([...accountIds].sort().slice(0, 2));
    expect((await store.audit()).differences).toEqual([]);
  });

  it('closes months in order, once they are over, each naming the one before', async () => {
    const close = (month: string, range: typeof FIRST) =>
      store.closeMonth({ month, ...range, zone: 'UTC', by: BY });
    const late = { from: SECOND.until, until: new Date(today) };
    expect(await close('2001-03', late)).toEqual({ outcome: 'not_next', nextFrom: FIRST.until });
    const future = { from: FIRST.until, until: new Date(today + DAY_MS) };
    expect(await close('2001-02', future)).toMatchObject({ outcome: 'not_over' });
    const second = await close('2001-02', SECOND);
    const [first] = await store.listClosedMonths();
    expect(second).toMatchObject({ outcome: 'closed', isNew: true });
    if (second.outcome !== 'closed' || first === undefined) throw new Error('not closed');
    expect(second.closed.previousHash).toBe(first.hash);
    expect(second.closed.head?.block).toBeGreaterThan(0n);
    expect(await close('2001-02', SECOND)).toEqual({ ...second, isNew: false });
    expect(first.figures.sideTotals).toEqual(
      expect.arrayContaining([...(await read(FIRST)).sideTotals]),
    );
    const statement = { issuer: 'Shop', kind: 'statement', contents: '{}', by: BY } as const;
    const [accountId = ''] = accountIds;
    expect(
      await store.issueStatement({ ...statement, month: '2001-03', accountId }),
    ).toBeUndefined();
    const note = await store.issueStatement({
      ...statement,
      kind: 'credit_note',
      month: '2001-02',
      accountId,
    });
    expect(note?.number).toBe(4);
    expect((await store.audit()).differences).toEqual([]);
  });

  // F505: the clock is set back behind the end of a closed month: new entries come after it.
  it('lets no entry get into a closed month', async () => {
    const [, accountId = ''] = accountIds;
    const [key] = await store.listKeys({ accountId, limit: 1 });
    const ahead = new Date(today + 2 * DAY_MS);
    const close = (until: Date) =>
      rewriteLedger(
        place,
        `UPDATE closed_month SET until_at = ${timeLiteral(place, until)} WHERE month = '2001-02'`,
      );
    await close(ahead);
    await store.topUp({ topUpId: 'late', to: { accountId }, amount: USD, by: BY });
    await store.settle(settlement(key?.id ?? ''), { deadlineMs: 20_000 });
    await close(SECOND.until);
    const { entries } = await store.listEntries({ accountId, limit: 2 });
    expect(entries.map(({ kind, createdAt }) => [kind, createdAt])).toEqual([
      ['charge', ahead],
      ['top_up', ahead],
    ]);
  });

  // F500: an entry gets into a closed month past the gateway, or a stored statement is changed
  // together with its hash.
  it('names figures and statements that are not those that were closed and issued', async () => {
    const [accountId = ''] = accountIds;
    const checks = async () =>
      (await store.audit()).differences
        .filter(({ check }) => check === 'closing' || check === 'statement')
        .map(({ check, entryId }) => `${check} ${String(entryId)}`);
    const during = async (change: string, undo: string) => {
      await rewriteLedger(place, change);
      const found = await checks();
      await rewriteLedger(place, undo);
      return new Set(found);
    };
    const hour = String(FIRST.from.getTime() / 3_600_000);
    const row = `account_id = '${accountId}' AND hour = ${hour} AND side = 'given'`;
    expect(
      await during(
        'INSERT INTO money_hour (account_id, hour, side, amount) ' +
          `VALUES ('${accountId}', ${hour}, 'given', '1.00000000000000')`,
        `DELETE FROM money_hour WHERE ${row}`,
      ),
    ).toEqual(new Set(['closing 2001-01', 'closing 2001-02']));
    const forged = (text: string) =>
      `UPDATE issued_statement SET contents = '${text}' WHERE number = 2`;
    expect(await during(forged('{"a":1}'), forged('{}'))).toEqual(new Set(['statement Shop:2']));
    const renumber = (from: number, to: number) =>
      `UPDATE issued_statement SET number = ${String(to)} WHERE number = ${String(from)}`;
    expect(await during(renumber(4, 9), renumber(9, 4))).toContain('statement Shop:4');
    const asClosed = async () => {
      const months = await store.listClosedMonths();
      const of = months.map((closed) =>
        compareWithClosing((query) => store.readBooks(query), closed),
      );
      return (await Promise.all(of)).map(({ isAsClosed }) => isAsClosed);
    };
    expect(await asClosed()).toEqual([true, true]);
    const gift = (usd: string) =>
      rewriteLedger(place, `UPDATE ledger SET delta = '${usd}' WHERE id = 'topup:gift two'`);
    await gift('0.00010000000001');
    expect(await asClosed()).toEqual([false, false]);
    await gift('0.00010000000000');
    expect(await asClosed()).toEqual([true, true]);
    expect(await checks()).toEqual([]);
    const update = "UPDATE closed_month SET zone = 'other'";
    expect(await during(update, "UPDATE closed_month SET zone = 'UTC'")).toEqual(
      new Set(['closing 2001-01', 'closing 2001-02']),
    );
  });
});
