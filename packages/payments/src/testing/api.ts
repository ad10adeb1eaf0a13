/** The API of the simulated Stripe: answers the requests that `createStripeProvider` sends. */

import type Stripe from 'stripe';
import { pairsOf, textOf } from './form.js';
import type { Form } from './form.js';
import type { Notifications } from './notifications.js';
import { newCalculation, newId, newIntent, newSession } from './objects.js';
import type { Base } from './objects.js';
import { idOf } from './records.js';
import type { CardBehavior, StripeRecords } from './records.js';

export interface Answer {
  readonly status: number;
  readonly body: unknown;
}

const PAGE_LIFETIME_SECONDS = 86_400;

/** The error code of the API for each way in which a saved method refuses a charge. */
const DECLINES: Partial<Record<CardBehavior, string>> = {
  declines: 'card_declined',
  demands_authentication: 'authentication_required',
};

export interface StripeApi {
  /** How many requests were carried out, by method and path without ids. */
  readonly requests: ReadonlyMap<string, number>;
  /** A repeated key gets the same answer; with a different form it is refused. */
  answerOnce(key: string | undefined, form: string, work: () => Answer): Answer;
  answer(method: string, path: string, form: Form): Answer;
}

/**
 * @param options.origin - The origin of the simulator's pages.
 */
