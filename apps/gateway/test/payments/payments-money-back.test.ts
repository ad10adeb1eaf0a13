/** Refunds and disputes, and the comparison of all payments with the provider. */

import { describe, expect, it, jest } from '@jest/globals';
import { pino } from 'pino';
import { StoreUnavailableError } from '@gateway/balance-store';
import { parseUsd } from '@gateway/billing';
import { PaymentProviderError } from '@gateway/payments';
import { bookFact } from '../../src/payments/book-facts.js';
import { CENT, describePayments } from '../support/payments.js';
import { untilSteady } from '../support/steady-time.js';

describePayments((bench) => {
  const {
    newCustomer,
    dashboard,
    startWith,
    start,
    eventsOf,
    deliverAll,
    newPayer,
    balanceOf,
    notifiedOf,
    payments,
    ask,
  } = bench;

  describe('a payment', () => {
    it('that is refunded by an operator or at the provider is debited once; a balance below 0 disables the key', async () => {
      await untilSteady('day');
      const payer = await newPayer();
      await deliverAll(payer.events);
      const input = { payment_id: payer.paymentId, refund_id: 'r1', amount_usd: '5' };
      const refund = await bench.gateway.call('refundPayment', input);
      expect(refund).toMatchObject({
        amount_usd: '5',
        payment: { taken_back_usd: '5', refundable_usd: '15', unspent_usd: '15' },
      });
      expect(await bench.gateway.call('refundPayment', input)).toEqual(refund);
      await expect(
        bench.gateway.call('refundPayment', { ...input, amount_usd: '6' }),
      ).rejects.toThrow(/^refund_id: /);
      await expect(
        bench.gateway.call('refundPayment', { ...input, refund_id: 'r2', amount_usd: '15.01' }),
      ).rejects.toThrow(/^amount_usd: /);
      expect(await ask(payer.apiKey)).toBe(200);
      const spent = 15n * 100n * CENT - parseUsd(await balanceOf(payer.accountId));
      const shown = await bench.gateway.call('showPayment', { payment_id: payer.paymentId });
      expect(parseUsd(shown.unspent_usd)).toBe(15n * 100n * CENT - spent);
      await deliverAll(eventsOf(() => bench.stripe.refund(payer.reference, 1_500)));
      expect(parseUsd(await balanceOf(payer.accountId))).toBe(-spent);
      expect(await ask(payer.apiKey)).toBe(401);
      const month = new Date().toISOString().slice(0, 7);
      const { json } = await dashboard(payer.apiKey, `statement?month=${month}`);
      expect(json.bookings).toMatchObject([
        { id: `topup:stripe:${payer.reference}`, reference: payer.reference },
        { id: `adjustment:stripe:${refund.id}`, reason: 'refund', reference: payer.reference },
        { id: expect.stringMatching(/^adjustment:stripe:re_/), reference: payer.reference },
      ]);
    });

    it('whose refund fails is not reported as refunded; the trail names who refunded it', async () => {
      const payer = await newPayer();
      await deliverAll(payer.events);
      const input = { payment_id: payer.paymentId, refund_id: 'f1', amount_usd: '5' };
      const { id } = await bench.gateway.call('refundPayment', input);
      const { data } = await bench.gateway.call('listTrail', { account_id: payer.accountId });
      expect(data.filter(({ action }) => action === 'payment.refund')).toMatchObject([
        { actor: 'admin', details: { payment_id: payer.paymentId, provider_refund_id: id } },
      ]);
      bench.stripe.failRefund(id);
      for (let n = 0; n < 2; n += 1) {
        await expect(bench.gateway.call('refundPayment', input)).rejects.toThrow(
          /^refund_id: the refund with this id failed/,
        );
      }
      expect(await balanceOf(payer.accountId)).toBe('20');
      const other = await bench.gateway.call('refundPayment', { ...input, refund_id: 'f2' });
      expect(other).toMatchObject({ payment: { taken_back_usd: '5', refundable_usd: '15' } });
    });

    it('counts as spent before newer payments', async () => {
      const payer = await newPayer('10');
      await deliverAll(payer.events);
      const { paymentId, checkoutId } = await start(payer.apiKey, '20');
      await deliverAll(eventsOf(() => bench.stripe.pay(checkoutId)));
      const use = { account_id: payer.accountId, reason: 'correction', amount_usd: '-12' } as const;
      await bench.gateway.call('adjustBalance', { ...use, adjustment_id: payer.paymentId });
      const unspentOf = async (payment_id: string) =>
        (await bench.gateway.call('showPayment', { payment_id })).unspent_usd;
      expect([await unspentOf(payer.paymentId), await unspentOf(paymentId)]).toEqual(['0', '18']);
    });

    it('counts as spent before goodwill that came later', async () => {
      const payer = await newPayer('10');
      await deliverAll(payer.events);
      const adjust = async (reason: 'goodwill' | 'correction', amount_usd: string) =>
        bench.gateway.call('adjustBalance', {
          account_id: payer.accountId,
          reason,
          amount_usd,
          adjustment_id: `${payer.paymentId}-${reason}`,
        });
      await adjust('goodwill', '5');
      await adjust('correction', '-7');
      const { unspent_usd } = await bench.gateway.call('showPayment', {
        payment_id: payer.paymentId,
      });
      expect(unspent_usd).toBe('3');
    });

    const refund = (payer: { readonly paymentId: string }, refund_id: string, amount_usd: string) =>
      bench.gateway.call('refundPayment', {
        payment_id: payer.paymentId,
        refund_id,
        amount_usd,
      });
    const refundableOf = async (payer: { readonly paymentId: string }) =>
      (await bench.gateway.call('showPayment', { payment_id: payer.paymentId })).refundable_usd;
    const refundsMade = () => bench.stripe.requests.get('POST /v1/refunds') ?? 0;

    // F367: an operator refunds more than the gateway shows as refundable, as after a dispute:
    // refused with the figure, before the payment provider is asked.
    it('of which nothing, or less, is refundable is not refunded, and the provider is not asked', async () => {
      const payer = await newPayer('10');
      const before = refundsMade();
      await deliverAll(payer.events);
      await expect(refund(payer, 'more', '10.01')).rejects.toThrow(
        'amount_usd: exceeds what is refundable: 10',
      );
      let disputeId = '';
      await deliverAll(eventsOf(() => (disputeId = bench.stripe.openDispute(payer.reference))));
      expect(await refundableOf(payer)).toBe('0');
      await expect(refund(payer, 'x1', '10')).rejects.toThrow(
        'amount_usd: exceeds what is refundable: 0',
      );
      expect(refundsMade()).toBe(before);
      expect(await balanceOf(payer.accountId)).toBe('0');
      await deliverAll(eventsOf(() => bench.stripe.closeDispute(disputeId, 'won')));
      expect(await refund(payer, 'x1', '10')).toMatchObject({
        payment: { taken_back_usd: '10', refundable_usd: '0' },
      });
      expect(refundsMade()).toBe(before + 1);
    });

    // F368: refunds of one payment are made at the same time: together they pay back no more than
    // is refundable; one that is repeated pays back once, also after a fault.
    it('of which parts are refunded at once is never refunded beyond what is refundable', async () => {
      const payer = await newPayer('20');
      await deliverAll(payer.events);
      const ids = ['a', 'b', 'c', 'a', 'b', 'c'];
      const outcomes = await Promise.allSettled(ids.map((id) => refund(payer, id, '8')));
      const refused = outcomes.flatMap((each) =>
        each.status === 'rejected' ? [String(each.reason)] : [],
      );
      for (const reason of refused) expect(reason).toContain('exceeds what is refundable');
      const paidBack = 20_00 - bench.stripe.netCentsOf(payer.accountId);
      expect([8_00, 16_00]).toContain(paidBack);
      // Those that were refused only because others were under way succeed later, up to the bound.
      for (const id of ['a', 'b', 'c']) await refund(payer, id, '8').catch(() => undefined);
      expect(bench.stripe.netCentsOf(payer.accountId)).toBe(4_00);
      expect([await balanceOf(payer.accountId), await refundableOf(payer)]).toEqual(['4', '4']);
      await refund(payer, 'rest', '4');
      for (const id of ['a', 'b', 'c', 'rest', 'other']) {
        await refund(payer, id, id === 'rest' ? '4' : '8').catch(() => undefined);
      }
      expect([bench.stripe.netCentsOf(payer.accountId), await refundableOf(payer)]).toEqual([
        0,
        '0',
      ]);
    });

    // F368
    it.each(['before', 'after'] as const)(
      'can be refunded again with the same id if the provider fails %s it refunds',
      async (moment) => {
        const payer = await newPayer('10');
        await deliverAll(payer.events);
        bench.stripe.setDown(moment === 'before');
        if (moment === 'after') {
          const { provider } = payments();
          const made = jest.spyOn(provider, 'refund').mockImplementationOnce(async (of) => {
            made.mockRestore();
            await provider.refund(of);
            throw new PaymentProviderError('unavailable', 'the answer was lost');
          });
        }
        await expect(refund(payer, 'again', '10')).rejects.toThrow(/^payments: /);
        bench.stripe.setDown(false);
        // The notification comes before the repetition, so that nothing seems to be refundable.
        const refunds = bench.stripe.events.filter(
          ({ type, data }) =>
            type === 'refund.created' &&
            (data.object as { payment_intent?: unknown }).payment_intent === payer.reference,
        );
        expect(refunds).toHaveLength(moment === 'after' ? 1 : 0);
        await deliverAll(refunds);
        await expect(refund(payer, 'another', '10')).rejects.toThrow('exceeds what is refundable');
        expect(await refund(payer, 'again', '10')).toMatchObject({
          payment: { taken_back_usd: '10', refundable_usd: '0' },
        });
        expect(bench.stripe.netCentsOf(payer.accountId)).toBe(0);
      },
    );

    // F109
    it('that is disputed is debited, and credited again when the dispute is won; an inquiry changes nothing', async () => {
      const payer = await newPayer();
      await deliverAll(payer.events);
      await deliverAll(
        eventsOf(() => bench.stripe.openDispute(payer.reference, { isInquiry: true })),
      );
      expect(await balanceOf(payer.accountId)).toBe('20');
      let disputeId = '';
      await deliverAll(eventsOf(() => (disputeId = bench.stripe.openDispute(payer.reference))));
      expect(await balanceOf(payer.accountId)).toBe('0');
      const { data } = await bench.gateway.call('listLedger', {
        account_id: payer.accountId,
        limit: 1,
      });
      expect(data[0]).toMatchObject({
        id: `adjustment:stripe:${disputeId}`,
        reason: 'chargeback',
        reference: payer.reference,
      });
      await deliverAll(eventsOf(() => bench.stripe.closeDispute(disputeId, 'won')));
      expect(await balanceOf(payer.accountId)).toBe('20');
    });

    // F349: a dispute, or a bank's inquiry, changes after its events were deleted: none is sent a
    // second time.
    it.each([
      ['dispute', 'won'],
      ['inquiry', 'warning_closed'],
    ])(
      'whose %s changes after its events were deleted has none of them again',
      async (kind, end) => {
        const payer = await newPayer();
        await deliverAll(payer.events);
        const isInquiry = kind === 'inquiry';
        const opened = eventsOf(() => bench.stripe.openDispute(payer.reference, { isInquiry }));
        await deliverAll(opened);
        expect(await notifiedOf(payer.accountId)).toContain('dispute.opened');
        await deleteEvents();
        const closed = opened.map((event) => ({
          ...event,
          type: 'charge.dispute.closed',
          data: { object: { ...event.data.object, status: end } },
        }));
        await deliverAll(closed);
        expect(await balanceOf(payer.accountId)).toBe('20');
        expect(await notifiedOf(payer.accountId)).toEqual(['dispute.closed']);
        await deleteEvents();
        await deliverAll([...payer.events, ...closed]);
        expect(await notifiedOf(payer.accountId)).toEqual([]);
      },
    );

    async function deleteEvents(): Promise<void> {
      const { store } = bench.gateway.running;
      const later = new Date(Date.now() + 3_600_000);
      const giveUp = { before: later, channels: ['webhook', 'mail'] as const };
      while ((await store.pruneEvents({ finishedBefore: later, giveUp })) > 0);
    }
  });

  describe('a comparison with the provider', () => {
    const range = () => ({
      from: new Date(Date.now() - 3_600_000).toISOString(),
      until: new Date(Date.now() + 60_000).toISOString(),
    });

    // F105: notifications lost, gateways killed, ledger losing power: the comparison books what is
    // missing, then finds nothing.
    it('names payments whose notifications were lost, books them, and then finds none', async () => {
      await bench.gateway.call('reconcilePayments', { ...range(), apply: true });
      const known = await bench.gateway.call('reconcilePayments', range());
      const stuck = known.missing.map(({ id }) => id);
      const payers = [await newPayer(), await newPayer('30')];
      const [first] = payers;
      const refundId = bench.stripe.refund(first!.reference, 100);
      const disputeId = bench.stripe.openDispute(payers[1]!.reference);
      const named = await bench.gateway.call('reconcilePayments', range());
      const ids = named.missing.map(({ id }) => id).filter((id) => !stuck.includes(id));
      const lost = [...payers.map(({ reference }) => reference), refundId, disputeId];
      expect(ids.sort()).toEqual([...lost].sort());
      expect(await balanceOf(first!.accountId)).toBe('0');

      const applied = await bench.gateway.call('reconcilePayments', { ...range(), apply: true });
      const booked = applied.missing.filter(({ outcome }) => outcome === 'booked');
      expect(new Set(booked.map(({ id }) => id))).toEqual(new Set(lost));
      expect(await balanceOf(first!.accountId)).toBe('19');
      expect(await balanceOf(payers[1]!.accountId)).toBe('0');
      const after = await bench.gateway.call('reconcilePayments', range());
      expect(after.missing.map(({ id }) => id)).toEqual(stuck);
      await deliverAll(first!.events);
      expect(await balanceOf(first!.accountId)).toBe('19');
    });

    // F353: a process is killed between the entry of a payment and its event: the next comparison
    // writes the event, once.
    it('writes the events that a killed process had not written yet, each once', async () => {
      const payer = await newPayer();
      const { provider } = payments();
      const { store: ledger } = bench.gateway.running;
      const killed = new StoreUnavailableError('killed');
      const record = jest.spyOn(ledger, 'recordEvent').mockRejectedValueOnce(killed);
      const log = pino({ enabled: false });
      const paid = await provider.findPaid(payer.reference);
      await expect(bookFact({ ledger, provider, log }, paid!)).rejects.toThrow('killed');
      record.mockRestore();
      expect(await balanceOf(payer.accountId)).toBe('20');
      expect(await notifiedOf(payer.accountId)).toEqual([]);
      await bench.gateway.call('reconcilePayments', range());
      expect(await notifiedOf(payer.accountId)).toEqual([]);
      for (let n = 0; n < 2; n += 1) {
        await bench.gateway.call('reconcilePayments', { ...range(), apply: true });
        expect(await notifiedOf(payer.accountId)).toEqual(['payment.succeeded']);
      }
      expect(await balanceOf(payer.accountId)).toBe('20');
    });

    // F113: Stripe is down while a customer pays: 503; repeated later with the same
    // `Idempotency-Key`: one page.
    it('fails with 503 while the provider is down, and so does a top-up, which can then be repeated', async () => {
      bench.stripe.setDown(true);
      const compared = bench.gateway.call('reconcilePayments', range());
      await expect(compared).rejects.toMatchObject({ status: 503 });
      const { apiKey } = await newCustomer();
      expect((await startWith(apiKey, { amount_usd: '20' }, 'later')).status).toBe(503);
      bench.stripe.setDown(false);
      const { status, json } = await startWith(apiKey, { amount_usd: '20' }, 'later');
      expect([status, json.state]).toEqual([200, 'open']);
    });
  });
});
