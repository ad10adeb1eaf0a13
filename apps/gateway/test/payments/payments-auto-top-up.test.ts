/** Auto top-up, which charges a saved method of the simulated Stripe when the balance is low. */

import '../support/no-ledger-upkeep.js';
import { describe, expect, it } from '@jest/globals';
import { describePayments } from '../support/payments.js';

describePayments((bench) => {
  const { newCustomer, dashboard, eventsOf, deliverAll, balanceOf, notifiedOf, payments } = bench;

  describe('auto top-up', () => {
    const order = {
      threshold_usd: '10',
      amount_usd: '25',
      max_per_day: 2,
      max_per_month_usd: '1000',
    };
    const put = (apiKey: string, body: object) =>
      dashboard(apiKey, 'auto-top-up', { method: 'PUT', body: JSON.stringify(body) });
    const intents = () => bench.stripe.requests.get('POST /v1/payment_intents') ?? 0;

    async function newSaver(balance?: string, change: object = {}) {
      const customer = await newCustomer(balance);
      const placed = await put(customer.apiKey, { ...order, ...change });
      expect(placed.json).toMatchObject({ state: 'needs_method' });
      const checkoutId = String(placed.json.setup_url).split('/').at(-1) ?? '';
      await deliverAll(eventsOf(() => bench.stripe.saveMethod(checkoutId)));
      const { json } = await dashboard(customer.apiKey, 'auto-top-up');
      expect(json.state).toBe('on');
      const { data } = (await payments().autoTopUp.find(customer.accountId))!;
      return { ...customer, method: data.method_id ?? '' };
    }
    const run = () => payments().autoTopUp.runDue();
    const minutesAgo = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString();

    type Data = NonNullable<
      Awaited<ReturnType<ReturnType<typeof payments>['autoTopUp']['find']>>
    >['data'];
    async function changeOrder(accountId: string, by: (data: Data) => object) {
      const { version, data, balanceBelow } = (await payments().autoTopUp.find(accountId))!;
      await bench.gateway.running.store.writeDocument({
        kind: 'auto_top_up',
        id: accountId,
        accountId,
        version,
        data: { ...data, ...by(data) },
        balanceBelow,
      });
    }
    const changeAttempt = (accountId: string, change: object) =>
      changeOrder(accountId, ({ attempt }) => ({ attempt: { ...attempt, ...change } }));
    const endPause = (accountId: string) =>
      changeOrder(accountId, ({ used }) => ({ used: { ...used, last_at: minutesAgo(11) } }));
    const spend = async (accountId: string, amount: string) => {
      const adjustment = {
        account_id: accountId,
        reason: 'correction',
        amount_usd: amount,
      } as const;
      await bench.gateway.call('adjustBalance', {
        ...adjustment,
        adjustment_id: `s${String(Math.random()).slice(2)}`,
      });
    };

    // F110: two replicas see the same low balance: one charge.
    it('charges the saved method once when the balance is low, however many replicas check it', async () => {
      const saver = await newSaver('10');
      await run();
      expect(await balanceOf(saver.accountId)).toBe('10');
      await spend(saver.accountId, '-0.01');
      const before = intents();
      const others = 'DATABASE_URL' in bench.env ? [await bench.startReplica()] : [];
      const gateways = [bench.gateway, ...others];
      const runOn = async (n: number) =>
        gateways[n % gateways.length]?.running.appParts.payments?.autoTopUp.runDue();
      await Promise.all(Array.from({ length: 10 }, (_, n) => runOn(n)));
      for (const other of others) await other.stop();
      expect(await balanceOf(saver.accountId)).toBe('34.99');
      expect(intents() - before).toBe(1);
      const { json } = await dashboard(saver.apiKey, 'top-ups');
      expect(json.data).toMatchObject([{ by: 'auto_top_up', state: 'paid', amount_usd: '25' }]);
    });

    it('keeps its limits per day and per month', async () => {
      const saver = await newSaver('1', { max_per_month_usd: '1000' });
      for (const balance of ['26', '27', '3']) {
        await run();
        expect(await balanceOf(saver.accountId)).toBe(balance);
        await spend(saver.accountId, '-24');
        await endPause(saver.accountId);
      }
      const thrifty = await newSaver('1', { max_per_day: 9, max_per_month_usd: '49.99' });
      await run();
      await spend(thrifty.accountId, '-24');
      await endPause(thrifty.accountId);
      await run();
      expect(await balanceOf(thrifty.accountId)).toBe('2');
    });

    // F373: the operator lowers the most that one payment may be, after an order: no charge exceeds
    // it.
    it('pays at most the maximum of one payment, which may be lower than when it was ordered', async () => {
      const saver = await newSaver('1');
      await changeOrder(saver.accountId, () => ({ amount_cents: 600_00 }));
      await run();
      expect(await balanceOf(saver.accountId)).toBe('501');
    });

    // F347: a balance is below its threshold when the month's allowance is due: it is booked first,
    // and the saved card is charged only if it is not enough.
    it('charges nothing that the allowance of the month pays', async () => {
      const before = intents();
      const saver = await newSaver('1');
      const allow = (allowance_usd: string) =>
        bench.gateway.call('updateAccount', { account_id: saver.accountId, allowance_usd });
      await allow('9');
      await run();
      expect(await balanceOf(saver.accountId)).toBe('10');
      await run();
      expect(intents() - before).toBe(0);
      await spend(saver.accountId, '-0.01');
      await run();
      expect(await balanceOf(saver.accountId)).toBe('34.99');
      expect(intents() - before).toBe(1);
    });

    // F112
    it('pauses after each charge, so that a balance that stays low causes no burst', async () => {
      const saver = await newSaver('1');
      await spend(saver.accountId, '-101');
      const before = intents();
      const others = 'DATABASE_URL' in bench.env ? [await bench.startReplica()] : [];
      const gateways = [bench.gateway, ...others];
      for (let n = 0; n < 6; n += 1) {
        await gateways[n % gateways.length]?.running.appParts.payments?.autoTopUp.runDue();
      }
      for (const other of others) await other.stop();
      expect(intents() - before).toBe(1);
      expect(await balanceOf(saver.accountId)).toBe('-75');
      await endPause(saver.accountId);
      await run();
      expect(await balanceOf(saver.accountId)).toBe('-50');
      // An order that a person places again need not wait.
      await put(saver.apiKey, { ...order, max_per_day: 9 });
      await run();
      expect(await balanceOf(saver.accountId)).toBe('-25');
    });

    it('pays up to a target, in whole cents and within the limits of one payment', async () => {
      const target = { amount_usd: undefined, target_usd: '40' };
      const saver = await newSaver('3.00000000000001', target);
      expect((await dashboard(saver.apiKey, 'auto-top-up')).json).toMatchObject({
        amount_usd: null,
        target_usd: '40',
      });
      await run();
      expect(await balanceOf(saver.accountId)).toBe('40.00000000000001');
      // A target close to the balance still costs the smallest payment.
      await put(saver.apiKey, { ...order, ...target, threshold_usd: '39', max_per_day: 9 });
      await spend(saver.accountId, '-1.5');
      await run();
      expect(await balanceOf(saver.accountId)).toBe('43.50000000000001');
      expect(bench.stripe.netCentsOf(saver.accountId)).toBe(3_700 + 500);
    });

    it('waits longer after each charge that does not reach the provider, on all replicas together', async () => {
      const saver = await newSaver('1');
      bench.stripe.setDown(true);
      await run();
      const tries = async () => (await payments().autoTopUp.find(saver.accountId))!.data.attempt;
      // The waits double: 1.5, 3 and 6 minutes, up to an hour.
      for (const [n, [early, due]] of (
        [
          [1.4, 1.6],
          [2.9, 3.1],
          [5.9, 6.1],
        ] as const
      ).entries()) {
        const since = n === 0 ? 'started_at' : 'tried_at';
        await changeAttempt(saver.accountId, { [since]: minutesAgo(early) });
        await run();
        expect(await tries()).toMatchObject({ tries: n });
        await changeAttempt(saver.accountId, { [since]: minutesAgo(due) });
        await Promise.all([run(), run(), run()]);
        expect(await tries()).toMatchObject({ tries: n + 1 });
      }
      await changeAttempt(saver.accountId, { tries: 40, tried_at: minutesAgo(59) });
      await run();
      expect(await tries()).toMatchObject({ tries: 40 });
      await changeAttempt(saver.accountId, { tried_at: minutesAgo(61) });
      bench.stripe.setDown(false);
      await run();
      expect(await balanceOf(saver.accountId)).toBe('26');
      expect(bench.stripe.netCentsOf(saver.accountId)).toBe(2_500);
    });

    // F112: an automatic charge is declined: no further charges until the customer places the order
    // again.
    it('that is declined stops until the customer orders it again', async () => {
      const saver = await newSaver('1');
      bench.stripe.setCard(saver.method, 'declines');
      const before = intents();
      for (let n = 0; n < 3; n += 1) await run();
      expect(intents() - before).toBe(1);
      const { json } = await dashboard(saver.apiKey, 'auto-top-up');
      expect(json).toMatchObject({ state: 'stopped', stopped_code: 'card_declined' });
      const notified = await notifiedOf(saver.accountId);
      expect(notified.sort()).toEqual(['auto_top_up.failed', 'payment.failed']);
      bench.stripe.setCard(saver.method, 'pays');
      expect((await put(saver.apiKey, order)).json).toMatchObject({ state: 'on', setup_url: null });
      await run();
      expect(await balanceOf(saver.accountId)).toBe('26');
    });

    // F111: the response to an automatic charge is lost: Stripe is asked whether it charged; if
    // not, repeated under the same id.
    it('whose response is lost charges the method once, and credits the account once', async () => {
      const saver = await newSaver('1');
      bench.stripe.setDown(true);
      await run();
      bench.stripe.setDown(false);
      await run();
      // The attempt is not repeated yet: another replica may still be waiting for its response.
      expect(await balanceOf(saver.accountId)).toBe('1');
      await changeAttempt(saver.accountId, { started_at: minutesAgo(10) });
      bench.stripe.dropNext('/v1/payment_intents', 'before');
      await run();
      await changeAttempt(saver.accountId, { tried_at: minutesAgo(10) });
      await run();
      expect(await balanceOf(saver.accountId)).toBe('26');
      expect(bench.stripe.netCentsOf(saver.accountId)).toBe(2_500);
    });

    it('that never reached the provider is given up after 13 hours, and another one is made', async () => {
      const saver = await newSaver('1');
      bench.stripe.setDown(true);
      await run();
      bench.stripe.setDown(false);
      const before = intents();
      await changeAttempt(saver.accountId, { started_at: minutesAgo(12.5 * 60) });
      await run();
      expect(intents()).toBe(before);
      await changeAttempt(saver.accountId, {
        started_at: minutesAgo(13.5 * 60),
        tried_at: minutesAgo(61),
      });
      await run();
      await endPause(saver.accountId);
      await run();
      expect(await balanceOf(saver.accountId)).toBe('26');
      expect(bench.stripe.netCentsOf(saver.accountId)).toBe(2_500);
      const { json } = await dashboard(saver.apiKey, 'top-ups');
      expect(json.data).toMatchObject([{ state: 'paid' }, { state: 'failed' }]);
    });

    it('of a method that was replaced is not repeated: the order stops', async () => {
      const saver = await newSaver('1');
      bench.stripe.setDown(true);
      await run();
      bench.stripe.setDown(false);
      const before = intents();
      await changeAttempt(saver.accountId, {
        started_at: minutesAgo(10),
        customer_id: 'cus_replaced',
      });
      await run();
      await run();
      expect(intents()).toBe(before);
      const { json } = await dashboard(saver.apiKey, 'auto-top-up');
      expect(json).toMatchObject({ state: 'stopped', stopped_code: 'no_answer' });
    });

    it('is on once the method is saved on any page of the order', async () => {
      const { apiKey } = await newCustomer('1');
      const [first, second] = [await put(apiKey, order), await put(apiKey, order)];
      const save = ({ json }: typeof first) => {
        const checkoutId = String(json.setup_url).split('/').at(-1) ?? '';
        return deliverAll(eventsOf(() => bench.stripe.saveMethod(checkoutId)));
      };
      await save(first);
      expect((await dashboard(apiKey, 'auto-top-up')).json.state).toBe('on');
      await dashboard(apiKey, 'auto-top-up', { method: 'DELETE' });
      await save(second);
      expect((await dashboard(apiKey, 'auto-top-up')).json.state).toBe('off');
    });

    it('with a delayed method waits for the payment, and starts no other', async () => {
      const saver = await newSaver('1');
      bench.stripe.setCard(saver.method, 'pays_later');
      const before = intents();
      for (let n = 0; n < 3; n += 1) await run();
      expect(intents() - before).toBe(1);
      const { json } = await dashboard(saver.apiKey, 'top-ups');
      expect(json.data).toMatchObject([{ state: 'pending' }]);
    });

    it('charges nothing after a refund, a dispute or the erasure of the account', async () => {
      const before = intents();
      for (const [code, takeBack] of [
        ['refund', (reference: string) => bench.stripe.refund(reference, 2_000)],
        ['chargeback', (reference: string) => bench.stripe.openDispute(reference)],
      ] as const) {
        const saver = await newSaver();
        const { checkoutId } = await bench.start(saver.apiKey, '20');
        let reference = '';
        await deliverAll(eventsOf(() => (reference = bench.stripe.pay(checkoutId))));
        const events = eventsOf(() => takeBack(reference));
        await deliverAll(events);
        await run();
        expect(await balanceOf(saver.accountId)).toBe('0');
        const stopped = await dashboard(saver.apiKey, 'auto-top-up');
        expect(stopped.json).toMatchObject({ state: 'stopped', stopped_code: code });
        // A notification that is repeated does not stop an order that was placed again.
        await put(saver.apiKey, order);
        await deliverAll(events);
        expect((await dashboard(saver.apiKey, 'auto-top-up')).json.state).toBe('on');
        const ended = { account_id: saver.accountId };
        await bench.gateway.call('closeAccount', {
          ...ended,
          closing_id: saver.id,
          reason: 'asked',
        });
        expect(await bench.gateway.call('showAutoTopUp', ended)).toMatchObject({ state: 'off' });
        await bench.gateway.call('eraseAccount', ended);
        await run();
        expect(await balanceOf(saver.accountId)).toBe('0');
      }
      expect(intents()).toBe(before);
    });

    it('waits while the account has no usable key, and charges once it has one again', async () => {
      const saver = await newSaver('1');
      await bench.gateway.call('suspendKey', { key_id: saver.id });
      await run();
      expect(await balanceOf(saver.accountId)).toBe('1');
      await bench.gateway.call('resumeKey', { key_id: saver.id });
      await run();
      expect(await balanceOf(saver.accountId)).toBe('26');
    });

    it('is shown and canceled by an operator, also when all keys are revoked', async () => {
      const saver = await newSaver('1');
      const { id, accountId: account_id } = saver;
      await bench.gateway.call('revokeKey', { key_id: id });
      expect(await bench.gateway.call('showAutoTopUp', { account_id })).toMatchObject({
        state: 'on',
        amount_usd: '25',
      });
      const ended = await bench.gateway.call('cancelAutoTopUp', { account_id });
      expect(ended).toMatchObject({ state: 'off' });
      const { data } = (await payments().autoTopUp.find(account_id))!;
      expect([data.customer_id, data.method_id]).toEqual([null, null]);
    });

    it('ends when the customer cancels it, and an invalid order is refused, naming the field', async () => {
      const saver = await newSaver('1');
      const ended = await dashboard(saver.apiKey, 'auto-top-up', { method: 'DELETE' });
      expect(ended.json).toMatchObject({ state: 'off' });
      const before = intents();
      await run();
      expect(intents()).toBe(before);
      for (const [field, change] of [
        ['threshold_usd', { threshold_usd: '0' }],
        ['amount_usd', { amount_usd: '4' }],
        ['amount_usd', { amount_usd: '10' }],
        ['amount_usd', { amount_usd: undefined }],
        ['target_usd', { target_usd: '40' }],
        ['target_usd', { amount_usd: undefined, target_usd: '10' }],
        ['target_usd', { amount_usd: undefined, target_usd: '1000000' }],
        [
          'max_per_month_usd',
          { amount_usd: undefined, target_usd: '40', max_per_month_usd: '39.99' },
        ],
        ['max_per_day', { max_per_day: 0 }],
        ['max_per_month_usd', { max_per_month_usd: '24.99' }],
      ] as const) {
        const refused = await put(saver.apiKey, { ...order, ...change });
        expect([refused.status, refused.json.error.param]).toEqual([400, field]);
      }
    });

    it('can be changed after it was read many times in a minute', async () => {
      const { apiKey } = await newCustomer();
      const headers = { 'x-forwarded-for': '192.0.2.9' };
      for (let n = 0; n < 21; n += 1) {
        expect((await dashboard(apiKey, 'auto-top-up', { headers })).status).toBe(200);
      }
      const ended = await dashboard(apiKey, 'auto-top-up', { method: 'DELETE', headers });
      expect(ended.status).toBe(200);
    });

    it('of a shared account is allowed only to a key that may manage it', async () => {
      const { accountId, apiKey } = await newCustomer();
      await bench.gateway.call('createKey', { name: 'second', account_id: accountId });
      expect((await put(apiKey, order)).status).toBe(403);
      expect((await dashboard(apiKey, 'top-ups')).status).toBe(403);
    });
  });
});
