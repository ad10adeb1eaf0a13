/** The objects of the simulated Stripe, and what people do on its pages and in its dashboard. */

import type Stripe from 'stripe';
import type { Notifications } from './notifications.js';
import { newDispute, newId, newIntent, newRefund, newSetupIntent } from './objects.js';
import type { Base } from './objects.js';

/** How the saved card behaves when it is charged while its holder is absent. */
export type CardBehavior = 'pays' | 'declines' | 'demands_authentication' | 'pays_later';

/** The actions of customers, of the operator in Stripe's dashboard, and of banks. */
export interface StripeActions {
  /** Pays on a page that is open. @returns the id of the payment */
  pay(checkoutId: string, options?: { readonly delayed?: boolean }): string;
  /** Lets a payment by a delayed method succeed or fail. */
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
   * What the payments of one of the gateway's accounts brought in: those that succeeded, minus
   * refunds that succeeded, and minus disputes that are open or lost. Inquiries take nothing.
   */
  netCentsOf(accountId: string): number;
}

export interface StripeRecords {
  readonly actions: StripeActions;
  readonly sessions: Map<string, Stripe.Checkout.Session>;
  readonly intents: Map<string, Stripe.PaymentIntent>;
  readonly setups: Map<string, Stripe.SetupIntent>;
  readonly refunds: Map<string, Stripe.Refund>;
  readonly disputes: Map<string, Stripe.Dispute>;
  /** The behavior of each saved method. */
  readonly cards: Map<string, CardBehavior>;
  /** The metadata that each page gives to its payment. */
  readonly metadataOfPayment: Map<string, Record<string, string>>;
  refundedCents(paymentId: string): number;
  /** Whether a dispute has taken the money, and was not won. An inquiry takes nothing. */
  isDisputed(paymentId: string): boolean;
  makeRefund(
    paymentId: string,
    amountCents: number,
    metadata: Record<string, string>,
  ): Stripe.Refund;
}

export function createRecords(base: () => Base, emit: Notifications['emit']): StripeRecords {
  const sessions = new Map<string, Stripe.Checkout.Session>();
  const intents = new Map<string, Stripe.PaymentIntent>();
  const setups = new Map<string, Stripe.SetupIntent>();
  const refunds = new Map<string, Stripe.Refund>();
  const disputes = new Map<string, Stripe.Dispute>();
  const cards = new Map<string, CardBehavior>();
  const metadataOfPayment = new Map<string, Record<string, string>>();

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

  function disputedCents(paymentId: string): number {
    let sum = 0;
    for (const { payment_intent, amount, status } of disputes.values()) {
      const takesNothing = status === 'won' || status.startsWith('warning_');
      if (payment_intent === paymentId && !takesNothing) sum += amount;
    }
    return sum;
  }

  function makeRefund(
    paymentId: string,
    amountCents: number,
    metadata: Record<string, string>,
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
    if (session === undefined) throw new Error(`there is no page ${checkoutId}`);
    const intent = intentOf(idOf(session.payment_intent));
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

  const actions: StripeActions = {
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
    refund: (paymentId, amountCents) => makeRefund(paymentId, amountCents, {}).id,
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
        net += intent.amount_received - refundedCents(intent.id) - disputedCents(intent.id);
      }
      return net;
    },
  };
  return {
    actions,
    sessions,
    intents,
    setups,
    refunds,
    disputes,
    cards,
    metadataOfPayment,
    refundedCents,
    isDisputed: (paymentId) => disputedCents(paymentId) > 0,
    makeRefund,
  };
}

/** The id of an object that may be expanded. */
export function idOf(value: string | { readonly id: string } | null | undefined): string {
  if (value === null || value === undefined) throw new Error('there is no id');
  return typeof value === 'string' ? value : value.id;
}
