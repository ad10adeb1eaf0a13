/** Months that close: books by kind of money, statements as issued, credit notes, on both ledgers. */

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { parseUsd } from '@gateway/billing';
import { usePostgresServer } from '../../../../packages/balance-store/test/postgres-server.js';
import type { PostgresServer } from '../../../../packages/balance-store/test/postgres-server.js';
import { rewriteLedger } from '../../../../packages/balance-store/test/rewrite-ledger.js';
import type { LedgerPlace } from '../../../../packages/balance-store/test/rewrite-ledger.js';
import { monthIn } from '../../src/endpoints/fields.js';
import { startMonthCloser } from '../../src/operator/month-closer.js';
import { postMessages, startTestGateway, userMessage } from '../support/gateway.js';
import type { TestGateway } from '../support/gateway.js';
import { waitUntilSteady } from '../support/steady-time.js';

let postgres: PostgresServer;
beforeAll(async () => {
  postgres = await usePostgresServer();
});
afterAll(() => postgres.stop());

waitUntilSteady('day');
const ZONE = 'Europe/Rome';
const HOUR_MS = 3_600_000;
const ADMIN_TOKEN = 'token-of-the-tests-of-closings';
const monthBefore = (months: number) => {
  const now = new Date();
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - months))
    .toISOString()
    .slice(0, 7);
};
const [FIRST, SECOND, OPEN] = [monthBefore(2), monthBefore(1), monthBefore(0)] as const;
/** A whole hour within a month there. */
const hourOf = (month: string) => monthIn(ZONE, { month }).from.getTime() / HOUR_MS + 100;

