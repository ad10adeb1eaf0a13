/** Payments that the ledger could not take: listed until they are credited or paid back. */

import { describe, expect, it } from '@jest/globals';
import { creditId } from '../../src/payments/implied-entries.js';
import { CENT, describePayments } from '../support/payments.js';

describePayments((bench) => {
  const { newCustomer, newPayer, deliver, deliverAll, eventsOf, balanceOf } = bench;

  const listed = async () => {
    const { data } = await bench.gateway.call('listUnbookedPayments', { limit: 1_000 });
    return data.map(({ id }) => id);
  };

  /** Makes a payment that this gateway did not start, and delivers its notifications. */
  async function newUnknown(amountCents = 2_000) {
    const { accountId } = await newCustomer();
    const { url } = await bench.payments().provider.startCheckout({
      origin: { paymentId: `pay_of_${accountId}`, accountId },
      amountCents,
      tax: 'off',
      successUrl: 'https://gateway.example/paid',
      cancelUrl: 'https://gateway.example/canceled',
    });
    const checkoutId = new URL(url).pathname.split('/').at(-1) ?? '';
    let reference = '';
    const events = eventsOf(() => (reference = bench.stripe.pay(checkoutId)));
    await deliverAll(events);
    expect(await listed()).toContain(reference);
    return { accountId, reference, events };
  }

  const creditByHand = (accountId: string, reference: string, amount = '20') =>
    bench.gateway.call('topUpAccount', {
      account_id: accountId,
      top_up_id: `stripe:${reference}`,
      amount_usd: amount,
      source: 'paid',
    });

  const compare = (apply: boolean) =>
    bench.gateway.call('reconcilePayments', {
      from: new Date(Date.now() - 3_600_000).toISOString(),
      until: new Date(Date.now() + 60_000).toISOString(),
      apply,
    });

  describe('an unbooked payment is no longer listed', () => {
    // F107
    it('when an operator credits it, to any account, also if its notification is repeated', async () => {
      const [own, other] = [await newUnknown(), await newUnknown()];
      await creditByHand(own.accountId, own.reference);
      expect(await listed()).not.toContain(own.reference);
      expect(await listed()).toContain(other.reference);
      const { accountId } = await newCustomer();
      await creditByHand(accountId, other.reference);
      await deliverAll([...own.events, ...other.events]);
      const ids = await listed();
      expect([own, other].filter(({ reference }) => ids.includes(reference))).toEqual([]);
      expect([await balanceOf(own.accountId), await balanceOf(accountId)]).toEqual(['20', '20']);
    });

    it('when the entry is written directly to the ledger, as another process would do', async () => {
      const { accountId, reference } = await newUnknown();
      const credited = await bench.gateway.running.store.topUp({
        topUpId: `stripe:${reference}`,
        to: { accountId },
        amount: 2_000n * CENT,
        source: 'paid',
        by: { name: 'command line' },
      });
      expect(credited.outcome).toBe('credited');
      expect(await listed()).not.toContain(reference);
    });

    it('when a later notification or the comparison books it', async () => {
      for (const book of ['notification', 'comparison'] as const) {
        const { reference, events, accountId } = await newPayer();
        const event = events.find(({ type }) => type === 'payment_intent.succeeded')!;
        const object = { ...event.data.object, amount_received: 2_001 };
        expect(await deliver({ ...event, data: { object } })).toBe(200);
        expect(await listed()).toContain(reference);
        await (book === 'comparison' ? compare(true) : deliverAll(events));
        expect(await balanceOf(accountId)).toBe('20');
        expect(await listed()).not.toContain(reference);
      }
    });

    // F107
    it('when the provider has refunded all of it, and is listed again if a refund fails', async () => {
      const { reference } = await newUnknown();
      const first = eventsOf(() => bench.stripe.refund(reference, 500));
      await deliverAll([...first, ...first]);
      expect(await listed()).toContain(reference);
      let refundId = '';
      const second = eventsOf(() => (refundId = bench.stripe.refund(reference, 1_500)));
      await deliverAll(second);
      const ids = await listed();
      expect(ids.filter((id) => [reference, refundId].includes(id))).toEqual([]);
      await deliverAll(eventsOf(() => bench.stripe.failRefund(refundId)));
      await deliverAll(second);
      expect(await listed()).toContain(reference);
    });

    it('while it is disputed, and is listed again when the dispute is won', async () => {
      const { reference } = await newUnknown();
      let disputeId = '';
      await deliverAll(eventsOf(() => (disputeId = bench.stripe.openDispute(reference))));
      expect(await listed()).not.toContain(reference);
      await deliverAll(eventsOf(() => bench.stripe.closeDispute(disputeId, 'won')));
      expect(await listed()).toContain(reference);
    });
  });

  it('a refund of a payment that was credited by hand stays listed until it is booked', async () => {
    const { accountId, reference } = await newUnknown();
    let refundId = '';
    await deliverAll(eventsOf(() => (refundId = bench.stripe.refund(reference, 2_000))));
    expect(await listed()).not.toContain(refundId);
    await creditByHand(accountId, reference);
    expect(await listed()).toContain(refundId);
    expect(await listed()).not.toContain(reference);
    await compare(true);
    expect(await balanceOf(accountId)).toBe('0');
    expect(await listed()).not.toContain(refundId);
  });

  // F351: a payment that was credited by hand is refunded: other payments of the account stay
  // unspent.
  it('a payment that was credited by hand and refunded leaves the others unspent', async () => {
    const payer = await newPayer('10');
    await deliverAll(payer.events);
    const { reference } = await newUnknown();
    await creditByHand(payer.accountId, reference);
    await deliverAll(eventsOf(() => bench.stripe.refund(reference, 2_000)));
    expect(await balanceOf(payer.accountId)).toBe('10');
    const input = { payment_id: payer.paymentId };
    expect((await bench.gateway.call('showPayment', input)).unspent_usd).toBe('10');
  });

  it('a payment whose id was credited with another amount stays listed as a conflict', async () => {
    for (const [amount, isListed] of [
      ['19', true],
      ['20', false],
    ] as const) {
      const { accountId, reference, events } = await newPayer();
      await creditByHand(accountId, reference, amount);
      await deliverAll(events);
      const { data } = await bench.gateway.call('listUnbookedPayments', { limit: 1_000 });
      const reasons = data.filter(({ id }) => id === reference).map(({ reason }) => reason);
      expect(reasons).toEqual(isListed ? ['conflict'] : []);
      expect(await balanceOf(accountId)).toBe(amount);
    }
  });

  it('a page of the list of unbooked payments is full, however many settled payments lie between', async () => {
    const made = [];
    for (let n = 0; n < 4; n += 1) made.push(await newUnknown());
    const [first, second, third, fourth] = made;
    for (const { accountId, reference } of [second!, third!]) {
      await creditByHand(accountId, reference);
    }
    const page = await bench.gateway.call('listUnbookedPayments', { limit: 1 });
    expect(page.data.map(({ id }) => id)).toEqual([fourth?.reference]);
    const next = await bench.gateway.call('listUnbookedPayments', {
      limit: 1,
      cursor: page.next_cursor ?? '',
    });
    expect(next.data.map(({ id }) => id)).toEqual([first?.reference]);
    const entries = await bench.gateway.running.store.findEntries(
      made.map(({ reference }) => creditId('stripe', reference)),
    );
    expect(entries).toHaveLength(2);
  });
});
