/** Payments with tax: the net is credited, and what is paid back takes its part of the tax. */

import { afterEach, describe, expect, it } from '@jest/globals';
import { parseUsd } from '@gateway/billing';
import { CENT, describePayments } from '../support/payments.js';
import type { PaymentBench } from '../support/payments.js';
import { gatewayCommand } from '../support/gateway-process.js';

const GERMAN = [{ percent: 19, country: 'DE' }];

function ofBench(bench: PaymentBench) {
  const entriesOf = async (account_id: string) => {
    const { data } = await bench.gateway.call('listLedger', { account_id, limit: 100 });
    return data.toReversed();
  };
  const paymentOf = (payment_id: string) => bench.gateway.call('showPayment', { payment_id });
  const compare = (apply: boolean) =>
    bench.gateway.call('reconcilePayments', {
      from: new Date(Date.now() - 3_600_000).toISOString(),
      until: new Date(Date.now() + 60_000).toISOString(),
      apply,
    });
  return { entriesOf, paymentOf, compare };
}

/** A customer whose balance of 1 USD orders charges of 20 below 5. */
async function orderAutoTopUp(bench: PaymentBench, { apiKey }: { readonly apiKey: string }) {
  const rules = { threshold_usd: '5', amount_usd: '20', max_per_day: 2, max_per_month_usd: '100' };
  const ordered = await bench.dashboard(apiKey, 'auto-top-up', {
    method: 'PUT',
    body: JSON.stringify(rules),
  });
  const page = new URL(ordered.json.setup_url).pathname.split('/').at(-1) ?? '';
  await bench.deliverAll(bench.eventsOf(() => bench.stripe.saveMethod(page)));
  return ordered;
}

/** A customer who was charged without a page. */
async function newAutoPayer(bench: PaymentBench) {
  const customer = await bench.newCustomer('1');
  await orderAutoTopUp(bench, customer);
  await bench.payments().autoTopUp.runDue();
  const { json } = await bench.dashboard(customer.apiKey, 'top-ups');
  const payment = await bench.gateway.call('showPayment', { payment_id: json.data[0].id });
  const [, ...entries] = await ofBench(bench).entriesOf(customer.accountId);
  return { ...customer, payment, entries };
}

