/** The Stripe provider against the simulated Stripe. */

import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type Stripe from 'stripe';
import { decimalOf } from '@gateway/payments';
import type { PaymentFact, TaxMode } from '@gateway/payments';
import { NOTIFIED_EVENTS, createStripeProvider } from '@gateway/payments/stripe';
import { startStripeSimulator } from '@gateway/payments/testing';
import type { SimulatedEvent, StripeSimulator } from '@gateway/payments/testing';

const SECRET_KEY = 'sk_test_simulated';
const WEBHOOK_SECRET = 'whsec_of_the_tests';
const PAGES = { successUrl: 'https://g.example/paid', cancelUrl: 'https://g.example/' };

const startedAt = Date.now();
let stripe: StripeSimulator;
const provider = () =>
  createStripeProvider({
    secretKey: SECRET_KEY,
    webhookSecrets: ['whsec_of_before', WEBHOOK_SECRET],
    apiUrl: stripe.url,
  });

beforeAll(async () => {
  stripe = await startStripeSimulator({ secretKey: SECRET_KEY, webhookSecret: WEBHOOK_SECRET });
});
afterAll(() => stripe.close());

let count = 0;
const newOrigin = () => ({ paymentId: `pay_${String((count += 1))}`, accountId: 'acct_1' });
const start = (origin = newOrigin(), amountCents = 1_250, tax: TaxMode = 'off') =>
  provider().startCheckout({ origin, amountCents, tax, ...PAGES });

function read(event: SimulatedEvent, signature?: string) {
  const { body, headers } = stripe.sign(event);
  return provider().readNotification(
    new TextEncoder().encode(body),
    signature ?? headers['stripe-signature'],
  );
}

/** Facts of the events that `work` causes. */
function factsOf(work: () => void): readonly PaymentFact[] {
  const before = stripe.events.length;
  work();
  return stripe.events.slice(before).flatMap((event) => {
    const reading = read(event);
    if (reading.outcome !== 'read') throw new Error(reading.outcome);
    return reading.facts;
  });
}

describe('a checkout', () => {
  it('opens one page, for one amount in USD, per payment id', async () => {
    const origin = newOrigin();
    const first = await start(origin);
    expect(first.url).toBe(`${stripe.url}/c/pay/${first.checkoutId}`);
    expect(await start(origin)).toEqual(first);
    await expect(start(origin, 1_251)).rejects.toMatchObject({ reason: 'reused' });
  });

  it('that is paid causes two facts that name the same payment', async () => {
    const origin = newOrigin();
    const { checkoutId } = await start(origin);
    let paymentId = '';
    const facts = factsOf(() => (paymentId = stripe.pay(checkoutId)));
    const paid = {
      kind: 'paid',
      providerPaymentId: paymentId,
      amountCents: 1_250,
      currency: 'usd',
      mode: 'test',
      origin,
    };
    expect(facts).toEqual([paid, paid]);
    expect(await provider().findPaid(paymentId)).toEqual(paid);
    expect(await provider().findPaid('pi_0')).toBeUndefined();
    expect(await provider().findReceipt(paymentId)).toMatch(/^http.*\/receipts\/ch_/);
  });

  it('with a delayed method is pending until the money arrives or fails', async () => {
    for (const end of ['succeeded', 'failed'] as const) {
      const origin = newOrigin();
      const { checkoutId } = await start(origin);
      expect(factsOf(() => stripe.pay(checkoutId, { delayed: true }))).toEqual([
        { kind: 'pending', origin },
      ]);
      const kinds = factsOf(() => stripe.settleDelayed(checkoutId, end)).map(({ kind }) => kind);
      expect(kinds).toEqual(end === 'failed' ? ['failed'] : ['paid', 'paid']);
    }
  });

  it('expires', async () => {
    const origin = newOrigin();
    const { checkoutId } = await start(origin);
    expect(factsOf(() => stripe.expire(checkoutId))).toEqual([{ kind: 'expired', origin }]);
  });
});

