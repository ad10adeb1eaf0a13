/** Payments, from a page of the simulated Stripe to the ledger, on both ledgers. */

import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { parseUsd } from '@gateway/billing';
import { startStripeSimulator } from '@gateway/payments/testing';
import type { SimulatedEvent, StripeSimulator } from '@gateway/payments/testing';
import { usePostgresServer } from '../../../packages/balance-store/test/postgres-server.js';
import type { PostgresServer } from '../../../packages/balance-store/test/postgres-server.js';
import { postMessages, startTestGateway, userMessage } from './support/gateway.js';
import type { TestGateway } from './support/gateway.js';

// Here each run is asked for. The schedule, which would now and then run between two steps of a
// test, is tested in payments-workers.test.ts.
jest.mock('../src/payments/payment-upkeep.js', () => ({
  startPaymentUpkeep: () => ({ stop: () => Promise.resolve() }),
}));

const SECRET_KEY = 'sk_test_canary_of_the_secret_key';
const WEBHOOK_SECRET = 'whsec_canary_of_the_webhook';
const CENT = 10n ** 12n;

let postgres: PostgresServer;
beforeAll(async () => {
  postgres = await usePostgresServer();
});
afterAll(() => postgres.stop());

const LEDGERS = {
  embedded: () => Promise.resolve({}),
  PostgreSQL: async () => ({
    DATABASE_URL: await postgres.createDatabase(),
    KEY_PEPPER: 'pepper of the tests',
    ADMIN_TOKEN: 'token-of-the-operator-0123',
  }),
};