describePayments(
  (bench) => {
    const { newCustomer, newPayer, deliverAll, deliver, eventsOf, balanceOf, dashboard } = bench;
    const { entriesOf, paymentOf, compare } = ofBench(bench);
    afterEach(() => {
      bench.stripe.setTaxes([]);
    });

    /** A customer who was asked for 100 USD and has paid the tax beyond it. */
    async function newTaxedPayer(taxes = GERMAN) {
      bench.stripe.setTaxes(taxes);
      const payer = await newPayer('100');
      await deliverAll(payer.events);
      return payer;
    }

    // F484: a customer pays a tax beyond the amount: the amount is credited, the tax is not.
    it('a tax that is added is paid, but not credited; everybody sees it', async () => {
      const payer = await newTaxedPayer();
      expect(await balanceOf(payer.accountId)).toBe('100');
      const shown = {
        amount_usd: '100',
        paid_amount: '119',
        paid_currency: 'usd',
        net_usd: '100',
        tax_usd: '19',
        tax_percent: '19',
        tax_country: 'DE',
        exchange_rate: null,
      };
      const { json } = await dashboard(payer.apiKey, `top-ups/${payer.paymentId}`);
      expect(json).toMatchObject(shown);
      expect(json).not.toHaveProperty('fees_usd');
      const receipt = await dashboard(payer.apiKey, `top-ups/${payer.paymentId}/receipt`);
      expect(receipt.json).toMatchObject({ net_usd: '100', tax_usd: '19' });
      expect(await paymentOf(payer.paymentId)).toMatchObject({
        ...shown,
        credited_usd: '100',
        refundable_usd: '119',
        unspent_usd: '100',
      });
      expect(await entriesOf(payer.accountId)).toMatchObject([
        { kind: 'top_up', amount_usd: '100', tax_usd: '19' },
      ]);
      const month = new Date().toISOString().slice(0, 7);
      const statement = await dashboard(payer.apiKey, `statement?month=${month}`);
      expect(statement.json.bookings).toMatchObject([
        { amount_usd: '100', tax_usd: '19', tax_percent: '19', tax_country: 'DE' },
      ]);
      const texts = (statement.json.lines as readonly { readonly text: string }[]).map(
        ({ text }) => text,
      );
      expect(texts).toContain(`Credit: paid, ${payer.reference}, tax 19 USD (19 % DE)`);
      const events = await bench.gateway.call('listEvents', { account_id: payer.accountId });
      const succeeded = events.data.filter(({ type }) => type === 'payment.succeeded');
      expect(succeeded).toMatchObject([
        { data: { amount_usd: '100', tax_usd: '19', paid: '119', currency: 'usd' } },
      ]);
    });

    it('a payment without tax is credited whole, and its tax is 0', async () => {
      const payer = await newTaxedPayer([]);
      expect(await balanceOf(payer.accountId)).toBe('100');
      expect(await paymentOf(payer.paymentId)).toMatchObject({ tax_usd: '0', tax_percent: null });
    });

    it('a payment of less or more than the amount and its tax is not booked', async () => {
      bench.stripe.setTaxes(GERMAN);
      const { apiKey, accountId } = await newCustomer();
      const { checkoutId } = await bench.start(apiKey, '100');
      const as = { amountCents: 9_999, currency: 'usd' };
      await deliverAll(eventsOf(() => bench.stripe.pay(checkoutId, { as })));
      expect(await balanceOf(accountId)).toBe('0');
      const { data } = await bench.gateway.call('listUnbookedPayments', { limit: 1 });
      expect(data).toMatchObject([{ reason: 'other_amount', amount_cents: 11_899 }]);
    });

    // F485: a taxed payment is refunded in parts, one of which fails: each takes its part of the
    // tax; all together take exactly the credit and the tax.
    it('refunds take the tax back in proportion, and all of it together', async () => {
      const payer = await newTaxedPayer();
      const refund = (refund_id: string, amount_usd: string) =>
        bench.gateway.call('refundPayment', { payment_id: payer.paymentId, refund_id, amount_usd });
      expect(await refund('r1', '59.5')).toMatchObject({
        amount_usd: '59.5',
        payment: { taken_back_usd: '50', tax_taken_back_usd: '9.5', refundable_usd: '59.5' },
      });
      let failed = '';
      await deliverAll(eventsOf(() => (failed = bench.stripe.refund(payer.reference, 1))));
      await deliverAll(eventsOf(() => (failed = bench.stripe.refund(payer.reference, 333))));
      const taken = await paymentOf(payer.paymentId);
      expect([taken.taken_back_usd, taken.tax_taken_back_usd]).toEqual(['52.81', '10.03']);
      await deliverAll(eventsOf(() => bench.stripe.failRefund(failed)));
      const returned = await paymentOf(payer.paymentId);
      expect([returned.taken_back_usd, returned.tax_taken_back_usd]).toEqual(['50.01', '9.5']);
      await expect(refund('more', '59.5')).rejects.toThrow('exceeds what is refundable: 59.49');
      expect(await refund('rest', '59.49')).toMatchObject({
        payment: { taken_back_usd: '100', tax_taken_back_usd: '19', refundable_usd: '0' },
      });
      expect(await balanceOf(payer.accountId)).toBe('0');
      const entries = await entriesOf(payer.accountId);
      const undone = entries.find(({ id }) => id.endsWith(':undone'));
      expect(undone).toMatchObject({ amount_usd: '2.8', tax_usd: '0.53' });
    });

    it('a refund of a cent that would be tax alone takes the smallest unit of the credit', async () => {
      const payer = await newTaxedPayer();
      const refundIds: string[] = [];
      const events = eventsOf(() => {
        for (let n = 0; n < 7; n += 1) refundIds.push(bench.stripe.refund(payer.reference, 1));
      });
      await deliverAll(events);
      const last = (await entriesOf(payer.accountId)).at(-1);
      expect(last).toMatchObject({
        id: `adjustment:stripe:${refundIds[6]!}`,
        amount_usd: '-0.00000000000001',
        tax_usd: '-0.00999999999999',
      });
      await deliverAll(eventsOf(() => bench.stripe.failRefund(refundIds[6]!)));
      expect(await paymentOf(payer.paymentId)).toMatchObject({
        taken_back_usd: '0.06',
        tax_taken_back_usd: '0',
      });
    });

    // F486: refunds of one taxed payment are reported at once, and again: no tax is taken twice.
    it('refunds that are booked at the same time share the tax exactly', async () => {
      const payer = await newTaxedPayer();
      const amounts = [1, 7, 333, 4_000, 5, 2_654, 4_900];
      const events = eventsOf(() => {
        for (const amount of amounts) bench.stripe.refund(payer.reference, amount);
      });
      for (let times = 0; times < 2; times += 1) {
        expect(new Set(await Promise.all(events.map(deliver)))).toEqual(new Set([200]));
        expect(await paymentOf(payer.paymentId)).toMatchObject({
          taken_back_usd: '100',
          tax_taken_back_usd: '19',
        });
      }
      expect(await balanceOf(payer.accountId)).toBe('0');
      expect((await entriesOf(payer.accountId)).length).toBe(1 + amounts.length);
    });

    // F487: a dispute of a taxed payment is won after refunds: exactly what it took comes back.
    it('a dispute that is won reverses the entry that took the money and the tax', async () => {
      const payer = await newTaxedPayer();
      await deliverAll(eventsOf(() => bench.stripe.refund(payer.reference, 333)));
      let disputeId = '';
      await deliverAll(eventsOf(() => (disputeId = bench.stripe.openDispute(payer.reference))));
      expect(await balanceOf(payer.accountId)).toBe('0');
      const won = eventsOf(() => bench.stripe.closeDispute(disputeId, 'won'));
      await deliverAll([...won, ...won]);
      expect(await balanceOf(payer.accountId)).toBe('97.2');
      const [, , took, gave, ...more] = await entriesOf(payer.accountId);
      expect(more).toEqual([]);
      expect(took).toMatchObject({ id: `adjustment:stripe:${disputeId}`, amount_usd: '-97.2' });
      expect(gave).toMatchObject({ amount_usd: '97.2', tax_usd: '18.47', reverses: took?.id });
    });

    it('a bank that takes back more than was paid takes all of the tax', async () => {
      const payer = await newTaxedPayer();
      const amountCents = 12_000;
      await deliverAll(eventsOf(() => bench.stripe.openDispute(payer.reference, { amountCents })));
      expect(await balanceOf(payer.accountId)).toBe('-1');
      expect(await paymentOf(payer.paymentId)).toMatchObject({ tax_taken_back_usd: '19' });
    });

    // F488: a payment was started by a version that did not know of tax: it is credited whole, as
    // its customer was told.
    it('a payment that an earlier version started is credited with what was paid', async () => {
      bench.stripe.setTaxes(GERMAN);
      const { accountId } = await newCustomer();
      const id = `pay_of_before_${accountId}`;
      const data = {
        by: 'key',
        started_by: 'key_1',
        amount_cents: 2_000,
        state: 'open',
        url: null,
        expires_at: null,
        provider_payment_id: null,
        code: null,
      };
      const { store } = bench.gateway.running;
      await store.writeDocument({ kind: 'payment', id, accountId, version: 0, data });
      const { checkoutId } = await bench.payments().provider.startCheckout({
        origin: { paymentId: id, accountId },
        amountCents: 2_000,
        tax: 'included',
        successUrl: 'https://gateway.example/paid',
        cancelUrl: 'https://gateway.example/canceled',
      });
      let reference = '';
      await deliverAll(eventsOf(() => (reference = bench.stripe.pay(checkoutId))));
      expect(await balanceOf(accountId)).toBe('20');
      await deliverAll(eventsOf(() => bench.stripe.refund(reference, 500)));
      expect(await balanceOf(accountId)).toBe('15');
    });

    // F526: an automatic charge was credited whole, although its page would have been taxed.
    it('an automatic charge pays the tax beyond its amount, and refunds take it back', async () => {
      bench.stripe.setTaxes(GERMAN);
      const { accountId, payment, entries } = await newAutoPayer(bench);
      expect(await balanceOf(accountId)).toBe('21');
      expect(payment).toMatchObject({
        by: 'auto_top_up',
        state: 'paid',
        amount_usd: '20',
        paid_amount: '23.8',
        net_usd: '20',
        tax_usd: '3.8',
        tax_percent: '19',
        tax_country: 'DE',
      });
      expect(entries).toMatchObject([{ amount_usd: '20', tax_usd: '3.8', counter: 'cash:stripe' }]);
      const refund = (refund_id: string, amount_usd: string) =>
        bench.gateway.call('refundPayment', { payment_id: payment.id, refund_id, amount_usd });
      expect((await refund('r1', '11.9')).payment).toMatchObject({
        taken_back_usd: '10',
        tax_taken_back_usd: '1.9',
        refundable_usd: '11.9',
      });
      await refund('r2', '11.9');
      expect(await balanceOf(accountId)).toBe('1');
      const own = ({ account_id: of }: { readonly account_id: string | null }) => of === accountId;
      expect((await compare(true)).cash.differences.filter(own)).toEqual([]);
    });

    it('an automatic charge whose tax cannot be computed is not made, and stops the order', async () => {
      const customer = await newCustomer('1');
      const known = await orderAutoTopUp(bench, customer);
      bench.stripe.setTaxes(GERMAN);
      bench.stripe.forgetAddresses();
      await bench.payments().autoTopUp.runDue();
      expect(await balanceOf(customer.accountId)).toBe('1');
      const { json } = await dashboard(customer.apiKey, 'auto-top-up');
      expect([known.json.state, json.state, json.stopped_code]).toEqual([
        'needs_method',
        'stopped',
        'customer_tax_location_invalid',
      ]);
    });
  },
  { TOP_UP_TAX: 'added' },
);