describe('refunds and disputes', () => {
  it('are read as facts with states, whether the gateway or somebody else made them', async () => {
    const { checkoutId } = await start();
    const paymentId = stripe.pay(checkoutId);
    const common = { providerPaymentId: paymentId, currency: 'usd' };
    const refund = { refundId: 'refund-1', providerPaymentId: paymentId, amountCents: 250 };
    const made = await provider().refund(refund);
    expect(made).toMatchObject({
      outcome: 'made',
      fact: { kind: 'refund', ...common, amountCents: 250, state: 'made' },
    });
    expect(await provider().refund(refund)).toEqual(made);
    expect(await provider().refund({ ...refund, refundId: 'r2', amountCents: 1_001 })).toEqual({
      outcome: 'refused',
      message: 'Refund amount is greater than unrefunded amount on charge',
    });
    await expect(provider().refund({ ...refund, amountCents: 251 })).rejects.toMatchObject({
      reason: 'reused',
    });
    const refundId = stripe.refund(paymentId, 1);
    expect(factsOf(() => stripe.failRefund(refundId))).toEqual([
      { kind: 'refund', ...common, refundId, amountCents: 1, state: 'undone' },
    ]);
    let disputeId = '';
    const dispute = { kind: 'dispute', ...common, amountCents: 1_000 };
    const opened = factsOf(() => (disputeId = stripe.openDispute(paymentId)));
    const withdrawn = { ...dispute, disputeId, state: 'withdrawn', status: 'needs_response' };
    expect(opened).toEqual([withdrawn, withdrawn]);
    const reinstated = { ...dispute, disputeId, state: 'reinstated', status: 'won' };
    expect(factsOf(() => stripe.closeDispute(disputeId, 'won'))).toEqual([reinstated, reinstated]);
    expect(factsOf(() => stripe.openDispute(paymentId, { isInquiry: true }))).toMatchObject([
      { state: 'inquiry' },
    ]);
  });
});

describe('the details of a payment', () => {
  const paid = async (tax: TaxMode, options: Parameters<StripeSimulator['pay']>[1] = {}) => {
    const { checkoutId } = await start(newOrigin(), 10_000, tax);
    return stripe.pay(checkoutId, options);
  };
  afterEach(() => {
    stripe.setTaxes([]);
    stripe.setSettlement({ currency: 'usd', rates: {} });
  });

  it('have the tax of the page, within the amount or beyond it, and none if it is off', async () => {
    stripe.setTaxes([{ percent: 19, country: 'DE' }]);
    const tax = { percent: '19', country: 'DE' };
    for (const [mode, amountCents, taxed] of [
      ['added', 11_900, { ...tax, amountCents: 1_900 }],
      ['included', 10_000, { ...tax, amountCents: 1_597 }],
      ['off', 10_000, { amountCents: 0, percent: undefined, country: undefined }],
    ] as const) {
      expect(await provider().readDetails(await paid(mode))).toEqual({
        paid: { amountCents, currency: 'usd' },
        tax: taxed,
        settled: { amountCents, currency: 'usd', exchangeRate: undefined },
      });
    }
    expect(await provider().readDetails('pi_0')).toBeUndefined();
  });

  it('have one rate for taxes on the same amount, exactly, and none if the amounts differ', async () => {
    stripe.setTaxes([
      { percent: 6.35, country: 'US' },
      { percent: 2.8875, country: 'US' },
    ]);
    const both = await provider().readDetails(await paid('added'));
    expect(both?.tax).toEqual({ amountCents: 924, percent: '9.2375', country: 'US' });
    stripe.setTaxes([
      { percent: 5, country: 'CA', taxableShare: 0.5 },
      { percent: 7, country: 'CA' },
    ]);
    const parts = await provider().readDetails(await paid('added'));
    expect(parts?.tax).toEqual({ amountCents: 950, percent: undefined, country: 'CA' });
    stripe.setTaxes([{ percent: 0, country: 'CH' }]);
    const none = await provider().readDetails(await paid('added'));
    expect(none?.tax).toEqual({ amountCents: 0, percent: undefined, country: undefined });
  });

  it('have what the operator gets for another currency, once Stripe has settled it', async () => {
    stripe.setSettlement({ currency: 'usd', rates: { eur: 1.0825 } });
    const as = { amountCents: 9_250, currency: 'eur' };
    const paymentId = await paid('off', { as, isUnsettled: true });
    expect((await provider().readDetails(paymentId))?.settled).toBeUndefined();
    expect(await provider().findTransactions({ kind: 'payment', id: paymentId })).toEqual([]);
    stripe.settle(paymentId);
    expect(await provider().readDetails(paymentId)).toMatchObject({
      paid: as,
      settled: { amountCents: 10_013, currency: 'usd', exchangeRate: '1.0825' },
    });
  });
});

