/** Notices of budgets by mail: to the member whose budget it is, and to those who answer for it. */

import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { settlement } from '@gateway/balance-store/testing';
import { usePostgresServer } from '../../../../packages/balance-store/test/postgres-server.js';
import type { PostgresServer } from '../../../../packages/balance-store/test/postgres-server.js';
import { startTestGateway } from '../support/gateway.js';
import type { TestGateway } from '../support/gateway.js';
import { ledgerEnv } from '../support/ledger-env.js';
import { startMailServer } from '../support/mail-server.js';
import type { MailServer, MailServerOptions, ReceivedMail } from '../support/mail-server.js';
import { until } from '../support/until.js';

let postgres: PostgresServer;
const cleanUps: (() => unknown)[] = [];
beforeAll(async () => {
  postgres = await usePostgresServer();
});
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});
afterAll(() => postgres.stop());

const lineOf = ({ to, headers }: ReceivedMail) => `${to.join(' ')}: ${headers['subject'] ?? ''}`;

describe.each(['embedded', 'PostgreSQL'] as const)('on the %s ledger', (ledger) => {
  async function start(options: MailServerOptions = {}, gateways = 1) {
    const server = await startMailServer(options);
    cleanUps.push(() => server.close());
    const env = {
      ...(await ledgerEnv(ledger, postgres)),
      SMTP_URL: server.url,
      MAIL_FROM: 'Example Ltd <billing@example.com>',
      PUBLIC_URL: 'https://gateway.example',
    };
    const all: TestGateway[] = [];
    for (let n = 0; n < gateways; n += 1) {
      const gateway = await startTestGateway({ env });
      cleanUps.push(() => gateway.stop());
      all.push(gateway);
    }
    return { server, all, gateway: all[0]! };
  }
  async function accountOf(gateway: TestGateway, notice_email?: string) {
    const { id: account_id } = await gateway.call('createAccount', {
      name: 'the university',
      balance_usd: '1000',
      ...(notice_email === undefined ? {} : { notice_email }),
    });
    const { id: group_id } = await gateway.call('createGroup', { account_id, name: 'Databases' });
    const memberOf = async (email?: string) => {
      const member = { account_id, group_id, name: 'a student', ...(email && { email }) };
      const { id: member_id } = await gateway.call('createMember', member);
      const key = await gateway.call('createKey', { account_id, name: 'k', member_id });
      return { member_id, key_id: key.id, group_id };
    };
    return { account_id, group_id, memberOf };
  }
  let requests = 0;
  async function spend(
    gateway: TestGateway,
    of: { readonly member_id: string; readonly key_id: string; readonly group_id: string },
    usd: number,
  ) {
    requests += 1;
    const requestId = `req_${ledger}_${String(requests)}`;
    const inputTokens = Math.round((usd / 3) * 1e6);
    const spender = { memberId: of.member_id, groups: `/${of.group_id}/` };
    const charge = { ...settlement(of.key_id, { requestId, usage: { inputTokens } }), spender };
    await gateway.running.store.settle(charge, { deadlineMs: 20_000 });
  }
  const allSent = (gateway: TestGateway) =>
    until(async () => {
      const { data } = await gateway.call('listEvents', { limit: 100 });
      return data.every(({ mail }) => mail !== 'pending');
    });

  it('a member gets each share of each period once, with what is left and whom to ask', async () => {
    const { server, gateway } = await start();
    const { account_id, memberOf } = await accountOf(gateway);
    const [ada, bob] = [await memberOf('ada@example.com'), await memberOf()];
    const budget = await gateway.call('createBudget', {
      account_id,
      name: 'students',
      scope: 'member',
      amount_usd: '20',
      period: 'month',
      time_zone: 'Europe/Berlin',
      shares: [50, 80, 100],
      contact: 'chair@example.com',
    });
    for (const usd of [9, 3, 3, 3, 3]) await spend(gateway, ada, usd);
    await spend(gateway, bob, 12);
    await allSent(gateway);
    expect(server.received.map(lineOf)).toEqual([
      'ada@example.com: 50 % of your budget is used',
      'ada@example.com: 80 % of your budget is used',
      'ada@example.com: Your budget is used up',
    ]);
    const [half, , last] = server.received;
    const inBerlin = new Date().toLocaleString('en-US', { timeZone: 'Europe/Berlin' });
    const renews = new Date(`${inBerlin} UTC`);
    renews.setUTCDate(1);
    renews.setUTCMonth(renews.getUTCMonth() + 1);
    const month = renews.toLocaleString('en-GB', { month: 'long', timeZone: 'UTC' });
    expect(half?.text.split('\n')).toEqual([
      '50 % of your budget is used for this month.',
      '',
      'Used: 12 USD of 20 USD',
      'Left: 8 USD',
      `It renews on 1 ${month} ${String(renews.getUTCFullYear())} at 00:00 (Europe/Berlin).`,
      'To get more, ask chair@example.com.',
      `Budget: ${budget.id}`,
      `Account: ${account_id}`,
      '',
      'Your page: https://gateway.example/dashboard/',
      '',
    ]);
    expect(last?.text).toContain('Requests are refused until it renews.');
    expect(last?.text).toContain('Left: 0 USD\n');
    // Nothing that a holder of a key may choose is written to an address.
    expect(server.received.map(({ text }) => text).join('')).not.toContain('students');
  });

  it('the account gets them as well, and the contact of a budget of many', async () => {
    const { server, gateway } = await start();
    const { account_id, group_id, memberOf } = await accountOf(gateway, 'owner@example.com');
    const ada = await memberOf('ada@example.com');
    const of = { account_id, amount_usd: '10', period: 'month' as const, shares: [50] };
    const budgets = [
      { scope: 'key' },
      { scope: 'group', subject: group_id, contact: 'chair@example.com' },
      { scope: 'account', contact: 'the office, room 3' },
    ] as const;
    for (const one of budgets) await gateway.call('createBudget', { ...of, ...one, name: 'b' });
    await spend(gateway, ada, 6);
    await allSent(gateway);
    expect(server.received.map(lineOf).sort()).toEqual([
      'ada@example.com: 50 % of your budget is used',
      'chair@example.com: 50 % of a budget is used',
      'owner@example.com: 50 % of a budget is used',
      'owner@example.com: 50 % of a budget is used',
      'owner@example.com: 50 % of a budget is used',
    ]);
    const text = server.received.map((mail) => mail.text).join('');
    expect(text).toContain(`\nGroup: ${group_id}\n`);
    expect(text).toContain(`\nKey: ${ada.key_id}\n`);
  });

  it('an address that no server can write to is refused when it is set, at members and contacts', async () => {
    const { gateway } = await start();
    const { account_id } = await accountOf(gateway);
    const rule = 'must be an address such as person@example.com';
    const of = { account_id, name: 'b', scope: 'account', amount_usd: '1', period: 'day' } as const;
    const { id: budget_id } = await gateway.call('createBudget', { ...of, contact: '@office' });
    const { id: member_id } = await gateway.call('createMember', { account_id, name: 'm' });
    for (const wrong of ['chair@localhost', 'chair@', 'a@b@example.com']) {
      for (const set of [
        () => gateway.call('createBudget', { ...of, contact: wrong }),
        () => gateway.call('updateBudget', { budget_id, contact: wrong }),
        () => gateway.call('createMember', { account_id, name: 'm', email: wrong }),
        () => gateway.call('updateMember', { member_id, email: wrong }),
      ]) {
        await expect(set()).rejects.toThrow(rule);
      }
    }
  });

  it('one whom the server refuses, or who has ended, keeps it from nobody else', async () => {
    let isDown = true;
    const { server, gateway } = await start({
      recipient: (address) =>
        address.startsWith('ada') ? 550 : address.startsWith('bob') && isDown ? 451 : undefined,
    });
    const { account_id, memberOf } = await accountOf(gateway, 'owner@example.com');
    const of = { account_id, amount_usd: '10', period: 'month' as const, shares: [50] };
    await gateway.call('createBudget', { ...of, name: 'b', scope: 'member' });
    const [ada, bob, eve] = [
      await memberOf('ada@example.com'),
      await memberOf('bob@example.com'),
      await memberOf('eve@example.com'),
    ];
    await gateway.call('endMember', { member_id: eve.member_id });
    for (const one of [ada, eve, bob]) await spend(gateway, one, 6);
    await until(async () => {
      const { data } = await gateway.call('listEvents', { limit: 100 });
      return data.some(({ mail_error }) => mail_error?.includes('451') === true);
    });
    isDown = false;
    await allSent(gateway);
    expect(server.received.map(lineOf).sort()).toEqual([
      'bob@example.com: 50 % of your budget is used',
      // Of three budgets; the mail to bob is repeated, this one is not.
      ...Array.from({ length: 3 }, () => 'owner@example.com: 50 % of a budget is used'),
    ]);
  });
});

