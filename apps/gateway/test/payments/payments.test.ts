/** How customers get credit: by paying on a page of the simulated Stripe, and by codes. */

import { describe, expect, it } from '@jest/globals';
import { parseUsd } from '@gateway/billing';
import { CENT, describePayments } from '../support/payments.js';
import { startTestGateway } from '../support/gateway.js';

describePayments((bench) => {
  const {
    newCustomer,
    dashboard,
    startWith,
    start,
    eventsOf,
    deliverAll,
    balanceOf,
    notifiedOf,
    ask,
  } = bench;

  describe('a top-up', () => {
    it('makes an exhausted key work again once the payment is confirmed', async () => {
      const customer = await newCustomer('0.00000000000001');
      expect(await ask(customer.apiKey)).toBe(200);
      expect(await ask(customer.apiKey)).toBe(401);
      const before = parseUsd(await balanceOf(customer.accountId));
      const { paymentId, checkoutId } = await start(customer.apiKey, '12.34');
      const events = eventsOf(() => bench.stripe.pay(checkoutId));
      expect(await ask(customer.apiKey)).toBe(401);
      await deliverAll(events);
      expect(await ask(customer.apiKey)).toBe(200);
      const { data } = await bench.gateway.call('listLedger', {
        account_id: customer.accountId,
        kind: 'top_up',
      });
      const shown = await dashboard(customer.apiKey, `top-ups/${paymentId}`);
      expect(shown.json).toMatchObject({ state: 'paid', url: null });
      const { reference } = shown.json;
      expect(data[0]).toMatchObject({
        id: `topup:stripe:${reference}`,
        amount_usd: '12.34',
        source: 'paid',
        actor: 'stripe',
      });
      expect(parseUsd(data[0]?.balance_after_usd ?? '')).toBe(before + 1_234n * CENT);
      const receipt = await dashboard(customer.apiKey, `top-ups/${paymentId}/receipt`);
      expect(receipt.json.url).toMatch(/\/receipts\/ch_/);
      expect(await notifiedOf(customer.accountId)).toEqual(['payment.succeeded']);
    });

    it('opens one payment page for each Idempotency-Key of an account', async () => {
      const [customer, other] = [await newCustomer(), await newCustomer()];
      const body = { amount_usd: '20' };
      const answers = await Promise.all([1, 2, 3].map(() => startWith(customer.apiKey, body, 'k')));
      expect(new Set(answers.map(({ json }) => json.url)).size).toBe(1);
      expect((await startWith(customer.apiKey, { amount_usd: '21' }, 'k')).status).toBe(409);
      const elsewhere = await startWith(other.apiKey, { amount_usd: '21' }, 'k');
      expect([elsewhere.status, elsewhere.json.state]).toEqual([200, 'open']);
      const { id } = answers[0]?.json ?? {};
      expect((await dashboard(other.apiKey, `top-ups/${id}`)).status).toBe(404);
      const { json } = await dashboard(customer.apiKey, 'top-ups');
      expect(json).toMatchObject({ data: [{ id }], min_usd: '5', max_usd: '500' });
    });

    it('with invalid input is refused, naming the field, and starts no payment', async () => {
      const { apiKey } = await newCustomer();
      const started = () => bench.stripe.requests.get('POST /v1/checkout/sessions') ?? 0;
      const before = started();
      for (const body of [
        {},
        { amount_usd: 20 },
        { amount_usd: '4.99' },
        { amount_usd: '500.01' },
        { amount_usd: '20.001' },
        { amount_usd: '-20' },
        { amount_usd: '20', currency: 'eur' },
      ]) {
        const { status, json } = await startWith(apiKey, body);
        expect([body, status]).toEqual([body, 400]);
        expect(json.error.message).toMatch(/^(amount_usd|currency): /);
      }
      const keyless = await dashboard(apiKey, 'top-ups', {
        method: 'POST',
        body: '{"amount_usd":"20"}',
      });
      expect(keyless.json.error.param).toBe('idempotency-key');
      expect((await startWith('gw_nobody', { amount_usd: '20' })).status).toBe(401);
      expect(started()).toBe(before);
    });

    // F109: a delayed payment fails; a refund fails; a dispute is won: nothing credited; the money
    // is credited again, once.
    it('with a delayed method is credited when the money arrives, and not before', async () => {
      for (const [end, balance, state] of [
        ['succeeded', '20', 'paid'],
        ['failed', '0', 'failed'],
      ] as const) {
        const { apiKey, accountId } = await newCustomer();
        const { paymentId, checkoutId } = await start(apiKey);
        await deliverAll(eventsOf(() => bench.stripe.pay(checkoutId, { delayed: true })));
        expect(await balanceOf(accountId)).toBe('0');
        const stateOf = async () => (await dashboard(apiKey, `top-ups/${paymentId}`)).json.state;
        expect(await stateOf()).toBe('pending');
        const events = eventsOf(() => bench.stripe.settleDelayed(checkoutId, end));
        await deliverAll([...events, ...events]);
        expect([await stateOf(), await balanceOf(accountId)]).toEqual([state, balance]);
        const [type] = await notifiedOf(accountId);
        expect(type).toBe(end === 'failed' ? 'payment.failed' : 'payment.succeeded');
      }
    });

    it('that has expired is shown as expired, and has no payment page any more', async () => {
      const { apiKey } = await newCustomer();
      const { paymentId, checkoutId } = await start(apiKey);
      await deliverAll(eventsOf(() => bench.stripe.expire(checkoutId)));
      const { json } = await dashboard(apiKey, `top-ups/${paymentId}`);
      expect(json).toMatchObject({ state: 'expired', url: null });
    });

    it('can be sent as a link by the operator', async () => {
      const { accountId } = await newCustomer();
      const input = { account_id: accountId, amount_usd: '7', request_id: 'link-1' };
      const link = await bench.gateway.call('startPayment', input);
      expect(await bench.gateway.call('startPayment', input)).toEqual(link);
      await expect(
        bench.gateway.call('startPayment', { ...input, amount_usd: '8' }),
      ).rejects.toThrow(/^request_id: /);
      const checkoutId = link.url?.split('/').at(-1) ?? '';
      await deliverAll(eventsOf(() => bench.stripe.pay(checkoutId)));
      expect(await balanceOf(accountId)).toBe('7');
    });
  });

  describe('promotional codes', () => {
    const redeem = (apiKey: string, code: string) =>
      dashboard(apiKey, 'promo-codes', { method: 'POST', body: JSON.stringify({ code }) });

    it('credit each account once, and no more accounts than they allow', async () => {
      await bench.gateway.call('createPromoCode', {
        code: 'welcome-2026',
        amount_usd: '3',
        max_redemptions: 2,
        credit_expires_at: '2100-01-01T00:00:00Z',
      });
      const [first, second, third] = [
        await newCustomer(),
        await newCustomer(),
        await newCustomer(),
      ];
      const twice = await Promise.all([1, 2, 3].map(() => redeem(first.apiKey, 'WELCOME-2026')));
      expect(twice.map(({ json }) => json.replayed).sort()).toEqual([false, true, true]);
      expect(await balanceOf(first.accountId)).toBe('3');
      const rivals = await Promise.all(
        [second, third].map(({ apiKey }) => redeem(apiKey, 'Welcome-2026')),
      );
      expect(rivals.map(({ status }) => status).sort()).toEqual([200, 404]);
      const { data } = await bench.gateway.call('listPromoCodes', {});
      expect(data).toMatchObject([{ code: 'WELCOME-2026', redemptions: 2, max_redemptions: 2 }]);
      const { unspent } = await bench.gateway.call('showAccount', { account_id: first.accountId });
      expect(unspent.lots).toMatchObject([
        { source: 'promotional', expires_at: '2100-01-01T00:00:00.000Z', remaining_usd: '3' },
      ]);
    });

    it('that have expired get the same refusal as unknown ones', async () => {
      const expired = { code: 'EXPIRED-1', amount_usd: '3', max_redemptions: 2 };
      await bench.gateway.call('createPromoCode', {
        ...expired,
        expires_at: '2020-01-01T00:00:00Z',
      });
      await expect(bench.gateway.call('createPromoCode', expired)).rejects.toThrow(/^code: /);
      const { apiKey } = await newCustomer();
      await bench.gateway.call('createPromoCode', {
        ...expired,
        code: 'EXPIRED-2',
        credit_expires_at: '2020-01-01T00:00:00Z',
      });
      const [unknown, ...refused] = [
        await redeem(apiKey, 'NEVER-WAS'),
        await redeem(apiKey, 'EXPIRED-1'),
        await redeem(apiKey, 'EXPIRED-2'),
      ];
      expect(unknown?.status).toBe(404);
      for (const { status, json } of refused) {
        expect([status, json.error]).toEqual([404, unknown?.json.error]);
      }
    });
  });
});

it('without STRIPE_SECRET_KEY the gateway serves no payments', async () => {
  const gateway = await startTestGateway();
  const { apiKey } = await gateway.createKey();
  const headers = { authorization: `Bearer ${apiKey}` };
  for (const path of ['/v1/dashboard/top-ups', '/v1/dashboard/auto-top-up', '/webhooks/stripe']) {
    expect((await fetch(`${gateway.url}${path}`, { headers })).status).toBe(404);
  }
  await expect(gateway.call('listPayments', {})).rejects.toThrow(/^payments: are not configured/);
  expect(await (await fetch(`${gateway.adminUrl}/metrics`)).text()).not.toContain('_payment');
  await gateway.stop();
});
