/** Months that close: books by kind of money, statements as issued, exports, on both ledgers. */

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
import { gatewayCommand } from '../support/gateway-process.js';
import { waitUntilSteady } from '../support/steady-time.js';

const BOOKS_ACCOUNTS = {
  accounts: {
    'balance:paid': '3500',
    'balance:given': '3510',
    revenue: { number: '4400', tax_key: '0003' },
    redeemed: '4410',
    'cash:manual': '1200',
    given: '6600',
    corrections: '4430',
    tax: '3806',
    fees: '6855',
  },
  datev: { consultant: 29098, client: 55003 },
};

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
      BOOKS_ACCOUNTS: JSON.stringify(BOOKS_ACCOUNTS),
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
      topUpId: 'gift',
      to,
      amount: parseUsd('0.00001'),
      source: 'promotional',
      by,
    });
    await store.bookFee({
      feeId: 'fee',
      accountId: shop,
      fee: parseUsd('0.25'),
      counter: 'cash:manual',
      by,
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

  // F504: no journal said debit, credit, account and tax key, and a file could end after 100 rows.
  it('exports the journal in the columns of DATEV, Xero and QuickBooks', async () => {
    const { lines } = await gateway.call('showJournal', { month: FIRST });
    const sum = (of: (line: (typeof lines)[number]) => boolean) =>
      lines.filter(of).reduce((total, { amount_usd: usd }) => total + parseUsd(usd), 0n);
    expect(sum(({ debit }) => debit === '1200')).toBe(parseUsd('11.9'));
    expect(sum(({ debit, credit }) => debit === '6855' && credit === '1200')).toBe(
      parseUsd('0.25'),
    );
    expect(sum(({ credit }) => credit === '3806')).toBe(parseUsd('1.9'));
    const file = async (format: string) => {
      const path = `/admin/journal?month=${FIRST}&format=${format}`;
      const headers = { authorization: `Bearer ${ADMIN_TOKEN}` };
      const answer = await fetch(`${gateway.adminUrl}${path}`, { headers });
      expect(answer.status).toBe(200);
      return Buffer.from(await answer.arrayBuffer()).toString('utf8');
    };
    const datev = parseDatev(await file('datev'));
    expect(datev.map(({ cents }) => cents)).toEqual(
      lines.map(({ amount_usd: usd }) => centsOf(usd)),
    );
    expect(datev.map(({ debit, credit }) => [debit, credit])).toEqual(
      lines.map(({ debit, credit }) => [debit, credit]),
    );
    const xero = parseXero(await file('xero'));
    const quickBooks = parseQuickBooks(await file('quickbooks'));
    const debits = lines.reduce((total, { amount_usd: usd }) => total + centsOf(usd), 0);
    expect([xero, quickBooks]).toEqual([debits, debits]);
  });

  it('names the account that the mapping lacks, and exports nothing', async () => {
    // The reversal goes to the side of the credit, which is mapped; transfers are not.
    const { store } = gateway.running;
    const by = { name: 'tests' };
    await store.transfer({ transferId: 'out', from: shop, to: idle, amount: parseUsd('0.5'), by });
    await expect(gateway.call('showJournal', { month: OPEN })).rejects.toThrow(
      'BOOKS_ACCOUNTS: accounts.transfers: is missing',
    );
    await store.transfer({ transferId: 'in', from: idle, to: shop, amount: parseUsd('0.5'), by });
  });

  it('exports usage in the columns of FOCUS, whose costs are the charges', async () => {
    const { rows } = await gateway.call('showFocus', { month: FIRST });
    const { total } = await gateway.call('showBooks', { month: FIRST });
    const billed = rows.reduce((sum, { BilledCost }) => sum + parseUsd(String(BilledCost)), 0n);
    expect(billed).toBe(-parseUsd(total.charged_usd));
    const headers = { authorization: `Bearer ${ADMIN_TOKEN}` };
    const path = `/admin/focus?month=${FIRST}&format=csv`;
    const csv = await (await fetch(`${gateway.adminUrl}${path}`, { headers })).text();
    const [header = [], ...cells] = parseCsv(csv, ',');
    expect(header).toHaveLength(43);
    expect([...header].sort()).toEqual(header);
    expect(cells.map((row) => row.length)).toEqual(rows.map(() => 43));
    expect(cells.map((row) => row[header.indexOf('ChargeCategory')])).toContain('Usage');
  });

  it('calls the statement of an open month a draft, without a number', async () => {
    expect(await statement(FIRST)).toMatchObject({ state: 'draft', number: null, issued_at: null });
    const html = await page();
    expect(html).toContain('DRAFT');
  });

  it('closes a month once, and issues its statements', async () => {
    const closed = await gateway.call('closeBooks', { month: FIRST });
    expect(closed).toMatchObject({
      month: FIRST,
      zone: ZONE,
      replayed: false,
      statements: 1,
      reversed_earlier: [],
    });
    const again = await gateway.call('closeBooks', { month: FIRST });
    expect(again).toEqual({ ...closed, replayed: true });
    const books = await gateway.call('showBooks', { month: FIRST });
    expect(books.closing).toEqual(closed.closing);
    expect(books.total).toEqual(closed.total);
    await expect(gateway.call('closeBooks', { month: OPEN })).rejects.toThrow('next month');
  });

  // F501: the number of a statement stayed while its contents changed with names and addresses.
  it('serves the statement as it was issued, whatever changes later', async () => {
    const issued = await statement(FIRST);
    expect(issued).toMatchObject({
      state: 'issued',
      number: '000001',
      account_name: 'Shop',
      account_address: ['2 Old Road', '12345 Town'],
      issuer: { name: 'Example Ltd', address: ['1 Example Street', 'VAT 1'] },
      tax_usd: '1.9',
      period: expect.stringContaining(`(${ZONE})`) as unknown as string,
    });
    // Without ids and hashes, in which some of the words occur by chance.
    const text = JSON.stringify(issued).replaceAll(/[0-9a-f]{8,}/g, '');
    for (const secret of ['fee', 'margin', 'counter', 'cost_usd', 'cash:']) {
      expect(text).not.toContain(secret);
    }
    await gateway.call('updateAccount', { account_id: shop, name: 'Renamed', metadata: {} });
    expect(await statement(FIRST)).toEqual(issued);
    const html = await page();

    expect(html).toContain('Number 000001');
    expect(html).toContain('2 Old Road');
    expect(html).toContain('counter(pages)');
    // A date that breaks at its hyphens makes each line of a printed statement two.
    expect(html).toMatch(/td\.d\{white-space:nowrap\}.*<td class="d">\d{4}-\d\d-\d\d<\/td>/s);
    expect(html).not.toContain('DRAFT');
  });

  // F502: what was taken back of an earlier month was only a negative line.
  it('puts what is taken back of an earlier month on a credit note, and says so', async () => {
    const closed = await gateway.call('closeBooks', { month: SECOND });
    expect(closed).toMatchObject({
      statements: 2,
      closing: { previous_hash: expect.stringMatching(/^[0-9a-f]{64}$/) as unknown as string },
      reversed_earlier: [
        { entry: 'adjustment:undo', account_id: shop, amount_usd: '-10', reverses: 'topup:paid' },
      ],
    });
    const { number, credit_note: note, account_name: name } = await statement(SECOND);
    expect([number, name]).toEqual(['000003', 'Renamed']);
    expect(note).toMatchObject({
      number: '000002',
      amount_usd: '-10',
      tax_usd: '-1.9',
      account_name: 'Renamed',
      lines: [{ entry: 'adjustment:undo', reverses: 'topup:paid', statement: '000001' }],
    });
  });

  it('gives no number to a closed month in which nothing happened', async () => {
    expect(await statement(SECOND, idle)).toMatchObject({ state: 'not_issued', number: null });
    expect(await statement(OPEN)).toMatchObject({ state: 'draft', number: null });
    const { differences } = await gateway.running.store.audit();
    expect(differences.filter(({ check }) => /closing|statement/.test(check))).toEqual([]);
  });

  // F525: a closed month's figures of each account were in a digest that only an audit compared.
  it('says whether each account still has the figures with which a month was closed', async () => {
    const verify = (month: string) => gateway.call('verifyBooks', { month });
    const { is_as_closed, closed_digest, found_digest } = await verify(SECOND);
    expect([is_as_closed, closed_digest]).toEqual([true, found_digest]);
    await expect(verify(OPEN)).rejects.toThrow(`month: ${OPEN} is not closed`);
    const change = (usd: string) =>
      rewriteLedger(place, `UPDATE ledger SET delta = '${usd}' WHERE id = 'topup:again'`);
    await change('5.00000000000000');
    expect([(await verify(FIRST)).is_as_closed, (await verify(SECOND)).is_as_closed]).toEqual([
      true,
      false,
    ]);
    const access = { ADMIN_URL: gateway.adminUrl, ADMIN_TOKEN };
    const ran = await gatewayCommand(['books', 'verify', SECOND], access);
    expect([ran.code, ran.out]).toEqual([1, expect.stringContaining('NOT as closed')]);
    await change('4.00000000000000');
    expect((await verify(SECOND)).is_as_closed).toBe(true);
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

// F503: a zone whose months begin at half an hour was taken, and its sums would be wrong.
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

/** A strict reader of CSV: each row has as many cells as the first, and each ends with CRLF. */
function parseCsv(text: string, separator: string): readonly (readonly string[])[] {
  expect(text.endsWith('\r\n')).toBe(true);
  const cell = new RegExp(`("(?:[^"]|"")*"|[^"${separator}\\r\\n]*)(${separator}|$)`, 'y');
  return text
    .slice(0, -2)
    .split('\r\n')
    .map((row) => {
      const cells: string[] = [];
      cell.lastIndex = 0;
      for (let end = separator; end === separator;) {
        const [, found = '', after = ''] = cell.exec(row) ?? [];
        cells.push(found.startsWith('"') ? found.slice(1, -1).replaceAll('""', '"') : found);
        end = after;
        if (after === '') expect(cell.lastIndex).toBe(row.length);
      }
      return cells;
    });
}

const centsOf = (usd: string) => Number(usd.replace(/[.,]/, ''));

/** By the documents of the DATEV format: header 700, Buchungsstapel, format version 13. */
function parseDatev(text: string) {
  expect(text.charCodeAt(0)).toBe(0xfeff);
  const [first = '', ...others] = text.slice(1).split('\r\n');
  expect(first).toMatch(
    /^"EXTF";700;21;"Buchungsstapel";13;\d{17};;"";"";"";29098;55003;\d{8};4;\d{8};\d{8};"[^"]{1,30}";"";1;0;0;"USD";;"";;;"";;;"";""$/,
  );
  const [columns = [], ...rows] = parseCsv(others.join('\r\n'), ';');
  expect(columns).toHaveLength(125);
  expect([columns[6], columns[8], columns[113]]).toEqual([
    'Konto',
    'BU-Schlüssel',
    'Festschreibung',
  ]);
  return rows.map((row) => {
    expect(row).toHaveLength(125);
    const [amount = '', side, currency, , , , debit = '', credit = '', key = '', date] = row;
    expect(amount).toMatch(/^\d{1,10},\d{2}$/);
    expect([side, currency]).toEqual(['S', 'USD']);
    for (const account of [debit, credit]) expect(account).toMatch(/^\d{1,9}$/);
    expect(key).toMatch(/^(\d{4})?$/);
    expect(date).toMatch(/^(0[1-9]|[12]\d|3[01])(0[1-9]|1[0-2])$/);
    expect(row[10]).toMatch(/^[\w$&%*+\-/]{0,36}$/);
    expect(row[13]?.length).toBeLessThanOrEqual(60);
    return { cents: centsOf(amount), debit, credit };
  });
}

/** By Xero's page on the import of manual journals. @returns the sum of debits, in cents */
function parseXero(text: string): number {
  const [columns, ...rows] = parseCsv(text, ',');
  expect(columns).toEqual(['Narration', 'Date', 'Description', 'AccountCode', 'TaxRate', 'Amount']);
  const journals = new Map<string, number>();
  let debits = 0;
  for (const [narration = '', date = '', , account, rate, amount = ''] of rows) {
    expect(date).toMatch(/^\d{2}\/\d{2}\/\d{4}$/);
    expect([narration, account, rate]).not.toContain('');
    const cents = centsOf(amount);
    debits += Math.max(cents, 0);
    journals.set(narration, (journals.get(narration) ?? 0) + cents);
  }
  expect([...journals.values()].every((sum) => sum === 0)).toBe(true);
  return debits;
}

/** By Intuit's page on the import of journal entries. @returns the sum of debits, in cents */
function parseQuickBooks(text: string): number {
  const [columns, ...rows] = parseCsv(text, ',');
  expect(columns).toEqual([
    'Journal No',
    'Journal Date',
    'Account Name',
    'Description',
    'Debits',
    'Credits',
  ]);
  const journals = new Map<string, number>();
  let total = 0;
  for (const [number = '', date, account, , debit = '', credit = ''] of rows) {
    expect(date).toMatch(/^\d{2}\/\d{2}\/\d{4}$/);
    expect(account).not.toBe('');
    expect((debit === '') !== (credit === '')).toBe(true);
    const cents = debit === '' ? -centsOf(credit) : centsOf(debit);
    total += Math.max(cents, 0);
    journals.set(number, (journals.get(number) ?? 0) + cents);
  }
  expect([...journals.values()].every((sum) => sum === 0)).toBe(true);
  return total;
}