describePayments(
  (bench) => {
    const { newPayer, deliverAll, balanceOf } = bench;

    it('a tax that is included is a part of the amount, and the rest is credited', async () => {
      bench.stripe.setTaxes(GERMAN);
      const payer = await newPayer('100');
      await deliverAll(payer.events);
      expect(await balanceOf(payer.accountId)).toBe('84.03');
      const shown = await ofBench(bench).paymentOf(payer.paymentId);
      expect(shown).toMatchObject({ amount_usd: '100', paid_amount: '100', tax_usd: '15.97' });
    });

    it('an automatic charge has its tax within the amount', async () => {
      bench.stripe.setTaxes(GERMAN);
      const { accountId, payment, entries } = await newAutoPayer(bench);
      expect(await balanceOf(accountId)).toBe('17.81');
      expect(payment).toMatchObject({ paid_amount: '20', net_usd: '16.81', tax_percent: '19' });
      expect(entries).toMatchObject([{ amount_usd: '16.81', tax_usd: '3.19' }]);
    });
  },
  { STRIPE_AUTOMATIC_TAX: 'on' },
);

describePayments((bench) => {
  const { newCustomer, newPayer, deliverAll, eventsOf, balanceOf, start, dashboard } = bench;
  const { entriesOf, paymentOf, compare } = ofBench(bench);
  afterEach(() => {
    bench.stripe.setSettlement({ currency: 'usd', rates: {} });
  });

  /** A customer who was asked for 20 USD and has paid in euro. */
  async function newEuroPayer(isUnsettled = false) {
    const customer = await newCustomer();
    const { paymentId, checkoutId } = await start(customer.apiKey, '20');
    let reference = '';
    const as = { amountCents: 1_850, currency: 'eur' };
    const pay = () => (reference = bench.stripe.pay(checkoutId, { as, isUnsettled }));
    const events = eventsOf(pay);
    await deliverAll(events);
    return { ...customer, paymentId, reference, events };
  }
  const unbookedOf = async (reference: string) => {
    const { data } = await bench.gateway.call('listUnbookedPayments', { limit: 1_000 });
    return data.find(({ id }) => id === reference)?.reason;
  };

  describe('a payment in another currency', () => {
    // F489: a customer pays in another currency: credited with what the provider settled, in USD.
    it('that is settled in USD is credited with that, at the rate that the provider states', async () => {
      bench.stripe.setSettlement({ currency: 'usd', rates: { eur: 1.0825 } });
      const payer = await newEuroPayer();
      expect(await balanceOf(payer.accountId)).toBe('20.03');
      expect(await paymentOf(payer.paymentId)).toMatchObject({
        paid_amount: '18.5',
        paid_currency: 'eur',
        net_usd: '20.03',
        exchange_rate: '1.0825',
        exchange_rate_by: 'provider',
      });
      bench.stripe.setSettlement({ currency: 'usd', rates: { eur: 1.2 } });
      await deliverAll(eventsOf(() => bench.stripe.refund(payer.reference, 185)));
      expect(await balanceOf(payer.accountId)).toBe('18.027');
      await deliverAll(eventsOf(() => bench.stripe.openDispute(payer.reference)));
      expect(await balanceOf(payer.accountId)).toBe('0');
      const refund = { payment_id: payer.paymentId, refund_id: 'r1', amount_usd: '1' };
      await expect(bench.gateway.call('refundPayment', refund)).rejects.toThrow(
        'payment_id: was paid in EUR',
      );
      const { cash } = await compare(true);
      const own = cash.differences.filter(({ account_id: of }) => of === payer.accountId);
      expect(own).toMatchObject([
        { verdict: 'exchange', provider_usd: '-19.98', ledger_usd: '-18.027' },
        { verdict: 'exchange', provider_usd: '-2.22', ledger_usd: '-2.003' },
      ]);
    });

    it('that is not settled yet waits until it is', async () => {
      bench.stripe.setSettlement({ currency: 'usd', rates: { eur: 1.1 } });
      const payer = await newEuroPayer(true);
      expect([await balanceOf(payer.accountId), await unbookedOf(payer.reference)]).toEqual([
        '0',
        'not_settled',
      ]);
      bench.stripe.settle(payer.reference);
      await compare(true);
      expect([await balanceOf(payer.accountId), await unbookedOf(payer.reference)]).toEqual([
        '20.35',
        undefined,
      ]);
    });

    // F490: nobody states what a payment in another currency is worth in USD: it waits for an
    // operator's rate, and is booked at the first one only.
    it('that is not settled in USD is booked at the rate that an operator states, once', async () => {
      bench.stripe.setSettlement({ currency: 'eur', rates: {} });
      const payer = await newEuroPayer();
      expect([await balanceOf(payer.accountId), await unbookedOf(payer.reference)]).toEqual([
        '0',
        'other_currency',
      ]);
      const book = (usd_rate: string) =>
        bench.gateway.call('bookPayment', { reference: payer.reference, usd_rate });
      for (const rate of ['0', '-1', '1.00000000001', '01', '1e2', '']) {
        await expect(book(rate)).rejects.toThrow(/^usd_rate: /);
      }
      expect(await book('1.0825')).toMatchObject({ net_usd: '20.02625', exchange_rate: '1.0825' });
      expect(await book('1.0825')).toMatchObject({ state: 'paid' });
      await expect(book('1.09')).rejects.toThrow(/^usd_rate: /);
      expect([await balanceOf(payer.accountId), await unbookedOf(payer.reference)]).toEqual([
        '20.02625',
        undefined,
      ]);
      await deliverAll(payer.events);
      const { data } = await bench.gateway.call('listTrail', { account_id: payer.accountId });
      expect(data.filter(({ action }) => action === 'payment.rate')).toMatchObject([
        { actor: 'admin', details: { rate: '1.0825', currency: 'eur' } },
      ]);
      await deliverAll(eventsOf(() => bench.stripe.refund(payer.reference, 1_850)));
      expect(await balanceOf(payer.accountId)).toBe('0');
      expect(await paymentOf(payer.paymentId)).toMatchObject({ exchange_rate_by: 'operator' });
      await expect(
        bench.gateway.call('bookPayment', { reference: 'pi_0', usd_rate: '1' }),
      ).rejects.toThrow(/^reference: /);
    });
  });

  describe("the provider's fees", () => {
    // F491: the fees of payments, refunds and disputes: booked once, change no balance, and no
    // customer sees them.
    it('are booked once and change no balance; only operators see them', async () => {
      const payer = await newPayer('20');
      await deliverAll(payer.events);
      let disputeId = '';
      await deliverAll(eventsOf(() => bench.stripe.refund(payer.reference, 100)));
      await deliverAll(eventsOf(() => (disputeId = bench.stripe.openDispute(payer.reference))));
      await compare(true);
      expect((await paymentOf(payer.paymentId)).fees_usd).toBe('15.88');
      await deliverAll(eventsOf(() => bench.stripe.closeDispute(disputeId, 'won')));
      for (let times = 0; times < 2; times += 1) await compare(true);
      expect((await paymentOf(payer.paymentId)).fees_usd).toBe('0.88');
      expect(await balanceOf(payer.accountId)).toBe('19');
      const fees = (await entriesOf(payer.accountId)).filter(({ id }) => id.startsWith('fee:'));
      expect(fees).toMatchObject([
        { amount_usd: '0', fee_usd: '0.88', reason: 'fee', reference: payer.reference },
        { amount_usd: '0', fee_usd: '15' },
        { amount_usd: '0', fee_usd: '-15' },
      ]);
      const month = new Date().toISOString().slice(0, 7);
      for (const path of [
        'top-ups',
        `top-ups/${payer.paymentId}`,
        'usage?kind=all',
        'usage?kind=credit&limit=2',
        `statement?month=${month}`,
      ]) {
        const text = JSON.stringify((await dashboard(payer.apiKey, path)).json);
        expect([path, /fee:|"fee"|fees?_usd|0\.88/.test(text)]).toEqual([path, false]);
      }
      for (const path of ['usage?kind=credit&format=csv', `statement?month=${month}&format=csv`]) {
        const response = await fetch(`${bench.gateway.url}/v1/dashboard/${path}`, {
          headers: { authorization: `Bearer ${payer.apiKey}`, 'x-forwarded-for': '10.9.9.9' },
        });
        const text = await response.text();
        expect([response.status, text.includes(payer.reference)]).toEqual([200, true]);
        expect(text).not.toMatch(/fee:|,fee,|0\.88/);
      }
    });

    it('in the currency of the operator are worth in USD what the transaction says', async () => {
      bench.stripe.setSettlement({ currency: 'eur', rates: { usd: 0.9 } });
      const payer = await newPayer('20');
      await deliverAll(payer.events);
      await compare(true);
      // 0.82 of 18.00 euro, for 20 USD
      const fee = (parseUsd('0.82') * 20n * 2n + 18n) / 36n;
      const shown = await paymentOf(payer.paymentId);
      expect(parseUsd(shown.fees_usd)).toBe(fee);
      expect(await balanceOf(payer.accountId)).toBe('20');
    });

    it('pages of credits that customers read have their full size', async () => {
      const customer = await newCustomer();
      for (let n = 0; n < 3; n += 1) {
        const { checkoutId } = await start(customer.apiKey, '20');
        await deliverAll(eventsOf(() => bench.stripe.pay(checkoutId)));
        await compare(true);
      }
      const first = await dashboard(customer.apiKey, 'usage?kind=credit&limit=2');
      expect([first.json.data.length, first.json.has_more]).toEqual([2, true]);
      const cursor = encodeURIComponent(first.json.next_cursor);
      const next = await dashboard(customer.apiKey, `usage?kind=credit&limit=2&cursor=${cursor}`);
      expect([next.json.data.length, next.json.has_more]).toEqual([1, false]);
    });
  });

  describe('the comparison of cash', () => {
    const ownOf = async (accountId: string, apply = false) => {
      const { cash } = await compare(apply);
      return cash.differences
        .filter(({ account_id: of }) => of === accountId)
        .map(({ verdict, provider_usd, ledger_usd }) => [verdict, provider_usd, ledger_usd]);
    };

    // F492: the ledger and the provider differ: each missing, extra or different movement of money
    // is named, and the command fails.
    it('names what is missing, extra or different, and otherwise is equal in sum', async () => {
      await compare(true);
      const before = await compare(true);
      const payer = await newPayer('20');
      const lost = await ownOf(payer.accountId);
      expect(lost).toEqual([]);
      const named = (await compare(false)).cash.differences.filter(
        ({ entry_id: id }) => id === `topup:stripe:${payer.reference}`,
      );
      expect(named).toMatchObject([{ verdict: 'missing', provider_usd: '20', ledger_usd: null }]);
      await deliverAll(payer.events);
      expect(await ownOf(payer.accountId)).toEqual([['missing', '-0.88', null]]);
      expect(await ownOf(payer.accountId, true)).toEqual([]);

      const after = await compare(true);
      const rise = (of: 'provider_usd' | 'ledger_usd') =>
        parseUsd(after.cash[of]) - parseUsd(before.cash[of]);
      expect([rise('provider_usd'), rise('ledger_usd')]).toEqual([1_912n * CENT, 1_912n * CENT]);

      const { store } = bench.gateway.running;
      const forged = await store.topUp({
        topUpId: `stripe:pi_forged_${payer.id}`,
        to: { accountId: payer.accountId },
        amount: 500n * CENT,
        counter: 'cash:stripe',
        source: 'paid',
        by: { name: 'stripe' },
      });
      expect(forged.outcome).toBe('credited');
      expect(await ownOf(payer.accountId)).toEqual([['extra', null, '5']]);
    });

    it('counts a payment that an operator credited by its id', async () => {
      const payer = await newPayer('20');
      await bench.gateway.call('topUpAccount', {
        account_id: payer.accountId,
        top_up_id: `stripe:${payer.reference}`,
        amount_usd: '20',
        source: 'paid',
      });
      expect(await ownOf(payer.accountId, true)).toEqual([]);
      expect(await entriesOf(payer.accountId)).toMatchObject([
        { counter: 'cash:stripe', actor: 'admin' },
        { counter: 'cash:stripe', fee_usd: '0.88' },
      ]);
    });

    it('finds an entry of another amount', async () => {
      const payer = await newPayer('20');
      const { store } = bench.gateway.running;
      await store.topUp({
        topUpId: `stripe:${payer.reference}`,
        to: { accountId: payer.accountId },
        amount: 2_100n * CENT,
        counter: 'cash:stripe',
        source: 'paid',
        reference: payer.reference,
        by: { name: 'stripe' },
      });
      const [different] = await ownOf(payer.accountId);
      expect(different).toEqual(['different', '20', '21']);
    });

    it('fails as a command when something differs, and says what', async () => {
      const range = ['--from', '2020-01-01T00:00:00Z', '--until', '2099-01-01T00:00:00Z'];
      const token = bench.gateway.running.dataDir?.secret('admin-token');
      const ran = await gatewayCommand(['payments', 'reconcile', ...range], {
        ADMIN_URL: bench.gateway.adminUrl,
        ADMIN_TOKEN: bench.env['ADMIN_TOKEN'] ?? token ?? '',
      });
      expect([ran.code, ran.out]).toEqual([
        1,
        expect.stringMatching(/different[ │]+topup:stripe:/),
      ]);
    });
  });
});