describe('the transactions', () => {
  it('of payments, refunds and disputes have their amounts in both currencies, and their fees', async () => {
    stripe.setSettlement({ currency: 'eur', rates: { usd: 0.9 } });
    const from = new Date(Date.now() - 1_000);
    const paymentId = stripe.pay((await start(newOrigin(), 10_000)).checkoutId);
    const refundId = stripe.refund(paymentId, 1_000);
    stripe.failRefund(refundId);
    const disputeId = stripe.openDispute(paymentId);
    stripe.closeDispute(disputeId, 'won');
    stripe.setSettlement({ currency: 'usd', rates: {} });
    const list = [];
    const range = { from, until: new Date(Date.now() + 1_000) };
    for await (const each of provider().listTransactions(range)) {
      if (each.kind !== 'other' && each.providerPaymentId === paymentId) list.push(each);
    }
    const rows = list.map((each) => [
      each.kind,
      each.sourceId,
      each.paid.amountCents,
      each.settled.amountCents,
      each.feeCents,
    ]);
    expect(rows.reverse()).toEqual([
      ['payment', paymentId, 10_000, 9_000, 291],
      ['refund', refundId, -1_000, -900, 0],
      ['refund_undone', refundId, 1_000, 900, 0],
      ['dispute_withdrawn', disputeId, -10_000, -9_000, 1_500],
      ['dispute_reinstated', disputeId, 10_000, 9_000, -1_500],
    ]);
    expect(list[0]).toMatchObject({ paid: { currency: 'usd' }, settled: { currency: 'eur' } });
    const found = (kind: 'payment' | 'refund' | 'dispute', id: string) =>
      provider().findTransactions({ kind, id });
    expect(await found('payment', paymentId)).toEqual([list.at(-1)]);
    expect(await found('refund', refundId)).toEqual(list.slice(2, 4));
    expect(await found('dispute', disputeId)).toEqual(list.slice(0, 2));
    const [{ transactionId: id }] = list as [(typeof list)[number]];
    expect(await provider().findTransactions({ kind: 'transaction', id })).toEqual([list[0]]);
    const none = await provider().findTransactions({ kind: 'transaction', id: 'txn_0' });
    expect([none, await found('payment', 'pi_0'), await found('refund', 're_0')]).toEqual([
      [],
      [],
      [],
    ]);
  });
});

describe('an amount', () => {
  it('is written with the decimals of its currency', () => {
    for (const [amountCents, currency, text] of [
      [1_850, 'eur', '18.5'],
      [5, 'usd', '0.05'],
      [-2_000, 'usd', '-20'],
      [1_000, 'jpy', '1000'],
      [12_340, 'kwd', '12.34'],
    ] as const) {
      expect(decimalOf({ amountCents, currency })).toBe(text);
    }
  });
});