export function createApi(
  records: StripeRecords,
  { events, emit }: Notifications,
  options: {
    readonly base: () => Base;
    readonly origin: () => string;
  },
): StripeApi {
  const { base, origin } = options;
  const { sessions, intents, setups, refunds, disputes, cards, metadataOfPayment } = records;
  const answered = new Map<string, { readonly form: string; readonly answer: Answer }>();
  const requests = new Map<string, number>();
  const calculations = new Map<string, Stripe.Tax.Calculation>();

  function createSession(form: Form): Answer {
    const isSetup = textOf(form, 'mode') === 'setup';
    const price = ['line_items', '0', 'price_data'] as const;
    const cents = Number(textOf(form, ...price, 'unit_amount'));
    if (!isSetup && !(Number.isInteger(cents) && cents >= 50)) {
      return problem(400, 'parameter_invalid_integer', 'Amount must be at least 50 cents');
    }
    const behavior = textOf(form, ...price, 'tax_behavior');
    const isTaxed = textOf(form, 'automatic_tax', 'enabled') === 'true';
    if (isTaxed && behavior !== 'inclusive' && behavior !== 'exclusive') {
      return problem(400, 'parameter_missing', 'Automatic tax needs the tax_behavior of the price');
    }
    const id = newId(base().livemode ? 'cs_live' : 'cs_test');
    const { created } = base();
    const session = newSession(base(), {
      id,
      mode: isSetup ? 'setup' : 'payment',
      amount_total: isSetup ? null : cents,
      client_reference_id: textOf(form, 'client_reference_id') ?? null,
      metadata: pairsOf(form, 'metadata'),
      billing_address_collection: textOf(form, 'billing_address_collection') ?? null,
      success_url: textOf(form, 'success_url') ?? null,
      cancel_url: textOf(form, 'cancel_url') ?? null,
      url: `${origin()}/c/pay/${id}`,
      expires_at: created + PAGE_LIFETIME_SECONDS,
    });
    sessions.set(id, session);
    if (isTaxed && !isSetup) {
      session.automatic_tax.enabled = true;
      session.automatic_tax.status = 'requires_location_inputs';
      records.taxBehavior.set(id, behavior === 'exclusive' ? 'exclusive' : 'inclusive');
    }
    metadataOfPayment.set(id, pairsOf(form, 'payment_intent_data', 'metadata'));
    return { status: 200, body: session };
  }

  function endSession(id: string): Answer {
    const session = sessions.get(id);
    if (session?.status !== 'open') {
      return problem(
        400,
        undefined,
        'Only Checkout Sessions with a status in ["open"] can be expired',
      );
    }
    session.status = 'expired';
    emit('checkout.session.expired', session);
    return { status: 200, body: session };
  }

  function paymentMethod(id: string): Answer {
    if (!cards.has(id)) return problem(404, 'resource_missing', 'No such PaymentMethod');
    const nothing = { city: null, line1: null, line2: null, postal_code: null, state: null };
    const address = { ...nothing, country: records.addressed.has(id) ? 'DE' : null };
    const billing_details = { address, email: null, name: null, phone: null, tax_id: null };
    return retrieved({ id, object: 'payment_method', type: 'card', billing_details });
  }

  function createCalculation(form: Form): Answer {
    if (!textOf(form, 'customer_details', 'address', 'country')) {
      return problem(400, 'customer_tax_location_invalid', 'The address is not valid for tax');
    }
    const amount = Number(textOf(form, 'line_items', '0', 'amount'));
    const behavior = textOf(form, 'line_items', '0', 'tax_behavior');
    const lines = records.taxOf(amount, behavior === 'inclusive' ? 'inclusive' : 'exclusive');
    const made = newCalculation(base(), amount, lines);
    calculations.set(made.id ?? '', made);
    return { status: 200, body: made };
  }

  function createIntent(form: Form): Answer {
    const method = textOf(form, 'payment_method') ?? '';
    const card = cards.get(method);
    if (card === undefined) {
      return problem(400, 'resource_missing', 'No such PaymentMethod');
    }
    const calculation = textOf(form, 'hooks', 'inputs', 'tax', 'calculation');
    if (calculation !== undefined) {
      const total = calculations.get(calculation)?.amount_total;
      if (String(total) !== textOf(form, 'amount')) {
        return problem(400, 'parameter_invalid', 'The amount is not that of the calculation');
      }
    }
    const declined = DECLINES[card];
    const statuses = { pays: 'succeeded', pays_later: 'processing' } as const;
    const intent = newIntent(base(), {
      amount: Number(textOf(form, 'amount')),
      currency: textOf(form, 'currency') ?? '',
      customer: textOf(form, 'customer') ?? null,
      metadata: pairsOf(form, 'metadata'),
      payment_method: method,
      ...(calculation === undefined ? {} : { hooks: { inputs: { tax: { calculation } } } }),
      status: card === 'pays' || card === 'pays_later' ? statuses[card] : 'requires_payment_method',
    });
    intents.set(intent.id, intent);
    if (declined === undefined) {
      if (intent.status === 'succeeded') records.actions.settle(intent.id);
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
    if (records.isDisputed(paymentId)) {
      return problem(400, 'charge_disputed', 'This charge has been charged back');
    }
    const unrefunded = intent.amount_received - records.refundedCents(paymentId);
    if (unrefunded === 0) {
      return problem(400, 'charge_already_refunded', 'Charge has already been refunded.');
    }
    if (amount > unrefunded) {
      return problem(400, undefined, 'Refund amount is greater than unrefunded amount on charge');
    }
    return { status: 200, body: records.makeRefund(paymentId, amount, pairsOf(form, 'metadata')) };
  }

  function withCharge(intent: Stripe.PaymentIntent | undefined, form: Form): object | undefined {
    const expanded = Object.values(pairsOf(form, 'expand'));
    const isWhole = expanded.includes('latest_charge.balance_transaction');
    if (intent === undefined || !(isWhole || expanded.includes('latest_charge'))) return intent;
    const charge = chargeOf(intent);
    const settled = records.settledBy.get(charge.id) ?? null;
    return {
      ...intent,
      latest_charge: isWhole ? { ...charge, balance_transaction: settled } : charge,
    };
  }

  function chargeOf(intent: Stripe.PaymentIntent) {
    const id = idOf(intent.latest_charge);
    return {
      id,
      object: 'charge',
      amount: intent.amount,
      amount_captured: intent.amount_received,
      currency: intent.currency,
      payment_intent: intent.id,
      balance_transaction: records.settledBy.get(id)?.id ?? null,
      receipt_url: `${origin()}/receipts/${id}`,
    };
  }

  /** Stripe sends the rates of a page's taxes only if they are asked for. */
  function listSessions(form: Form): Answer {
    const isWhole = asksFor(form, 'data.total_details.breakdown');
    const all = [...sessions.values()].map((session) => {
      if (!isWhole || session.total_details === null) return session;
      const breakdown = { discounts: [], taxes: records.taxLines.get(session.id) ?? [] };
      return { ...session, total_details: { ...session.total_details, breakdown } };
    });
    return listed(all, form);
  }

  function listTransactions(form: Form): Answer {
    const source = textOf(form, 'source');
    const found = [...records.transactions.values()].filter(
      (each) => source === undefined || each.source === source,
    );
    return listed(asksFor(form, 'data.source') ? found.map(withSource) : found, form);
  }

  function withSource(transaction: Stripe.BalanceTransaction) {
    const id = idOf(transaction.source);
    const charge = [...intents.values()].find((intent) => idOf(intent.latest_charge) === id);
    const source =
      refunds.get(id) ?? disputes.get(id) ?? (charge === undefined ? id : chargeOf(charge));
    return { ...transaction, source };
  }

  function answer(method: string, path: string, form: Form): Answer {
    const [, id = ''] = /\/([a-z]+_\w*\d\w*)(?:\/expire)?$/.exec(path) ?? [];
    const route = `${method} ${id === '' ? path : path.replace(id, ':id')}`;
    requests.set(route, (requests.get(route) ?? 0) + 1);
    switch (route) {
      case 'POST /v1/checkout/sessions':
        return createSession(form);
      case 'GET /v1/checkout/sessions':
        return listSessions(form);
      case 'GET /v1/checkout/sessions/:id':
        return retrieved(sessions.get(id));
      case 'POST /v1/checkout/sessions/:id/expire':
        return endSession(id);
      case 'POST /v1/payment_intents':
        return createIntent(form);
      case 'GET /v1/payment_intents':
        return listed(intents.values(), form);
      case 'GET /v1/payment_intents/:id':
        return retrieved(withCharge(intents.get(id), form));
      case 'GET /v1/payment_methods/:id':
        return paymentMethod(id);
      case 'POST /v1/tax/calculations':
        return createCalculation(form);
      case 'GET /v1/tax/calculations/:id':
        return retrieved(calculations.get(id));
      case 'GET /v1/setup_intents/:id':
        return retrieved(setups.get(id));
      case 'POST /v1/refunds':
        return createRefund(form);
      case 'GET /v1/refunds':
        return listed(refunds.values(), form);
      case 'GET /v1/disputes':
        return listed(disputes.values(), form);
      case 'GET /v1/balance_transactions':
        return listTransactions(form);
      case 'GET /v1/balance_transactions/:id': {
        const found = records.transactions.get(id);
        return retrieved(found && asksFor(form, 'source') ? withSource(found) : found);
      }
      case 'GET /v1/events': {
        const all = events.map((event) => ({ object: 'event', ...event }));
        return listed(all, form);
      }
      default:
        return problem(404, 'url_invalid', `Unrecognized request URL (${method}: ${path})`);
    }
  }

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

  return { requests, answerOnce, answer };
}

function asksFor(form: Form, member: string): boolean {
  return Object.values(pairsOf(form, 'expand')).includes(member);
}

/** Newest first, page by page. */
function listed(objects: Iterable<{ readonly id: string; readonly created: number }>, form: Form) {
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

export function problem(
  status: number,
  code: string | undefined,
  message: string,
  type?: string,
): Answer {
  return {
    status,
    body: { error: { type: type ?? 'invalid_request_error', code, message } },
  };
}
