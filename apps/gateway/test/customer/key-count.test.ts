/** The most keys that a holder can give an account, on both ledgers. */

import { expect, it } from '@jest/globals';
import { describePayments } from '../support/payments.js';

const MOST = 100;

describePayments((bench) => {
  const { newCustomer, dashboard } = bench;

  // F145: 50 creations of keys at once, with room for one; the creation that filled the account is
  // repeated: one is created, the others get 400; the repetition is a replay.
  it('fifty creations at once, when one more key is allowed, create one', async () => {
    const { gateway } = bench;
    const { id, apiKey, accountId } = await newCustomer('1');
    await gateway.call('updateKey', { key_id: id, scope: 'manage' });
    const more = Array.from({ length: MOST - 2 }, () =>
      gateway.running.appParts.store.create({
        account: { id: accountId },
        key: {
          name: 'more',
          limits: { concurrency: 1, burst: 1, requestsPerMinute: 1 },
          expiresAt: null,
        },
        by: { name: 'tests' },
      }),
    );
    await Promise.all(more);
    const create = (request: string) =>
      dashboard(apiKey, 'keys', {
        method: 'POST',
        body: JSON.stringify({ name: 'one more' }),
        headers: { 'idempotency-key': request },
      });
    const requests = Array.from({ length: 50 }, (_, number) => `request-${String(number)}`);
    const answers = await Promise.all(requests.map(create));
    const created = requests.filter((_, number) => answers[number]?.status === 200);
    expect(created).toHaveLength(1);
    for (const { status, json } of answers.filter((answer) => answer.status !== 200)) {
      expect([status, json.error.message]).toEqual([
        400,
        expect.stringMatching(/^keys: this account already has/),
      ]);
    }
    const { data } = await gateway.call('listKeys', { account_id: accountId, limit: 1_000 });
    expect(data).toHaveLength(MOST);

    // The account is full, and the request that filled it is repeated, because its answer was lost.
    const repeated = await create(created[0] ?? '');
    const { api_key, id: first } = answers.find(({ status }) => status === 200)?.json ?? {};
    expect([repeated.status, repeated.json.id, repeated.json.api_key]).toEqual([200, first, null]);
    expect(api_key).toMatch(/^gw_/);
  });
});
