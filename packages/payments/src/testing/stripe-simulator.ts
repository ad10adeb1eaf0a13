/** The simulated Stripe: its state, the actions of people on its pages, and its notifications. */

import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import Stripe from 'stripe';
import { parseForm, pairsOf, textOf } from './form.js';
import type { Form } from './form.js';
import { newDispute, newId, newIntent, newRefund, newSession, newSetupIntent } from './objects.js';

export interface StripeSimulatorOptions {
  /** `sk_test_…` or `sk_live_…`. It determines the mode of the simulator. */
  readonly secretKey: string;
  /** Signs notifications. */
  readonly webhookSecret: string;
  /** Where each event is posted as it happens. Without it, the test delivers them. */
  readonly webhookUrl?: string | undefined;
  /** Milliseconds since the epoch. */
  readonly now?: (() => number) | undefined;
}

export interface SimulatedEvent {
  readonly id: string;
  readonly type: string;
  readonly created: number;
  readonly livemode: boolean;
  readonly data: { readonly object: object };
}

/** How the saved card behaves when it is charged while its holder is absent. */
export type CardBehavior = 'pays' | 'declines' | 'demands_authentication' | 'pays_later';

export interface StripeSimulator {
  /** Origin of its API and of its pages. */
  readonly url: string;
  /** All events so far, oldest first. */
  readonly events: readonly SimulatedEvent[];
  /** How many requests its API has received, by method and path without ids. */
  readonly requests: ReadonlyMap<string, number>;
  /** Sets the address for later notifications. With `undefined`, none are sent. */
  notify(webhookUrl: string | undefined): void;
  /** The body and the headers of a notification. */
  sign(
    event: SimulatedEvent,
    options?: { readonly timestampSeconds?: number; readonly secret?: string },
  ): { readonly body: string; readonly headers: Readonly<Record<string, string>> };
  /** Pays on a page that is open. @returns the id of the payment */
  pay(checkoutId: string, options?: { readonly delayed?: boolean }): string;
  /** Ends a payment with a delayed method. */
  settleDelayed(checkoutId: string, end: 'succeeded' | 'failed'): void;
  expire(checkoutId: string): void;
  /** Completes a page for saving a method. */
  saveMethod(checkoutId: string, card?: CardBehavior): void;
  setCard(methodId: string, card: CardBehavior): void;
  /** Refunds as the operator can in Stripe's own dashboard. @returns the id of the refund */
  refund(paymentId: string, amountCents: number): string;
  failRefund(refundId: string): void;
  /** @returns the id of the dispute */
  openDispute(paymentId: string, options?: { readonly isInquiry?: boolean }): string;
  closeDispute(disputeId: string, end: 'won' | 'lost'): void;
  /**
   * The sum of the payments that succeeded and were started by a gateway, minus refunds and
   * disputes.
   */
  netCentsOf(accountId: string): number;
  /**
   * The connection of the next request to a path is closed without a response, `before` or `after`
   * the request is carried out.
   */
  dropNext(path: string, moment: 'before' | 'after'): void;
  /** Answers every request with an error of the server. */
  setDown(isDown: boolean): void;
  close(): Promise<void>;
}

interface Answer {
  readonly status: number;
  readonly body: unknown;
}

const PAGE_LIFETIME_SECONDS = 86_400;

/** The error code of the API for each way in which a saved method refuses a charge. */
const DECLINES: Partial<Record<CardBehavior, string>> = {
  declines: 'card_declined',
  demands_authentication: 'authentication_required',
};