describe('a saved method', () => {
  afterEach(() => {
    stripe.setTaxes([]);
  });

  async function savedMethod(tax: TaxMode) {
    const origin = newOrigin();
    const { checkoutId } = await provider().startMethodSetup({ origin, tax, ...PAGES });
    const [saved] = factsOf(() => stripe.saveMethod(checkoutId));
    if (saved?.kind !== 'method_saved') throw new Error('no method was saved');
    expect(saved.origin).toEqual(origin);
    const method = await provider().readSavedMethod(saved.setupId);
    if (method === undefined) throw new Error('the method cannot be read');
    return method;
  }

  it('is charged with the tax of its address, within the amount or beyond it, also again', async () => {
    const method = await savedMethod('added');
    for (const [tax, amountCents, ofTax] of [
      ['added', 11_900, 1_900],
      ['included', 10_000, 1_597],
    ] as const) {
      stripe.setTaxes([{ percent: 19, country: 'DE' }]);
      const charge = { ...method, origin: newOrigin(), amountCents: 10_000, tax };
      const paid = await provider().chargeSavedMethod(charge);
      if (paid.outcome !== 'paid') throw new Error('it is not paid');
      expect(paid.fact.amountCents).toBe(amountCents);
      stripe.setTaxes([{ percent: 20, country: 'AT' }]);
      expect(await provider().chargeSavedMethod(charge)).toEqual(paid);
      expect(await provider().readDetails(paid.fact.providerPaymentId)).toMatchObject({
        paid: { amountCents },
        tax: { amountCents: ofTax, percent: '19', country: 'DE' },
      });
    }
  });

  it('is not charged if its tax cannot be computed, because its page asked for no address', async () => {
    const method = await savedMethod('off');
    const charge = { ...method, origin: newOrigin(), amountCents: 500, tax: 'added' } as const;
    expect(await provider().chargeSavedMethod(charge)).toEqual({
      outcome: 'declined',
      code: 'customer_tax_location_invalid',
    });
    expect(await provider().findCharge(charge, new Date())).toBeUndefined();
  });

  it('is charged while its holder is absent, once per payment id, or reports why it was not', async () => {
    const method = await savedMethod('off');
    const charge = () => ({
      ...method,
      origin: newOrigin(),
      amountCents: 500,
      tax: 'off' as const,
    });
    const first = charge();
    const since = new Date();
    expect(await provider().findCharge(first, since)).toBeUndefined();
    const paid = await provider().chargeSavedMethod(first);
    expect(paid).toMatchObject({
      outcome: 'paid',
      fact: { amountCents: 500, origin: first.origin },
    });
    expect(await provider().chargeSavedMethod(first)).toEqual(paid);
    expect(await provider().findCharge(first, since)).toEqual(paid);
    for (const [card, outcome] of [
      ['pays_later', { outcome: 'pending' }],
      ['declines', { outcome: 'declined', code: 'card_declined' }],
      ['demands_authentication', { outcome: 'declined', code: 'authentication_required' }],
    ] as const) {
      stripe.setCard(method.methodId, card);
      expect(await provider().chargeSavedMethod(charge())).toEqual(outcome);
    }
    const gone = { ...charge(), methodId: 'pm_gone' };
    expect(await provider().chargeSavedMethod(gone)).toMatchObject({
      outcome: 'declined',
      code: 'resource_missing',
    });
  });
});

describe('a notification', () => {
  const event = (parts: object = {}): SimulatedEvent => ({
    id: 'evt_1',
    type: 'refund.created',
    created: 1,
    livemode: false,
    data: {
      object: {
        object: 'refund',
        id: 're_1',
        amount: 1,
        currency: 'usd',
        payment_intent: 'pi_1',
        status: 'succeeded',
      },
    },
    ...parts,
  });
  const bytes = (text: string) => new TextEncoder().encode(text);

  // F106
  it('is refused unless one of the secrets signed these bytes in time', () => {
    const { body, headers } = stripe.sign(event());
    const signature = headers['stripe-signature'] ?? '';
    const reading = (bodyText: string, header: string | undefined) =>
      provider().readNotification(bytes(bodyText), header).outcome;
    const unsigned = { outcome: 'unsigned' };
    expect(reading(body, signature)).toBe('read');
    const now = Math.floor(Date.now() / 1_000);
    const signedAt = (timestampSeconds: number) =>
      stripe.sign(event(), { timestampSeconds }).headers['stripe-signature'];
    const other = stripe.sign(event(), { secret: 'whsec_of_somebody' });
    for (const [text, header] of [
      [body, undefined],
      [body, ''],
      [body, 'nonsense'],
      [body, 't=,v1='],
      [body, signature.replace('v1=', 'v0=')],
      [body, signature.slice(0, -1)],
      [body, signature.replace(/t=\d+/, `t=${String(now + 1)}`)],
      [`${body} `, signature],
      [body.slice(0, -1), signature],
      [body.replace('"amount":1', '"amount":9'), signature],
      ['', signature],
      [body, signedAt(now - 301)],
      [other.body, other.headers['stripe-signature']],
    ] as const) {
      expect([header, reading(text, header)]).toEqual([header, unsigned.outcome]);
    }
    expect(reading(body, signedAt(now - 290))).toBe('read');
  });

  it('of the other mode, or without a member that money depends on, is not read as a fact', () => {
    expect(read(event({ livemode: true }))).toEqual({ outcome: 'other_mode', mode: 'live' });
    const { object } = event().data;
    for (const [member, change] of [
      ['amount', { amount: -1 }],
      ['amount', { amount: 1.5 }],
      ['amount', { amount: '1' }],
      ['currency', { currency: 'USD' }],
      ['id', { id: undefined }],
      ['payment_intent', { payment_intent: {} }],
      ['object', { object: 'charge' }],
    ] as const) {
      const data = { object: { ...object, ...change } };
      expect(read(event({ data }))).toEqual({
        outcome: 'unreadable',
        type: 'refund.created',
        member,
      });
    }
    expect(read(event({ type: 'customer.created', data: { object: {} } }))).toEqual({
      outcome: 'read',
      type: 'customer.created',
      facts: [],
    });
    const { body, headers } = stripe.sign(event({ data: 1 }));
    const unreadable = provider().readNotification(bytes(body), headers['stripe-signature']);
    expect(unreadable).toMatchObject({ outcome: 'unreadable', member: 'event' });
  });

  it('has a type that Stripe knows, and each type is subscribed once', () => {
    const names: readonly Stripe.WebhookEndpointCreateParams.EnabledEvent[] = NOTIFIED_EVENTS;
    expect(new Set(names).size).toBe(names.length);
  });
});

