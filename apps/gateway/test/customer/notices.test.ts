/** Notices at shares of a balance and of caps, which the customer chooses. On both ledgers. */

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { usePostgresServer } from '../../../../packages/balance-store/test/postgres-server.js';
import type { PostgresServer } from '../../../../packages/balance-store/test/postgres-server.js';
import { postMessages, startTestGateway, userMessage } from '../support/gateway.js';
import type { TestGateway } from '../support/gateway.js';
import { ledgerEnv } from '../support/ledger-env.js';

let postgres: PostgresServer;
beforeAll(async () => {
  postgres = await usePostgresServer();
});
afterAll(() => postgres.stop());

describe.each(['embedded', 'PostgreSQL'] as const)('notices on the %s ledger', (ledger) => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway({
      env: await ledgerEnv(ledger, postgres),
    });
  });
  afterAll(() => gateway.stop());

  async function notices(apiKey: string, body?: object) {
    const response = await fetch(`${gateway.url}/v1/dashboard/notices`, {
      method: body === undefined ? 'GET' : 'PUT',
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: response.status, json: await response.json() };
  }
  /** Each answer costs 0.3 USD for output, and some millionths for its prompt. */
  async function ask(apiKey: string): Promise<void> {
    gateway.simulator.script({ usage: { output_tokens: 20_000, input_tokens: 0 } });
    await (
      await postMessages(gateway, apiKey, userMessage('Hello', { max_tokens: 20_000 }))
    ).text();
  }
  const sharesOf = async (accountId: string, type: string) =>
    (await gateway.call('listEvents', { limit: 1_000 })).data
      .filter((event) => event.account_id === accountId && event.type === type)
      .map(({ data }) => data['share']);
  const accountOf = async (key_id: string) =>
    (await gateway.call('showKey', { key_id })).account_id;

  it('are written once per share of the balance, and again after a top-up', async () => {
    const { id, apiKey } = await gateway.createKey({ balance_usd: '1' });
    const accountId = await accountOf(id);
    expect((await notices(apiKey)).json).toEqual({
      object: 'notices',
      shares: [],
      full_usd: '1',
      email: null,
      sends_mail: false,
    });
    const set = await notices(apiKey, { shares: [90, 50, 100] });
    expect([set.status, set.json.shares]).toEqual([200, [50, 90, 100]]);
    await ask(apiKey);
    expect(await sharesOf(accountId, 'balance.share')).toEqual([]);
    await Promise.all([ask(apiKey), ask(apiKey)]);
    expect(await sharesOf(accountId, 'balance.share')).toEqual(['50', '90']);
    await gateway.call('topUp', { key_id: id, top_up_id: `more-${id}`, amount_usd: '0.5' });
    await ask(apiKey);
    expect(await sharesOf(accountId, 'balance.share')).toEqual(['50', '90', '50']);
    const { json } = await notices(apiKey);
    expect(json.full_usd).toBe('0.6');
    expect(await gateway.call('showAccount', { account_id: accountId })).toMatchObject({
      notice_shares: [50, 90, 100],
    });
  });

  it('are set by operators, too, and the customer sees it', async () => {
    const { id, apiKey } = await gateway.createKey({ balance_usd: '1' });
    const account_id = await accountOf(id);
    const set = (notice_shares: number[]) =>
      gateway.call('updateAccount', { account_id, notice_shares });
    expect((await set([80, 20])).notice_shares).toEqual([20, 80]);
    expect((await notices(apiKey)).json.shares).toEqual([20, 80]);
    await ask(apiKey);
    expect(await sharesOf(account_id, 'balance.share')).toEqual(['20']);
    await expect(set([101])).rejects.toThrow('notice_shares');
    expect((await set([])).notice_shares).toEqual([]);
  });

  it('are written once per share of a cap, for the key whose cap it is', async () => {
    const { id, apiKey } = await gateway.createKey({ balance_usd: '100', cap_month_usd: '1' });
    const accountId = await accountOf(id);
    await notices(apiKey, { shares: [50, 80] });
    for (let n = 0; n < 3; n += 1) await ask(apiKey);
    expect(await sharesOf(accountId, 'cap.share')).toEqual(['50', '80']);
    const { data } = await gateway.call('listEvents', { limit: 1_000 });
    const event = data.find(
      ({ type, account_id: of }) => type === 'cap.share' && of === accountId,
    )!;
    expect([event.key_id, event.data]).toEqual([
      id,
      { period: 'month', cap_usd: '1', used_usd: '0.6', share: '50' },
    ]);
  });

  it('are refused unless they are different shares, naming the field, and to keys that may not see the account', async () => {
    const { id, apiKey } = await gateway.createKey({ balance_usd: '1' });
    for (const shares of [
      [0],
      [101],
      [50, 50],
      [1.5],
      'all',
      Array.from({ length: 11 }, (_, n) => n + 1),
    ]) {
      const { status, json } = await notices(apiKey, { shares });
      expect([shares, status, json.error.message]).toEqual([
        shares,
        400,
        expect.stringMatching(/^shares/),
      ]);
    }
    expect((await notices(apiKey)).json.shares).toEqual([]);
    const account_id = await accountOf(id);
    const second = await gateway.call('createKey', { name: 'second', account_id });
    expect((await notices(second.api_key ?? '')).status).toBe(403);
    expect((await notices(second.api_key ?? '', { shares: [50] })).status).toBe(403);
  });
});
