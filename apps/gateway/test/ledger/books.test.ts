/** The books of a month, compared with the statements of the accounts, on both ledgers. */

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { formatUsd, parseUsd } from '@gateway/billing';
import { usePostgresServer } from '../../../../packages/balance-store/test/postgres-server.js';
import type { PostgresServer } from '../../../../packages/balance-store/test/postgres-server.js';
import { postMessages, startTestGateway, userMessage } from '../support/gateway.js';
import type { TestGateway } from '../support/gateway.js';
import { waitUntilSteady } from '../support/steady-time.js';
import { eventually } from '../support/until.js';

let postgres: PostgresServer;
beforeAll(async () => {
  postgres = await usePostgresServer();
});
afterAll(() => postgres.stop());

waitUntilSteady('day');
const MONTH = new Date().toISOString().slice(0, 7);
const monthFrom = (months: number) => {
  const [year = 0, number = 0] = MONTH.split('-').map(Number);
  return new Date(Date.UTC(year, number - 1 + months)).toISOString().slice(0, 7);
};
const sum = (amounts: readonly string[]) =>
  formatUsd(amounts.reduce((total, amount) => total + parseUsd(amount), 0n));

describe.each(['the embedded ledger', 'PostgreSQL'])('the books of a month on %s', (ledger) => {
  let gateway: TestGateway;
  let shop: string;
  let team: string;

  beforeAll(async () => {
    gateway = await startTestGateway(
      ledger === 'PostgreSQL'
        ? {
            env: {
              DATABASE_URL: await postgres.createDatabase(),
              KEY_PEPPER: 'pepper of the tests of the books',
              ADMIN_TOKEN: 'token-of-the-tests-of-the-books',
            },
          }
        : {},
    );
    const created = async (name: string, external_id: string) =>
      (await gateway.call('createAccount', { name, external_id })).id;
    [shop, team] = [await created('Shop', 'crm-1'), await created('Team', 'crm-2')];
    await gateway.call('createAccount', { name: 'unused' });
    const topUp = (account_id: string, top_up_id: string, amount_usd: string, more: object = {}) =>
      gateway.call('topUpAccount', { account_id, top_up_id, amount_usd, anyway: true, ...more });
    await gateway.running.store.bookFee({
      feeId: 'books',
      accountId: shop,
      fee: 3n,
      counter: 'cash:stripe',
      by: { name: 'tests' },
    });
    await topUp(shop, 'paid', '10.00000000000001');
    await topUp(team, 'paid-2', '5');
    await topUp(team, 'given', '2', { source: 'promotional' });
    const expires_at = new Date(Date.now() + 1_000).toISOString();
    await topUp(shop, 'expiring', '0.5', { source: 'promotional', expires_at });
    for (const [reason, amount_usd] of [
      ['refund', '-1'],
      ['chargeback', '-0.25'],
      ['correction', '0.125'],
      ['goodwill', '0.0625'],
      ['write_off', '-0.03125'],
    ] as const) {
      const adjustment_id = reason;
      await gateway.call('adjustBalance', { account_id: shop, adjustment_id, amount_usd, reason });
    }
    await gateway.call('transfer', {
      account_id: team,
      to_account_id: shop,
      transfer_id: 'transfer',
      amount_usd: '1.5',
    });
    for (const account_id of [shop, team, team]) {
      const { api_key } = await gateway.call('createKey', { name: 'key', account_id });
      expect((await postMessages(gateway, api_key ?? '', userMessage('Hello'))).status).toBe(200);
    }
    // An account shows the expiry from its moment on, books only once it has its entry.
    await eventually(async () => {
      expect((await gateway.call('showAccount', { account_id: shop })).expired_usd).not.toBe('0');
    });
    await gateway.running.store.expire({ keysWithinMs: 0 });
  });
  afterAll(() => gateway.stop());

  // F515: the books of a month with a fee of a provider, which changes no balance, crashed.
  it('state each kind of movement in a member of its own, for each account and in total', async () => {
    const { data, total } = await gateway.call('showBooks', { month: MONTH });
    const of = (id: string) => data.find(({ account_id }) => account_id === id);
    expect(data).toHaveLength(2);
    expect(of(shop)).toMatchObject({
      name: 'Shop',
      external_id: 'crm-1',
      opening_balance_usd: '0',
      paid_usd: '10.00000000000001',
      promotional_usd: '0.5',
      adjusted_usd: {
        refund: '-1',
        chargeback: '-0.25',
        correction: '0.125',
        goodwill: '0.0625',
        write_off: '-0.03125',
        transfer: '1.5',
      },
    });
    expect(of(team)).toMatchObject({
      paid_usd: '5',
      promotional_usd: '2',
      adjusted_usd: { refund: '0', transfer: '-1.5' },
      expired_usd: '0',
    });
    expect(total).toMatchObject({
      paid_usd: '15.00000000000001',
      promotional_usd: '2.5',
      adjusted_usd: { transfer: '0' },
      charged_usd: sum([of(shop)?.charged_usd ?? '', of(team)?.charged_usd ?? '']),
    });
    expect(parseUsd(total.charged_usd)).toBeLessThan(0n);
  });

  it('add up to the closing balances of the statements, and to the balances of the accounts', async () => {
    const { data, total } = await gateway.call('showBooks', { month: MONTH });
    for (const books of [...data, total]) {
      const { adjusted_usd: adjusted, ...amounts } = books;
      expect(books.closing_balance_usd).toBe(
        sum([
          amounts.opening_balance_usd,
          amounts.paid_usd,
          amounts.promotional_usd,
          ...Object.values(adjusted),
          amounts.expired_usd,
          amounts.charged_usd,
        ]),
      );
    }
    for (const { account_id, ...books } of data) {
      const statement = await gateway.call('showStatement', { account_id, month: MONTH });
      expect(books.closing_balance_usd).toBe(statement.closing_balance_usd);
      expect(books.charged_usd).toBe(sum(['0', `-${statement.charged_usd}`]));
      const account = await gateway.call('showAccount', { account_id });
      expect(books.closing_balance_usd).toBe(account.balance_usd);
    }
    expect(total.closing_balance_usd).toBe(sum(data.map((books) => books.closing_balance_usd)));
  });

  it('begin with the closing balances of the month before', async () => {
    const now = await gateway.call('showBooks', { month: MONTH });
    const next = await gateway.call('showBooks', { month: monthFrom(1) });
    expect(next.data.map(({ account_id }) => account_id)).toEqual(
      now.data.map(({ account_id }) => account_id),
    );
    for (const [index, books] of next.data.entries()) {
      const { closing_balance_usd: left } = now.data[index]!;
      expect(books).toMatchObject({ opening_balance_usd: left, closing_balance_usd: left });
      expect(books).toMatchObject({ paid_usd: '0', charged_usd: '0', written_off_usd: '0' });
    }
    const before = await gateway.call('showBooks', { month: monthFrom(-1) });
    expect(before).toMatchObject({ data: [], total: { closing_balance_usd: '0' } });
  });

  // F154: the books of more accounts than fit into one response: pages whose figures are exact,
  // each with those in all; the command line prints all.
  it('have the same figures page by page, and those in all on each page', async () => {
    const { data, total } = await gateway.call('showBooks', { month: MONTH });
    const pages: (typeof data)[] = [];
    let cursor: string | null = '';
    do {
      const page: Awaited<ReturnType<typeof gateway.call<'showBooks'>>> = await gateway.call(
        'showBooks',
        { month: MONTH, limit: 1, ...(cursor === '' ? {} : { cursor }) },
      );
      expect(page.total).toEqual(total);
      expect(page.has_more).toBe(page.next_cursor !== null);
      pages.push(page.data);
      cursor = page.next_cursor;
    } while (cursor !== null);
    // A page may be shorter than its limit: one account has neither a balance nor a movement.
    expect(pages.map(({ length }) => length).toSorted()).toEqual([0, 1, 1]);
    expect(pages.flat()).toEqual(data);
  });

  it('are refused for an invalid month', async () => {
    for (const month of ['2026-13', '2026', '']) {
      await expect(gateway.call('showBooks', { month })).rejects.toThrow('month: must be a month');
    }
  });
});