describe.each(['the embedded ledger', 'PostgreSQL'])('months that close on %s', (ledger) => {
  let gateway: TestGateway;
  const dataDir = mkdtempSync(join(tmpdir(), 'closings-'));
  let place: LedgerPlace;
  let shop: string;
  let idle: string;

  /** All that was booked until now happened in this month. */
  async function moveTo(month: string): Promise<void> {
    const hour = hourOf(month);
    const time =
      'dataDir' in place
        ? String(hour * HOUR_MS)
        : `'${new Date(hour * HOUR_MS).toISOString()}'::timestamptz`;
    const recent = monthIn('UTC', { month: OPEN }).from.getTime() / HOUR_MS - 48;
    await rewriteLedger(
      place,
      'DELETE FROM ledger_seal; DELETE FROM ledger_block; ' +
        `UPDATE ledger SET created_at = ${time} WHERE created_at > ` +
        ('dataDir' in place
          ? String(recent * HOUR_MS)
          : `'${new Date(recent * HOUR_MS).toISOString()}'::timestamptz`) +
        `; UPDATE money_hour SET hour = ${String(hour)} WHERE hour > ${String(recent)}` +
        `; UPDATE usage_hour SET hour = ${String(hour)} WHERE hour > ${String(recent)}`,
    );
  }

  beforeAll(async () => {
    const databaseUrl = await postgres.createDatabase();
    const env = {
      BOOKS_TIME_ZONE: ZONE,
      OPERATOR: 'Example Ltd <help@example.com>',
      OPERATOR_ADDRESS: '1 Example Street; VAT 1',
      COSTS: 'list',
      ADMIN_TOKEN,
      DATA_DIR: dataDir,
    };
    gateway = await startTestGateway({
      env:
        ledger === 'PostgreSQL'
          ? {
              ...env,
              DATABASE_URL: databaseUrl,
              KEY_PEPPER: 'pepper of the tests of closings',
            }
          : env,
    });
    place = ledger === 'PostgreSQL' ? { databaseUrl } : { dataDir };
    const created = async (name: string, metadata: Record<string, string>) =>
      (await gateway.call('createAccount', { name, metadata })).id;
    [shop, idle] = [
      await created('Shop', { address: '2 Old Road; 12345 Town' }),
      await created('Idle', {}),
    ];
    const { store } = gateway.running;
    const by = { name: 'tests' };
    const to = { accountId: shop };
    await store.topUp({ topUpId: 'paid', to, amount: parseUsd('10'), tax: parseUsd('1.9'), by });
    await store.topUp({
      ...{ topUpId: 'gift', to, amount: parseUsd('0.00001'), source: 'promotional', by },
    });
    await store.bookFee({
      ...{ feeId: 'fee', accountId: shop, fee: parseUsd('0.25'), counter: 'cash:manual', by },
    });
    const { api_key } = await gateway.call('createKey', { name: 'key', account_id: shop });
    expect((await postMessages(gateway, api_key ?? '', userMessage('Hello'))).status).toBe(200);
    await moveTo(FIRST);
    await store.reverse({ adjustmentId: 'undo', accountId: shop, reverses: 'topup:paid', by });
    await store.topUp({ topUpId: 'again', to, amount: parseUsd('4'), by });
    await moveTo(SECOND);
    await store.topUp({ topUpId: 'now', to, amount: parseUsd('1'), by });
  });
  afterAll(async () => {
    await gateway.stop();
    rmSync(dataDir, { recursive: true });
  });

  const page = async () => {
    const path = `/admin/accounts/${shop}/statement?month=${FIRST}&format=html`;
    const headers = { authorization: `Bearer ${ADMIN_TOKEN}` };
    return (await fetch(`${gateway.adminUrl}${path}`, { headers })).text();
  };
  const statement = (month: string, account_id = shop) =>
    gateway.call('showStatement', { account_id, month });

  it('shows what was paid and given, earned and owed, in a month of the zone', async () => {
    const { total, zone, closing } = await gateway.call('showBooks', { month: FIRST });
    expect([zone, closing]).toEqual([ZONE, null]);
    const { by_kind: of, charged_usd: charged, cost_usd: cost } = total;
    const revenue = -parseUsd(charged) - parseUsd('0.00001');
    expect(of).toMatchObject({
      opening: { paid_usd: '0', given_usd: '0' },
      gifts_given_usd: '0.00001',
      gifts_used_usd: '0.00001',
      gifts_expired_usd: '0',
      breakage_usd: '0',
      received_usd: '11.65',
      tax_usd: '1.9',
      fees_usd: '0.25',
      unknown_usd: '0',
    });
    expect(parseUsd(of.revenue_usd ?? '')).toBe(revenue);
    expect(parseUsd(of.closing?.paid_usd ?? '')).toBe(parseUsd('10') - revenue);
    expect(of.closing?.given_usd).toBe('0');
    expect(parseUsd(of.result_usd ?? '')).toBe(revenue - parseUsd('0.25') - parseUsd(cost ?? ''));
    const next = await gateway.call('showBooks', { month: SECOND });
    expect(next.total.by_kind.opening).toEqual(of.closing);
    expect(next.total.by_kind.tax_usd).toBe('-1.9');
  });

  it('calls the statement of an open month a draft, without a number', async () => {
    expect(await statement(FIRST)).toMatchObject({ state: 'draft', number: null, issued_at: null });
    const html = await page();
    expect(html).toContain('DRAFT');
  });

  it('closes a month once, and issues its statements', async () => {
    const closed = await gateway.call('closeBooks', { month: FIRST });
    expect(closed).toMatchObject({
      ...{ month: FIRST, zone: ZONE, replayed: false, statements: 1, reversed_earlier: [] },
    });
    const again = await gateway.call('closeBooks', { month: FIRST });
    expect(again).toEqual({ ...closed, replayed: true });
    const books = await gateway.call('showBooks', { month: FIRST });
    expect(books.closing).toEqual(closed.closing);
    expect(books.total).toEqual(closed.total);
    await expect(gateway.call('closeBooks', { month: OPEN })).rejects.toThrow('next month');
  });

  // F508: the number of a statement stayed while its contents changed with names and addresses.
  it('serves the statement as it was issued, whatever changes later', async () => {
    const issued = await statement(FIRST);
    expect(issued).toMatchObject({
      state: 'issued',
      number: '000001',
      account_name: 'Shop',
      account_address: ['2 Old Road', '12345 Town'],
      issuer: { name: 'Example Ltd', address: ['1 Example Street', 'VAT 1'] },
      tax_usd: '1.9',
      period: expect.stringContaining(`(${ZONE})`) as string,
    });
    const text = JSON.stringify(issued);
    for (const secret of ['fee', 'margin', 'counter', 'cost_usd', 'cash:']) {
      expect(text).not.toContain(secret);
    }
    await gateway.call('updateAccount', { account_id: shop, name: 'Renamed', metadata: {} });
    expect(await statement(FIRST)).toEqual(issued);
    const html = await page();

    expect(html).toContain('Number 000001');
    expect(html).toContain('2 Old Road');
    expect(html).toContain('counter(pages)');
    expect(html).not.toContain('DRAFT');
  });

  // F509: what was taken back of an earlier month was only a negative line.
  it('puts what is taken back of an earlier month on a credit note, and says so', async () => {
    const closed = await gateway.call('closeBooks', { month: SECOND });
    expect(closed).toMatchObject({
      statements: 2,
      closing: { previous_hash: expect.stringMatching(/^[0-9a-f]{64}$/) as string },
      reversed_earlier: [
        { entry: 'adjustment:undo', account_id: shop, amount_usd: '-10', reverses: 'topup:paid' },
      ],
    });
    const { number, credit_note: note, account_name: name } = await statement(SECOND);
    expect([number, name]).toEqual(['000003', 'Renamed']);
    expect(note).toMatchObject({
      ...{ number: '000002', amount_usd: '-10', tax_usd: '-1.9', account_name: 'Renamed' },
      lines: [{ entry: 'adjustment:undo', reverses: 'topup:paid', statement: '000001' }],
    });
  });

  it('gives no number to a closed month in which nothing happened', async () => {
    expect(await statement(SECOND, idle)).toMatchObject({ state: 'not_issued', number: null });
    expect(await statement(OPEN)).toMatchObject({ state: 'draft', number: null });
    const { differences } = await gateway.running.store.audit();
    expect(differences.filter(({ check }) => /closing|statement/.test(check))).toEqual([]);
  });

  it('closes months by itself, some days after their end', async () => {
    const { store } = gateway.running;
    const until = monthIn(ZONE, { month: OPEN }).until.getTime();
    const parts = { store, log: pino({ level: 'silent' }), booksZone: ZONE, operator: undefined };
    const closer = startMonthCloser({ ...parts, afterDays: 3, now: () => until });
    await closer.look();
    await closer.stop();
    // The open month is due only three days after its end; all before it are closed.
    expect((await store.listClosedMonths()).map(({ month }) => month)).toEqual([FIRST, SECOND]);
  });
});

// F510: a zone whose months begin at half an hour was taken, and its sums would be wrong.
it.each(['Asia/Kolkata', 'Nowhere/Town'])('BOOKS_TIME_ZONE=%s is refused by name', async (zone) => {
  await expect(startTestGateway({ env: { BOOKS_TIME_ZONE: zone } })).rejects.toThrow(
    /BOOKS_TIME_ZONE: .*(Asia\/Kolkata|time zone)/,
  );
});

it('months in a zone follow its offset', () => {
  const of = (zone: string, month: string) => {
    const { from, until } = monthIn(zone, { month });
    return [from.toISOString(), until.toISOString()];
  };
  expect(of('Europe/Rome', '2026-10')).toEqual([
    '2026-09-30T22:00:00.000Z',
    '2026-10-31T23:00:00.000Z',
  ]);
  expect(of('America/Los_Angeles', '2026-12')).toEqual([
    '2026-12-01T08:00:00.000Z',
    '2027-01-01T08:00:00.000Z',
  ]);
  expect(of('Pacific/Kiritimati', '2026-01')[0]).toBe('2025-12-31T10:00:00.000Z');
});
