/** The allowance of an account in each month: free, used first, and not carried over. */

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { usePostgresServer } from '../../../../packages/balance-store/test/postgres-server.js';
import type { PostgresServer } from '../../../../packages/balance-store/test/postgres-server.js';
import { postMessages, startTestGateway, userMessage } from '../support/gateway.js';
import type { TestGateway } from '../support/gateway.js';
import { ledgerEnv } from '../support/ledger-env.js';
import { untilSteady } from '../support/steady-time.js';

/** 1,000 × 3.00 + 1,000 × 15.00, in 10^-6 USD: 0.018. */
const USAGE = { input_tokens: 1_000, output_tokens: 1_000 };

let postgres: PostgresServer;
beforeAll(async () => {
  await untilSteady('day');
  postgres = await usePostgresServer();
});
afterAll(() => postgres.stop());

describe.each([
  ['embedded', 'bounded'],
  ['PostgreSQL', 'none'],
] as const)('on the %s ledger, OVERDRAFT=%s', (ledger, overdraft) => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway({
      env: {
        OVERDRAFT: overdraft,
        ...(await ledgerEnv(ledger, postgres)),
      },
    });
  });
  afterAll(() => gateway.stop());

  async function customer(allowance_usd?: string, balance_usd?: string) {
    const given = { allowance_usd, balance_usd };
    const { id: accountId } = await gateway.call('createAccount', { name: 'customer', ...given });
    const key = await gateway.createKey({ balance_usd: undefined, account_id: accountId });
    return { accountId, ...key };
  }
  async function ask(apiKey: string) {
    gateway.simulator.script({ usage: USAGE });
    const request = userMessage('Hello', { max_tokens: 1_000 });
    return (await postMessages(gateway, apiKey, request)).status;
  }
  const read = async (apiKey: string, path: string) => {
    const headers = { authorization: `Bearer ${apiKey}` };
    return (await fetch(`${gateway.url}/v1/dashboard/${path}`, { headers })).json();
  };
  const nextMonth = () => {
    const now = new Date();
    return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1)).toISOString();
  };

  // F252: an exhausted key's first requests of a month come at once, before the regular work of the
  // ledger: none is refused, and the month has one allowance.
  it('is there for the first requests of a month, however many come at once', async () => {
    const { accountId, id, apiKey } = await customer('1');
    expect((await gateway.call('showKey', { key_id: id })).standing).toBe('exhausted');
    const asked = await Promise.all(Array.from({ length: 8 }, () => ask(apiKey)));
    expect(asked).toEqual(Array(8).fill(200));
    const { data } = await gateway.call('listLedger', { account_id: accountId, kind: 'top_up' });
    expect(data).toMatchObject([
      { amount_usd: '1', source: 'promotional', expires_at: nextMonth(), actor: 'allowance' },
    ]);
  });

  it('is used before what was paid, and the customer sees what is left and when it renews', async () => {
    const { accountId, apiKey } = await customer('1', '2');
    expect(await read(apiKey, 'balance')).toMatchObject({ balance_usd: 3 });
    expect(await ask(apiKey)).toBe(200);
    const allowance = { amount_usd: '1', left_usd: '0.982', renews_at: nextMonth() };
    expect(await read(apiKey, 'account')).toMatchObject({ balance_usd: '2.982', allowance });
    await gateway.call('updateAccount', { account_id: accountId, allowance_usd: '5' });
    expect(await read(apiKey, 'account')).toMatchObject({
      allowance: { ...allowance, amount_usd: '5' },
    });
    const month = new Date().toISOString().slice(0, 7);
    const text = `Credit: promotional, monthly allowance ${month}`;
    expect(await read(apiKey, `statement?month=${month}`)).toMatchObject({
      lines: expect.arrayContaining([expect.objectContaining({ text })]) as never,
    });
    const none = await gateway.call('updateAccount', {
      account_id: accountId,
      allowance_usd: null,
    });
    expect(none.allowance_usd).toBeNull();
    expect(await read(apiKey, 'account')).toMatchObject({ allowance: null, balance_usd: '2.982' });
  });

  it('begins with a read-only link, too', async () => {
    const { id } = await customer('1');
    const link = await gateway.call('createLink', { key_id: id });
    const token = link.path.split('#').at(-1)!.replace(/^.*=/, '');
    expect(await read(token, 'account')).toMatchObject({ balance_usd: '1' });
  });

  it('can be spent when it is set, and never by a suspended account', async () => {
    const { accountId, apiKey } = await customer();
    expect(await ask(apiKey)).toBe(401);
    await gateway.call('suspendAccount', { account_id: accountId });
    await gateway.call('updateAccount', { account_id: accountId, allowance_usd: '0.5' });
    expect(await ask(apiKey)).toBe(401);
    expect((await gateway.call('showAccount', { account_id: accountId })).balance_usd).toBe('0');
    await gateway.call('resumeAccount', { account_id: accountId });
    expect(await ask(apiKey)).toBe(200);
  });

  it('leaves the ledger and the books sound', async () => {
    expect(await gateway.call('auditLedger', {})).toMatchObject({
      is_sound: true,
      differences: [],
    });
    const books = await gateway.call('showBooks', { month: new Date().toISOString().slice(0, 7) });
    expect(books.total.promotional_usd).toBe('3.5');
  });
});