it('two gateways and a restart send each notice once', async () => {
  const server: MailServer = await startMailServer();
  cleanUps.push(() => server.close());
  const env = {
    ...(await ledgerEnv('PostgreSQL', postgres)),
    SMTP_URL: server.url,
    MAIL_FROM: 'billing@example.com',
  };
  const gateways = [await startTestGateway({ env }), await startTestGateway({ env })];
  const [first, second] = gateways as [TestGateway, TestGateway];
  const { id: account_id } = await first.call('createAccount', { name: 'a', balance_usd: '100' });
  const of = { account_id, name: 'b', scope: 'member', amount_usd: '1', period: 'month' } as const;
  await first.call('createBudget', { ...of, shares: [50, 90] });
  const owners: (readonly [string, string])[] = [];
  for (let n = 0; n < 5; n += 1) {
    const email = `m${String(n)}@example.com`;
    const { id } = await first.call('createMember', { account_id, name: 'm', email });
    const key = await first.call('createKey', { account_id, name: 'k', member_id: id });
    owners.push([id, key.id]);
  }
  const charge = (gateway: TestGateway, [memberId, keyId]: readonly [string, string], n: number) =>
    gateway.running.store.settle(
      {
        ...settlement(keyId, {
          requestId: `req_two_${keyId}_${String(n)}`,
          usage: { inputTokens: 100_000 },
        }),
        spender: { memberId },
      },
      { deadlineMs: 20_000 },
    );
  await Promise.all(
    owners.flatMap((owner) => [1, 2].map((n) => charge(n === 1 ? first : second, owner, n))),
  );
  await first.stop();
  const third = await startTestGateway({ env });
  cleanUps.push(
    () => second.stop(),
    () => third.stop(),
  );
  await Promise.all(
    owners.flatMap((owner) => [3, 4].map((n) => charge(n === 3 ? third : second, owner, n))),
  );
  await until(async () => {
    const { data } = await third.call('listEvents', { limit: 100 });
    return data.every(({ mail }) => mail !== 'pending');
  });
  const expected = owners.flatMap((_, n) =>
    ['50 % of your budget is used', '90 % of your budget is used', 'Your budget is used up'].map(
      (subject) => `m${String(n)}@example.com: ${subject}`,
    ),
  );
  expect(server.received.map(lineOf).sort()).toEqual(expected.sort());
});