describe.each(Object.entries(LEDGERS))('payments on %s', (_name, ledgerEnv) => {
  let stripe: StripeSimulator;
  let gateway: TestGateway;
  let env: Record<string, string>;
  beforeAll(async () => {
    stripe = await startStripeSimulator({ secretKey: SECRET_KEY, webhookSecret: WEBHOOK_SECRET });
    env = {
      ...(await ledgerEnv()),
      STRIPE_SECRET_KEY: SECRET_KEY,
      STRIPE_WEBHOOK_SECRET: WEBHOOK_SECRET,
      STRIPE_API_URL: stripe.url,
      PUBLIC_URL: 'https://gateway.example',
      // Limits are per address, and each request of a customer has a new address.
      TRUST_PROXY: '1',
      TOP_UP_MIN_USD: '5',
      TOP_UP_MAX_USD: '500',
    };
    gateway = await startTestGateway({ env });
  });
  afterAll(async () => {
    await gateway.stop();
    await stripe.close();
  });

  const payments = () => {
    const { payments: opened } = gateway.running.services;
    if (opened === undefined) throw new Error('payments are not open');
    return opened;
  };

  async function newCustomer(balance?: string) {
    const { id, apiKey } = await gateway.createKey({ balance_usd: balance });
    const { account_id: accountId } = await gateway.call('showKey', { key_id: id });
    return { id, apiKey, accountId };
  }

  let addresses = 0;
  async function dashboard(apiKey: string, path: string, init: RequestInit = {}) {
    const response = await fetch(`${gateway.url}/v1/dashboard/${path}`, {
      ...init,
      headers: {
        authorization: `Bearer ${apiKey}`,
        'content-type': 'application/json',
        'x-forwarded-for': `10.${String(addresses >> 8)}.${String((addresses += 1) & 255)}.1`,
        ...(init.headers as Record<string, string> | undefined),
      },
    });
    return { status: response.status, json: await response.json() };
  }

  let requests = 0;
  const startWith = (apiKey: string, body: unknown, key = `request-${String((requests += 1))}`) =>
    dashboard(apiKey, 'top-ups', {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { 'idempotency-key': key },
    });

  /** Starts a payment. @returns its id and that of its page */
  async function start(apiKey: string, amount = '20') {
    const { status, json } = await startWith(apiKey, { amount_usd: amount });
    expect([status, json.state]).toEqual([200, 'open']);
    return { paymentId: json.id, checkoutId: new URL(json.url).pathname.split('/').at(-1) ?? '' };
  }

  async function deliver(event: SimulatedEvent) {
    const { body, headers } = stripe.sign(event);
    const url = `${gateway.url}/webhooks/stripe`;
    return (await fetch(url, { method: 'POST', body, headers })).status;
  }

  /** The events that `work` causes. */
  function eventsOf(work: () => void): readonly SimulatedEvent[] {
    const before = stripe.events.length;
    work();
    return stripe.events.slice(before);
  }

  async function deliverAll(events: readonly SimulatedEvent[]) {
    for (const event of events)
      expect([event.type, await deliver(event)]).toEqual([event.type, 200]);
  }

  /** A customer who has paid. */
  async function newPayer(amount = '20') {
    const customer = await newCustomer();
    const { paymentId, checkoutId } = await start(customer.apiKey, amount);
    let reference = '';
    const events = eventsOf(() => (reference = stripe.pay(checkoutId)));
    return { ...customer, paymentId, checkoutId, reference, events };
  }

  const balanceOf = async (accountId: string) =>
    (await gateway.call('showAccount', { account_id: accountId })).balance_usd;
  const notifiedOf = async (accountId: string) =>
    (await gateway.call('listEvents', { account_id: accountId })).data
      .map(({ type }) => type)
      .filter((type) => !type.startsWith('credit.') && !type.startsWith('balance.'));
  const ask = async (apiKey: string) =>
    (await postMessages(gateway, apiKey, userMessage('Hello'))).status;

  describe('a top-up', () => {
    it('leads from an exhausted key to an answered request', async () => {
      const customer = await newCustomer('0.00000000000001');
      expect(await ask(customer.apiKey)).toBe(200);
      expect(await ask(customer.apiKey)).toBe(401);
      const before = parseUsd(await balanceOf(customer.accountId));
      const { paymentId, checkoutId } = await start(customer.apiKey, '12.34');
      const events = eventsOf(() => stripe.pay(checkoutId));
      expect(await ask(customer.apiKey)).toBe(401);
      await deliverAll(events);
      expect(await ask(customer.apiKey)).toBe(200);
      const { data } = await gateway.call('listLedger', {
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

    it('is one page per Idempotency-Key of an account', async () => {
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

    it('with bad input starts nothing and names the field', async () => {
      const { apiKey } = await newCustomer();
      const started = () => stripe.requests.get('POST /v1/checkout/sessions') ?? 0;
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

    it('with a delayed method counts when the money arrives, and not before', async () => {
      for (const [end, balance, state] of [
        ['succeeded', '20', 'paid'],
        ['failed', '0', 'failed'],
      ] as const) {
        const { apiKey, accountId } = await newCustomer();
        const { paymentId, checkoutId } = await start(apiKey);
        await deliverAll(eventsOf(() => stripe.pay(checkoutId, { delayed: true })));
        expect(await balanceOf(accountId)).toBe('0');
        const stateOf = async () => (await dashboard(apiKey, `top-ups/${paymentId}`)).json.state;
        expect(await stateOf()).toBe('pending');
        const events = eventsOf(() => stripe.settleDelayed(checkoutId, end));
        await deliverAll([...events, ...events]);
        expect([await stateOf(), await balanceOf(accountId)]).toEqual([state, balance]);
        const [type] = await notifiedOf(accountId);
        expect(type).toBe(end === 'failed' ? 'payment.failed' : 'payment.succeeded');
      }
    });

    it('that expires is shown so, and offers no page any more', async () => {
      const { apiKey } = await newCustomer();
      const { paymentId, checkoutId } = await start(apiKey);
      await deliverAll(eventsOf(() => stripe.expire(checkoutId)));
      const { json } = await dashboard(apiKey, `top-ups/${paymentId}`);
      expect(json).toMatchObject({ state: 'expired', url: null });
    });

    it('can be sent as a link by the operator', async () => {
      const { accountId } = await newCustomer();
      const input = { account_id: accountId, amount_usd: '7', request_id: 'link-1' };
      const link = await gateway.call('startPayment', input);
      expect(await gateway.call('startPayment', input)).toEqual(link);
      await expect(gateway.call('startPayment', { ...input, amount_usd: '8' })).rejects.toThrow(
        /^request_id: /,
      );
      const checkoutId = link.url?.split('/').at(-1) ?? '';
      await deliverAll(eventsOf(() => stripe.pay(checkoutId)));
      expect(await balanceOf(accountId)).toBe('7');
    });
  });

  describe('notifications', () => {
    it('end in the same ledger however often, in whatever order and at once they come', async () => {
      const random = randomOf(7);
      for (let round = 0; round < 8; round += 1) {
        const payer = await newPayer();
        const more = eventsOf(() => {
          stripe.refund(payer.reference, 300);
          stripe.failRefund(stripe.refund(payer.reference, 200));
          const dispute = stripe.openDispute(payer.reference);
          stripe.closeDispute(dispute, round % 2 === 0 ? 'won' : 'lost');
        });
        const all = [...payer.events, ...more];
        const shuffled = shuffle([...all, ...all, ...all], random);
        const statuses = await Promise.all(shuffled.map(deliver));
        expect(new Set(statuses)).toEqual(new Set([200]));
        const net = BigInt(stripe.netCentsOf(payer.accountId)) * CENT;
        expect(parseUsd(await balanceOf(payer.accountId))).toBe(net);
        const { data } = await gateway.call('listLedger', { account_id: payer.accountId });
        expect(data).toHaveLength(round % 2 === 0 ? 6 : 5);
        const notified = await notifiedOf(payer.accountId);
        expect([...notified].sort()).toEqual([
          'dispute.closed',
          'dispute.opened',
          'payment.succeeded',
          'refund.created',
          'refund.created',
        ]);
      }
      expect((await gateway.call('auditLedger', {})).is_sound).toBe(true);
    });

    it('that are forged, stale, truncated or changed: 0 of 1,000 are accepted', async () => {
      const payer = await newPayer();
      const [event] = payer.events;
      if (event === undefined) throw new Error('no event');
      const random = randomOf(11);
      const now = Math.floor(Date.now() / 1_000);
      const good = stripe.sign(event);
      const signature = good.headers['stripe-signature'] ?? '';
      const forgeries = [
        () => ({ body: good.body, signature: undefined }),
        () => ({ body: good.body, signature: signature.replace(/v1=\w{4}/, `v1=${hex(random)}`) }),
        () => signed({ secret: `whsec_${String(random())}` }),
        () => signed({ timestampSeconds: now - 301 - Math.floor(random() * 1e6) }),
        () => ({ body: good.body.slice(0, Math.floor(random() * good.body.length)), signature }),
        () => ({ body: good.body.replace(/"amount\w*":2000/, '"amount":9999'), signature }),
        () => ({ body: `${good.body}${' '.repeat(1 + Math.floor(random() * 9))}`, signature }),
        () => ({ body: good.body, signature: signature.replace(/t=\d+/, `t=${String(now + 5)}`) }),
        () => ({ body: good.body, signature: 't=1,v1=,v1=x' }),
        () => ({ body: good.body, signature: signature.replace('v1=', 'v0=') }),
      ];
      function signed(options: { readonly secret?: string; readonly timestampSeconds?: number }) {
        const { body, headers } = stripe.sign(event!, options);
        return { body, signature: headers['stripe-signature'] };
      }
      const statuses = new Map<number, number>();
      for (let n = 0; n < 1_000; n += 1) {
        const { body, signature: header } = forgeries[n % forgeries.length]!();
        const response = await fetch(`${gateway.url}/webhooks/stripe`, {
          method: 'POST',
          body,
          headers: header === undefined ? {} : { 'stripe-signature': header },
        });
        await response.arrayBuffer();
        statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1);
      }
      expect([...statuses]).toEqual([[400, 1_000]]);
      expect(await balanceOf(payer.accountId)).toBe('0');
      await deliverAll(payer.events);
      expect(await balanceOf(payer.accountId)).toBe('20');
    });

    it('too large or without end are refused; another method is, too', async () => {
      const url = `${gateway.url}/webhooks/stripe`;
      const headers = { 'stripe-signature': 't=1,v1=a' };
      const body = 'x'.repeat(300_000);
      expect((await fetch(url, { method: 'POST', body, headers })).status).toBe(413);
      expect((await fetch(url)).status).toBe(405);
    });

    it('that differ from what was started credit nothing and raise an alarm', async () => {
      for (const [reason, change] of [
        ['other_amount', { amount_received: 2_001 }],
        ['other_currency', { currency: 'eur' }],
        ['other_account', { metadata: { gateway_account: 'acct_other' } }],
        ['unknown_payment', { metadata: { gateway_payment: 'pay_other' } }],
        ['second_payment', { id: 'pi_second' }],
      ] as const) {
        const { accountId, reference, paymentId, events } = await newPayer();
        const event = events.find(({ type }) => type === 'payment_intent.succeeded')!;
        if (reason === 'second_payment') await deliverAll(events);
        const before = await balanceOf(accountId);
        const intent = event.data.object as Record<string, unknown>;
        const metadata = {
          ...(intent['metadata'] as object),
          ...('metadata' in change ? change.metadata : {}),
        };
        const id = 'id' in change ? `${reference}_second` : reference;
        const changed = { ...event, data: { object: { ...intent, ...change, id, metadata } } };
        expect(await deliver(changed)).toBe(200);
        expect(await balanceOf(accountId)).toBe(before);
        const { data } = await gateway.call('listUnbookedPayments', { limit: 1 });
        expect(data[0]).toMatchObject({ id, reason, fact: 'paid' });
        const alarms = (await gateway.call('listEvents', { limit: 1000 })).data.filter(
          ({ type, data: details }) =>
            type === 'payment.unbooked' && details['provider_payment_id'] === id,
        );
        expect([paymentId, alarms.length]).toEqual([paymentId, 1]);
      }
    });

    it('of the other mode are refused; those of other uses of the account change nothing', async () => {
      const { accountId, events } = await newPayer();
      const [event] = events;
      expect(await deliver({ ...event!, livemode: true })).toBe(400);
      const object = { ...event!.data.object, metadata: {}, id: 'pi_foreign' };
      expect(await deliver({ ...event!, data: { object } })).toBe(200);
      expect(await balanceOf(accountId)).toBe('0');
      const refund = {
        object: 'refund',
        id: 're_x',
        amount: 1,
        currency: 'usd',
        status: 'succeeded',
      };
      const foreign = { ...refund, payment_intent: 'pi_0foreign' };
      expect(await deliver({ ...event!, type: 'refund.created', data: { object: foreign } })).toBe(
        200,
      );
      const { data } = await gateway.call('listUnbookedPayments', { limit: 1000 });
      expect(data.filter(({ id }) => ['pi_foreign', 're_x'].includes(id))).toEqual([]);
    });

    it('are counted by outcome, and no secret is in metrics', async () => {
      const text = await (await fetch(`${gateway.adminUrl}/metrics`)).text();
      for (const outcome of ['booked', 'known', 'unbooked', 'unsigned', 'other_mode', 'foreign']) {
        const [, count] = new RegExp(
          `gateway_payment_notifications_total\\{outcome="${outcome}"\\} (\\d+)`,
        ).exec(text) ?? ['', '0'];
        expect([outcome, Number(count) > 0]).toEqual([outcome, true]);
      }
      expect(text).toContain('gateway_payment_notifications_total{outcome="unavailable"} 0');
      expect(text).not.toContain('canary');
    });
  });

  describe('money back', () => {
    it('is an adjustment each, from the console and from the provider, and disables a debtor', async () => {
      const payer = await newPayer();
      await deliverAll(payer.events);
      const input = { payment_id: payer.paymentId, refund_id: 'r1', amount_usd: '5' };
      const refund = await gateway.call('refundPayment', input);
      expect(refund).toMatchObject({
        amount_usd: '5',
        payment: { taken_back_usd: '5', refundable_usd: '15', unspent_usd: '15' },
      });
      expect(await gateway.call('refundPayment', input)).toEqual(refund);
      await expect(gateway.call('refundPayment', { ...input, amount_usd: '6' })).rejects.toThrow(
        /^refund_id: /,
      );
      await expect(
        gateway.call('refundPayment', { ...input, refund_id: 'r2', amount_usd: '15.01' }),
      ).rejects.toThrow(/^amount_usd: /);
      expect(await ask(payer.apiKey)).toBe(200);
      const spent = 15n * 100n * CENT - parseUsd(await balanceOf(payer.accountId));
      const shown = await gateway.call('showPayment', { payment_id: payer.paymentId });
      expect(parseUsd(shown.unspent_usd)).toBe(15n * 100n * CENT - spent);
      await deliverAll(eventsOf(() => stripe.refund(payer.reference, 1_500)));
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

    it('of several payments is unspent from the newest', async () => {
      const payer = await newPayer('10');
      await deliverAll(payer.events);
      const { paymentId, checkoutId } = await start(payer.apiKey, '20');
      await deliverAll(eventsOf(() => stripe.pay(checkoutId)));
      const use = { account_id: payer.accountId, reason: 'correction', amount_usd: '-12' } as const;
      await gateway.call('adjustBalance', { ...use, adjustment_id: payer.paymentId });
      const unspentOf = async (payment_id: string) =>
        (await gateway.call('showPayment', { payment_id })).unspent_usd;
      expect([await unspentOf(payer.paymentId), await unspentOf(paymentId)]).toEqual(['0', '18']);
    });

    it('of an inquiry is none; a dispute takes it, and gives it back when it is won', async () => {
      const payer = await newPayer();
      await deliverAll(payer.events);
      await deliverAll(eventsOf(() => stripe.openDispute(payer.reference, { isInquiry: true })));
      expect(await balanceOf(payer.accountId)).toBe('20');
      let disputeId = '';
      await deliverAll(eventsOf(() => (disputeId = stripe.openDispute(payer.reference))));
      expect(await balanceOf(payer.accountId)).toBe('0');
      const { data } = await gateway.call('listLedger', { account_id: payer.accountId, limit: 1 });
      expect(data[0]).toMatchObject({
        id: `adjustment:stripe:${disputeId}`,
        reason: 'chargeback',
        reference: payer.reference,
      });
      await deliverAll(eventsOf(() => stripe.closeDispute(disputeId, 'won')));
      expect(await balanceOf(payer.accountId)).toBe('20');
    });
  });

  describe('a comparison with the provider', () => {
    const range = () => ({
      from: new Date(Date.now() - 3_600_000).toISOString(),
      until: new Date(Date.now() + 60_000).toISOString(),
    });

    it('names what lost notifications left out, books it, and then finds nothing', async () => {
      await gateway.call('reconcilePayments', { ...range(), apply: true });
      const known = await gateway.call('reconcilePayments', range());
      const stuck = known.missing.map(({ id }) => id);
      const payers = [await newPayer(), await newPayer('30')];
      const [first] = payers;
      const refundId = stripe.refund(first!.reference, 100);
      const disputeId = stripe.openDispute(payers[1]!.reference);
      const named = await gateway.call('reconcilePayments', range());
      const ids = named.missing.map(({ id }) => id).filter((id) => !stuck.includes(id));
      expect(ids.sort()).toEqual(payers.map(({ reference }) => reference).sort());
      expect(await balanceOf(first!.accountId)).toBe('0');

      const applied = await gateway.call('reconcilePayments', { ...range(), apply: true });
      const booked = applied.missing.filter(({ outcome }) => outcome === 'booked');
      expect(new Set(booked.map(({ id }) => id))).toEqual(
        new Set([...payers.map(({ reference }) => reference), refundId, disputeId]),
      );
      expect(await balanceOf(first!.accountId)).toBe('19');
      expect(await balanceOf(payers[1]!.accountId)).toBe('0');
      const after = await gateway.call('reconcilePayments', range());
      expect(after.missing.map(({ id }) => id)).toEqual(stuck);
      await deliverAll(first!.events);
      expect(await balanceOf(first!.accountId)).toBe('19');
    });

    it('that the provider does not answer is a 503 that changes nothing', async () => {
      stripe.setDown(true);
      const compared = gateway.call('reconcilePayments', range());
      await expect(compared).rejects.toMatchObject({ status: 503 });
      const { apiKey } = await newCustomer();
      expect((await startWith(apiKey, { amount_usd: '20' }, 'later')).status).toBe(503);
      stripe.setDown(false);
      const { status, json } = await startWith(apiKey, { amount_usd: '20' }, 'later');
      expect([status, json.state]).toEqual([200, 'open']);
    });
  });

  describe('auto top-up', () => {
    const order = {
      threshold_usd: '10',
      amount_usd: '25',
      max_per_day: 2,
      max_per_month_usd: '1000',
    };
    const put = (apiKey: string, body: object) =>
      dashboard(apiKey, 'auto-top-up', { method: 'PUT', body: JSON.stringify(body) });
    const intents = () => stripe.requests.get('POST /v1/payment_intents') ?? 0;

    async function newSaver(balance?: string, change: object = {}) {
      const customer = await newCustomer(balance);
      const placed = await put(customer.apiKey, { ...order, ...change });
      expect(placed.json).toMatchObject({ state: 'needs_method' });
      const checkoutId = String(placed.json.setup_url).split('/').at(-1) ?? '';
      await deliverAll(eventsOf(() => stripe.saveMethod(checkoutId)));
      const { json } = await dashboard(customer.apiKey, 'auto-top-up');
      expect(json.state).toBe('on');
      const { data } = (await payments().autoTopUp.find(customer.accountId))!;
      return { ...customer, method: data.method_id ?? '' };
    }
    const run = () => payments().autoTopUp.runDue();
    const spend = async (accountId: string, amount: string) => {
      const adjustment = {
        account_id: accountId,
        reason: 'correction',
        amount_usd: amount,
      } as const;
      await gateway.call('adjustBalance', {
        ...adjustment,
        adjustment_id: `s${String(Math.random()).slice(2)}`,
      });
    };

    it('charges the saved method once when the balance is low, by however many replicas', async () => {
      const saver = await newSaver('10');
      await run();
      expect(await balanceOf(saver.accountId)).toBe('10');
      await spend(saver.accountId, '-0.01');
      const before = intents();
      const others = 'DATABASE_URL' in env ? [await startTestGateway({ env })] : [];
      const gateways = [gateway, ...others];
      const runOn = async (n: number) =>
        gateways[n % gateways.length]?.running.services.payments?.autoTopUp.runDue();
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
      }
      const thrifty = await newSaver('1', { max_per_day: 9, max_per_month_usd: '49.99' });
      await run();
      await spend(thrifty.accountId, '-24');
      await run();
      expect(await balanceOf(thrifty.accountId)).toBe('2');
    });

    it('that is declined stops until a person acts', async () => {
      const saver = await newSaver('1');
      stripe.setCard(saver.method, 'declines');
      const before = intents();
      for (let n = 0; n < 3; n += 1) await run();
      expect(intents() - before).toBe(1);
      const { json } = await dashboard(saver.apiKey, 'auto-top-up');
      expect(json).toMatchObject({ state: 'stopped', stopped_code: 'card_declined' });
      expect(await notifiedOf(saver.accountId)).toContain('auto_top_up.failed');
      stripe.setCard(saver.method, 'pays');
      expect((await put(saver.apiKey, order)).json).toMatchObject({ state: 'on', setup_url: null });
      await run();
      expect(await balanceOf(saver.accountId)).toBe('26');
    });

    it('whose response is lost charges once, and its notification credits it', async () => {
      const saver = await newSaver('1');
      stripe.setDown(true);
      await run();
      stripe.setDown(false);
      await run();
      // The attempt is young: another replica may still be waiting for the response.
      expect(await balanceOf(saver.accountId)).toBe('1');
      const known = (await payments().autoTopUp.find(saver.accountId))!;
      const { attempt } = known.data;
      const old = new Date(Date.now() - 600_000).toISOString();
      await gateway.running.store.writeDocument({
        kind: 'auto_top_up',
        id: saver.accountId,
        accountId: saver.accountId,
        version: known.version,
        data: { ...known.data, attempt: { ...attempt, started_at: old } },
        balanceBelow: known.balanceBelow,
      });
      stripe.dropNext('/v1/payment_intents', 'before');
      await run();
      await run();
      expect(await balanceOf(saver.accountId)).toBe('26');
      expect(stripe.netCentsOf(saver.accountId)).toBe(2_500);
    });

    it('with a delayed method waits for it, and begins no other', async () => {
      const saver = await newSaver('1');
      stripe.setCard(saver.method, 'pays_later');
      const before = intents();
      for (let n = 0; n < 3; n += 1) await run();
      expect(intents() - before).toBe(1);
      const { json } = await dashboard(saver.apiKey, 'top-ups');
      expect(json.data).toMatchObject([{ state: 'pending' }]);
    });

    it('ends when the customer ends it, and refuses what cannot be an order', async () => {
      const saver = await newSaver('1');
      const ended = await dashboard(saver.apiKey, 'auto-top-up', { method: 'DELETE' });
      expect(ended.json).toMatchObject({ state: 'off' });
      const before = intents();
      await run();
      expect(intents()).toBe(before);
      for (const [field, change] of [
        ['threshold_usd', { threshold_usd: '0' }],
        ['amount_usd', { amount_usd: '4' }],
        ['max_per_day', { max_per_day: 0 }],
        ['max_per_month_usd', { max_per_month_usd: '24.99' }],
      ] as const) {
        const refused = await put(saver.apiKey, { ...order, ...change });
        expect([refused.status, refused.json.error.param]).toEqual([400, field]);
      }
    });

    it('of a shared account is for a key that may manage it', async () => {
      const { accountId, apiKey } = await newCustomer();
      await gateway.call('createKey', { name: 'second', account_id: accountId });
      expect((await put(apiKey, order)).status).toBe(403);
      expect((await dashboard(apiKey, 'top-ups')).status).toBe(403);
    });
  });

  describe('promotional codes', () => {
    const redeem = (apiKey: string, code: string) =>
      dashboard(apiKey, 'promo-codes', { method: 'POST', body: JSON.stringify({ code }) });

    it('credit each account once, and only as many as they allow', async () => {
      await gateway.call('createPromoCode', {
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
      const { data } = await gateway.call('listPromoCodes', {});
      expect(data).toMatchObject([{ code: 'WELCOME-2026', redemptions: 2, max_redemptions: 2 }]);
      const { unspent } = await gateway.call('showAccount', { account_id: first.accountId });
      expect(unspent.lots).toMatchObject([
        { source: 'promotional', expires_at: '2100-01-01T00:00:00.000Z', remaining_usd: '3' },
      ]);
    });

    it('that have expired or never were are refused alike', async () => {
      const expired = { code: 'EXPIRED-1', amount_usd: '3', max_redemptions: 2 };
      await gateway.call('createPromoCode', { ...expired, expires_at: '2020-01-01T00:00:00Z' });
      await expect(gateway.call('createPromoCode', expired)).rejects.toThrow(/^code: /);
      const { apiKey } = await newCustomer();
      const answers = [await redeem(apiKey, 'EXPIRED-1'), await redeem(apiKey, 'NEVER-WAS')];
      expect(answers.map(({ status }) => status)).toEqual([404, 404]);
      expect(answers[0]?.json.error).toEqual(answers[1]?.json.error);
    });
  });
});

it('without a secret key, nothing of it is served', async () => {
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

/** The same numbers at each run. */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state / 2_147_483_648;
  };
}

function hex(random: () => number): string {
  return Math.floor(random() * 0xffff)
    .toString(16)
    .padStart(4, '0');
}

function shuffle<Item>(items: Item[], random: () => number): Item[] {
  for (let last = items.length - 1; last > 0; last -= 1) {
    const other = Math.floor(random() * (last + 1));
    [items[last], items[other]] = [items[other]!, items[last]!];
  }
  return items;
}