describe('a refund', () => {
  it('of more than is left, or of a payment that a dispute has taken, is refused as by Stripe', async () => {
    const refundOf = async (refundId: string, providerPaymentId: string, amountCents: number) => {
      const made = await provider().refund({ refundId, providerPaymentId, amountCents });
      return made.outcome === 'refused' ? made.message : made.outcome;
    };
    const paymentId = stripe.pay((await start()).checkoutId);
    stripe.openDispute(paymentId, { isInquiry: true });
    expect(await refundOf('part', paymentId, 100)).toBe('made');
    const beyond = 'Refund amount is greater than unrefunded amount on charge';
    expect(await refundOf('beyond', paymentId, 100_000)).toBe(beyond);
    const disputeId = stripe.openDispute(paymentId);
    const disputed = 'This charge has been charged back';
    expect(await refundOf('disputed', paymentId, 100)).toBe(disputed);
    stripe.closeDispute(disputeId, 'won');
    expect(await refundOf('won', paymentId, 100)).toBe('made');
    const other = stripe.pay((await start()).checkoutId);
    stripe.closeDispute(stripe.openDispute(other), 'lost');
    expect(await refundOf('lost', other, 100)).toBe(disputed);
  });
});

describe('a list of facts', () => {
  it('has every payment, refund and dispute of its range, and nothing of another range', async () => {
    const { checkoutId } = await start();
    const paymentId = stripe.pay(checkoutId);
    const refundIds = Array.from({ length: 120 }, () => stripe.refund(paymentId, 1));
    const disputeId = stripe.openDispute(paymentId);
    const list = async (from: number, until: number) => {
      const facts: PaymentFact[] = [];
      const range = { from: new Date(from), until: new Date(until) };
      for await (const fact of provider().listFacts(range)) facts.push(fact);
      return facts;
    };
    const facts = await list(startedAt - 60_000, Date.now() + 60_000);
    const refunded = facts.flatMap((fact) => (fact.kind === 'refund' ? [fact.refundId] : []));
    expect(new Set(refunded)).toEqual(new Set([...refunded, ...refundIds]));
    expect(facts).toContainEqual(expect.objectContaining({ kind: 'dispute', disputeId }));
    expect(facts).toContainEqual(
      expect.objectContaining({ kind: 'paid', providerPaymentId: paymentId }),
    );
    expect(await list(startedAt - 120_000, startedAt - 60_000)).toEqual([]);
  });
});

describe('a fault', () => {
  it('of the connection leaves the outcome unknown, and a repetition does not make a second page', async () => {
    const origin = newOrigin();
    stripe.dropNext('/v1/checkout/sessions', 'after');
    const { checkoutId } = await start(origin);
    expect((await start(origin)).checkoutId).toBe(checkoutId);
    stripe.setDown(true);
    await expect(start()).rejects.toMatchObject({
      name: 'PaymentProviderError',
      reason: 'unavailable',
    });
    stripe.setDown(false);
  });

  it('of the credential is reported without any part of the credential', async () => {
    const stranger = createStripeProvider({
      secretKey: 'sk_test_of_a_stranger',
      webhookSecrets: [],
      apiUrl: stripe.url,
    });
    const started = stranger.startCheckout({
      origin: newOrigin(),
      amountCents: 500,
      tax: 'off',
      ...PAGES,
    });
    await expect(started).rejects.toThrow(
      /^Stripe refuses the secret key, or the key lacks a permission$/,
    );
  });

  it('of the configuration, such as a secret key without a mode, is refused', () => {
    for (const secretKey of ['', 'pk_test_x', 'sk_x', 'whsec_x']) {
      const options = { secretKey, webhookSecrets: [] } as const;
      expect(() => createStripeProvider(options)).toThrow(/^secretKey: /);
    }
  });
});