export async function startStripeSimulator(
  options: StripeSimulatorOptions,
): Promise<StripeSimulator> {
  const { secretKey, webhookSecret, now = Date.now } = options;
  const livemode = secretKey.includes('_live_');
  const signer = new Stripe(secretKey).webhooks;
  let { webhookUrl } = options;
  let isDown = false;
  let origin = '';
  const sessions = new Map<string, Stripe.Checkout.Session>();
  const intents = new Map<string, Stripe.PaymentIntent>();
  const setups = new Map<string, Stripe.SetupIntent>();
  const refunds = new Map<string, Stripe.Refund>();
  const disputes = new Map<string, Stripe.Dispute>();
  const cards = new Map<string, CardBehavior>();
  /** Metadata that a page gives to its payment. */
  const metadataOfPayment = new Map<string, Record<string, string>>();
  const events: SimulatedEvent[] = [];
  const answered = new Map<string, { readonly form: string; readonly answer: Answer }>();
  const requests = new Map<string, number>();
  const drops = new Map<string, 'before' | 'after'>();
  const deliveries = new Set<Promise<unknown>>();

  const base = () => ({ livemode, created: Math.floor(now() / 1_000) });

  function emit(type: string, object: object): void {
    const event = { id: newId('evt'), ...base(), type, data: { object: structuredClone(object) } };
    events.push(event);
    if (webhookUrl === undefined) return;
    const { body, headers } = sign(event);
    const delivery = fetch(webhookUrl, { method: 'POST', body, headers })
      .then((response) => response.arrayBuffer())
      .catch(() => undefined)
      .finally(() => deliveries.delete(delivery));
    deliveries.add(delivery);
  }

  function sign(
    event: SimulatedEvent,
    { timestampSeconds = Math.floor(now() / 1_000), secret = webhookSecret } = {},
  ) {
    const body = JSON.stringify({
      object: 'event',
      api_version: Stripe.API_VERSION,
      pending_webhooks: 1,
      request: null,
      ...event,
    });
    const signature = signer.generateTestHeaderString({
      payload: body,
      secret,
      timestamp: timestampSeconds,
    });
    return { body, headers: { 'content-type': 'application/json', 'stripe-signature': signature } };
  }

  function openSession(checkoutId: string): Stripe.Checkout.Session {
    const session = sessions.get(checkoutId);
    if (session?.status !== 'open') throw new Error(`${checkoutId} is not open`);
    return session;
  }

  function intentOf(paymentId: string): Stripe.PaymentIntent {
    const intent = intents.get(paymentId);
    if (intent === undefined) throw new Error(`there is no payment ${paymentId}`);
    return intent;
  }

  function refundedCents(paymentId: string): number {
    let sum = 0;
    for (const { payment_intent, amount, status } of refunds.values()) {
      if (payment_intent === paymentId && status === 'succeeded') sum += amount;
    }
    return sum;
  }

  function refund(
    paymentId: string,
    amountCents: number,
    metadata: Record<string, string> = {},
  ): Stripe.Refund {
    const intent = intentOf(paymentId);
    const made = newRefund(base(), {
      amount: amountCents,
      currency: intent.currency,
      payment_intent: intent.id,
      charge: intent.latest_charge,
      status: 'succeeded',
      metadata,
    });
    refunds.set(made.id, made);
    emit('refund.created', made);
    return made;
  }

  function pay(checkoutId: string, { delayed = false } = {}): string {
    const session = openSession(checkoutId);
    const customer = newId('cus');
    const intent = newIntent(base(), {
      amount: session.amount_total ?? 0,
      currency: session.currency ?? 'usd',
      customer,
      metadata: metadataOfPayment.get(checkoutId) ?? {},
      payment_method: newId('pm'),
      status: delayed ? 'processing' : 'succeeded',
    });
    intents.set(intent.id, intent);
    Object.assign(session, {
      status: 'complete',
      payment_status: delayed ? 'unpaid' : 'paid',
      payment_intent: intent.id,
      customer,
    });
    if (!delayed) emit('payment_intent.succeeded', intent);
    emit('checkout.session.completed', session);
    return intent.id;
  }

  function settleDelayed(checkoutId: string, end: 'succeeded' | 'failed'): void {
    const session = sessions.get(checkoutId);
    const intent = intentOf(idOf(session?.payment_intent));
    if (session === undefined) throw new Error(`there is no page ${checkoutId}`);
    if (end === 'failed') {
      intent.status = 'requires_payment_method';
      emit('payment_intent.payment_failed', intent);
      emit('checkout.session.async_payment_failed', session);
      return;
    }
    Object.assign(intent, { status: 'succeeded', amount_received: intent.amount });
    session.payment_status = 'paid';
    emit('payment_intent.succeeded', intent);
    emit('checkout.session.async_payment_succeeded', session);
  }

  function saveMethod(checkoutId: string, card: CardBehavior = 'pays'): void {
    const session = openSession(checkoutId);
    const setup = newSetupIntent(base(), {
      customer: newId('cus'),
      payment_method: newId('pm'),
      metadata: session.metadata,
    });
    setups.set(setup.id, setup);
    cards.set(idOf(setup.payment_method), card);
    Object.assign(session, {
      status: 'complete',
      setup_intent: setup.id,
      customer: setup.customer,
    });
    emit('checkout.session.completed', session);
  }

  function createSession(form: Form): Answer {
    const isSetup = textOf(form, 'mode') === 'setup';
    const price = ['line_items', '0', 'price_data'] as const;
    const cents = Number(textOf(form, ...price, 'unit_amount'));
    if (!isSetup && !(Number.isInteger(cents) && cents >= 50)) {
      return problem(400, 'parameter_invalid_integer', 'Amount must be at least 50 cents');
    }
    const id = newId(livemode ? 'cs_live' : 'cs_test');
    const { created } = base();
    const session = newSession(base(), {
      id,
      mode: isSetup ? 'setup' : 'payment',
      amount_total: isSetup ? null : cents,
      client_reference_id: textOf(form, 'client_reference_id') ?? null,
      metadata: pairsOf(form, 'metadata'),
      success_url: textOf(form, 'success_url') ?? null,
      cancel_url: textOf(form, 'cancel_url') ?? null,
      url: `${origin}/c/pay/${id}`,
      expires_at: created + PAGE_LIFETIME_SECONDS,
    });
    sessions.set(id, session);
    metadataOfPayment.set(id, pairsOf(form, 'payment_intent_data', 'metadata'));
    return { status: 200, body: session };
  }

  function createIntent(form: Form): Answer {
    const method = textOf(form, 'payment_method') ?? '';
    const card = cards.get(method);
    if (card === undefined) {
      return problem(400, 'resource_missing', 'No such PaymentMethod');
    }
    const declined = DECLINES[card];
    const statuses = { pays: 'succeeded', pays_later: 'processing' } as const;
    const intent = newIntent(base(), {
      amount: Number(textOf(form, 'amount')),
      currency: textOf(form, 'currency') ?? '',
      customer: textOf(form, 'customer') ?? null,
      metadata: pairsOf(form, 'metadata'),
      payment_method: method,
      status: card === 'pays' || card === 'pays_later' ? statuses[card] : 'requires_payment_method',
    });
    intents.set(intent.id, intent);
    if (declined === undefined) {
      if (intent.status === 'succeeded') emit('payment_intent.succeeded', intent);
      return { status: 200, body: intent };
    }
    emit('payment_intent.payment_failed', intent);
    return problem(402, declined, 'Your card was declined.', 'card_error');
  }

  function createRefund(form: Form): Answer {
    const paymentId = textOf(form, 'payment_intent') ?? '';
    const intent = intents.get(paymentId);
    const amount = Number(textOf(form, 'amount'));
    if (intent === undefined) return problem(404, 'resource_missing', 'No such payment_intent');
    if (amount > intent.amount_received - refundedCents(paymentId)) {
      return problem(400, 'charge_already_refunded', 'Refund amount is greater than unrefunded');
    }
    return { status: 200, body: refund(paymentId, amount, pairsOf(form, 'metadata')) };
  }

  /** Newest first, page by page. */
  function listed(
    objects: Iterable<{ readonly id: string; readonly created: number }>,
    form: Form,
  ) {
    const [gte, lt] = [textOf(form, 'created', 'gte'), textOf(form, 'created', 'lt')];
    const after = textOf(form, 'starting_after');
    const [customer, payment] = [textOf(form, 'customer'), textOf(form, 'payment_intent')];
    const types = Object.values(pairsOf(form, 'types'));
    const limit = Number(textOf(form, 'limit') ?? 10);
    const all = [...objects].reverse().filter((object) => {
      if (gte !== undefined && object.created < Number(gte)) return false;
      if (lt !== undefined && object.created >= Number(lt)) return false;
      if (customer !== undefined && !('customer' in object && object.customer === customer)) {
        return false;
      }
      if (
        payment !== undefined &&
        !('payment_intent' in object && object.payment_intent === payment)
      ) {
        return false;
      }
      return types.length === 0 || ('type' in object && types.includes(String(object.type)));
    });
    const start = after === undefined ? 0 : all.findIndex(({ id }) => id === after) + 1;
    const data = all.slice(start, start + limit);
    const has_more = all.length > start + limit;
    return { status: 200, body: { object: 'list', url: '/v1', data, has_more } };
  }

  function retrieved(object: object | undefined): Answer {
    if (object === undefined) return problem(404, 'resource_missing', 'No such object');
    return { status: 200, body: object };
  }

  function withCharge(intent: Stripe.PaymentIntent | undefined, form: Form): object | undefined {
    const isExpanded = Object.values(pairsOf(form, 'expand')).includes('latest_charge');
    if (intent === undefined || !isExpanded) return intent;
    const id = idOf(intent.latest_charge);
    return { ...intent, latest_charge: { id, receipt_url: `${origin}/receipts/${id}` } };
  }

  function answer(method: string, path: string, form: Form): Answer {
    const id = path.split('/').at(-1) ?? '';
    const route = `${method} ${path.replace(/\/[a-z]+_[\w]*\d[\w]*$/, '/:id')}`;
    requests.set(route, (requests.get(route) ?? 0) + 1);
    switch (route) {
      case 'POST /v1/checkout/sessions':
        return createSession(form);
      case 'GET /v1/checkout/sessions':
        return listed(sessions.values(), form);
      case 'POST /v1/payment_intents':
        return createIntent(form);
      case 'GET /v1/payment_intents':
        return listed(intents.values(), form);
      case 'GET /v1/payment_intents/:id':
        return retrieved(withCharge(intents.get(id), form));
      case 'GET /v1/setup_intents/:id':
        return retrieved(setups.get(id));
      case 'POST /v1/refunds':
        return createRefund(form);
      case 'GET /v1/refunds':
        return listed(refunds.values(), form);
      case 'GET /v1/disputes':
        return listed(disputes.values(), form);
      case 'GET /v1/events': {
        const all = events.map((event) => ({ object: 'event', ...event }));
        return listed(all, form);
      }
      default:
        return problem(404, 'url_invalid', `Unrecognized request URL (${method}: ${path})`);
    }
  }

  /** A repeated key gets the same answer; with a different form it is refused. */
  function answerOnce(key: string | undefined, form: string, work: () => Answer): Answer {
    const known = key === undefined ? undefined : answered.get(key);
    if (known !== undefined) {
      if (known.form === form) return known.answer;
      const message = 'Keys for idempotent requests can only be used with the same parameters';
      return problem(400, 'idempotency_key_in_use', message, 'idempotency_error');
    }
    const made = work();
    const copy = { status: made.status, body: structuredClone(made.body) };
    if (key !== undefined) answered.set(key, { form, answer: copy });
    return copy;
  }

  async function serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const { pathname, search } = new URL(req.url ?? '/', origin);
    const body = await text(req);
    if (pathname.startsWith('/c/pay/')) {
      servePage(req.method ?? 'GET', pathname.slice('/c/pay/'.length), res);
      return;
    }
    const drop = drops.get(pathname);
    drops.delete(pathname);
    if (drop === 'before') {
      req.socket.destroy();
      return;
    }
    const method = req.method ?? 'GET';
    const form = parseForm(method === 'GET' ? search.slice(1) : body);
    const key = req.headers['idempotency-key']?.toString();
    const made = isDown
      ? problem(503, 'unavailable', 'Stripe is down', 'api_error')
      : req.headers.authorization === `Bearer ${secretKey}`
        ? answerOnce(method === 'POST' ? key : undefined, body, () =>
            answer(method, pathname, form),
          )
        : problem(401, 'api_key_invalid', 'Invalid API Key provided: sk_test_***');
    if (drop === 'after') {
      req.socket.destroy();
      return;
    }
    res.writeHead(made.status, {
      'content-type': 'application/json',
      'request-id': newId('req'),
      // Without retries by the SDK, a test of an outage does not have to wait for them.
      ...(isDown ? { 'stripe-should-retry': 'false' } : {}),
    });
    res.end(JSON.stringify(made.body));
  }

  /** The hosted page, with one button. */
  function servePage(method: string, checkoutId: string, res: ServerResponse): void {
    const session = sessions.get(checkoutId);
    if (session === undefined) {
      res.writeHead(404).end();
      return;
    }
    if (method === 'POST' && session.status === 'open') {
      if (session.mode === 'setup') saveMethod(checkoutId);
      else pay(checkoutId);
      res.writeHead(303, { location: session.success_url ?? '/' }).end();
      return;
    }
    const cents = session.amount_total ?? 0;
    const label = session.mode === 'setup' ? 'Save card' : `Pay $${(cents / 100).toFixed(2)}`;
    const button = `<form method="post"><button type="submit">${label}</button></form>`;
    res.writeHead(200, { 'content-type': 'text/html; charset=utf-8' });
    res.end(
      `<!doctype html><html lang="en"><title>Simulated Checkout</title>` +
        `<h1>Simulated Checkout</h1>${session.status === 'open' ? button : '<p>Done.</p>'}</html>`,
    );
  }

  const server = createServer((req, res) => {
    serve(req, res).catch((error: unknown) => {
      res.writeHead(500).end(String(error));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  origin = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;

  return {
    url: origin,
    events,
    requests,
    notify: (url) => {
      webhookUrl = url;
    },
    sign,
    pay,
    settleDelayed,
    expire(checkoutId) {
      const session = openSession(checkoutId);
      session.status = 'expired';
      emit('checkout.session.expired', session);
    },
    saveMethod,
    setCard: (methodId, card) => {
      cards.set(methodId, card);
    },
    refund: (paymentId, amountCents) => refund(paymentId, amountCents).id,
    failRefund(refundId) {
      const failed = refunds.get(refundId);
      if (failed === undefined) throw new Error(`there is no refund ${refundId}`);
      failed.status = 'failed';
      emit('refund.failed', failed);
    },
    openDispute(paymentId, { isInquiry = false } = {}) {
      const intent = intentOf(paymentId);
      const dispute = newDispute(base(), {
        amount: intent.amount_received - refundedCents(paymentId),
        currency: intent.currency,
        charge: idOf(intent.latest_charge),
        payment_intent: intent.id,
        status: isInquiry ? 'warning_needs_response' : 'needs_response',
      });
      disputes.set(dispute.id, dispute);
      emit('charge.dispute.created', dispute);
      if (!isInquiry) emit('charge.dispute.funds_withdrawn', dispute);
      return dispute.id;
    },
    closeDispute(disputeId, end) {
      const dispute = disputes.get(disputeId);
      if (dispute === undefined) throw new Error(`there is no dispute ${disputeId}`);
      dispute.status = end;
      emit('charge.dispute.closed', dispute);
      if (end === 'won') emit('charge.dispute.funds_reinstated', dispute);
    },
    netCentsOf(accountId) {
      let net = 0;
      for (const intent of intents.values()) {
        if (intent.metadata['gateway_account'] !== accountId) continue;
        net += intent.amount_received - refundedCents(intent.id);
        for (const { payment_intent, amount, status } of disputes.values()) {
          const isBack = status === 'won' || status.startsWith('warning_');
          if (payment_intent === intent.id && !isBack) net -= amount;
        }
      }
      return net;
    },
    dropNext: (path, moment) => {
      drops.set(path, moment);
    },
    setDown: (down) => {
      isDown = down;
    },
    async close() {
      await Promise.all(deliveries);
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function idOf(value: string | { readonly id: string } | null | undefined): string {
  if (value === null || value === undefined) throw new Error('there is no id');
  return typeof value === 'string' ? value : value.id;
}

function problem(status: number, code: string, message: string, type?: string): Answer {
  return {
    status,
    body: { error: { type: type ?? 'invalid_request_error', code, message } },
  };
}
