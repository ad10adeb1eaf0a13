/** The objects of the simulated Stripe, and what people do on its pages and in its dashboard. */

import type Stripe from 'stripe';
import { createMoney } from './money.js';
import type { SimulatedMoney, SimulatedSettlement, SimulatedTax } from './money.js';
import type { Notifications } from './notifications.js';
import { newDispute, newId, newIntent, newRefund, newSetupIntent } from './objects.js';
import type { Base } from './objects.js';

/** How the saved card behaves when it is charged while its holder is absent. */
export type CardBehavior = 'pays' | 'declines' | 'demands_authentication' | 'pays_later';

/** The actions of customers, of the operator in Stripe's dashboard, and of banks. */
export interface StripeActions {
  /**
   * Pays on a page that is open. @returns the id of the payment
   *
   * @param options.as - What is paid instead of the amount of the page, as after a change of it in
   * Stripe's dashboard.
   * @param options.isUnsettled - Stripe makes the balance transaction later, by `settle`.
   */
  pay(
    checkoutId: string,
    options?: {
      readonly delayed?: boolean;
      readonly as?: { readonly amountCents: number; readonly currency: string };
      readonly isUnsettled?: boolean;
    },
  ): string;
  settle(paymentId: string): void;
  /** The taxes of who pays from now on: on pages with automatic tax, and by calculations. */
  setTaxes(taxes: readonly SimulatedTax[]): void;
  /** The currency of the operator's balance from now on; USD before. */
  setSettlement(settlement: SimulatedSettlement): void;
  /** Lets a payment by a delayed method succeed or fail. */
  settleDelayed(checkoutId: string, end: 'succeeded' | 'failed'): void;
  expire(checkoutId: string): void;
  /** Completes a page for saving a method. */
  saveMethod(checkoutId: string, card?: CardBehavior): void;
  setCard(methodId: string, card: CardBehavior): void;
  /** Saved methods have no address any more, so that their tax cannot be computed. */
  forgetAddresses(): void;
  /** Refunds as the operator can in Stripe's own dashboard. @returns the id of the refund */
  refund(paymentId: string, amountCents: number): string;
  failRefund(refundId: string): void;
  /** @returns the id of the dispute */
  openDispute(
    paymentId: string,
    options?: { readonly isInquiry?: boolean; readonly amountCents?: number },
  ): string;
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
  /** The saved methods whose page asked for an address. Taxes of others cannot be computed. */
  readonly addressed: Set<string>;
  /** The metadata that each page gives to its payment. */
  readonly metadataOfPayment: Map<string, Record<string, string>>;
  /** How the price of each page with automatic tax is taxed. */
  readonly taxBehavior: Map<string, 'inclusive' | 'exclusive'>;
  /** The taxes of each paid page, which its requests have to ask for. */
  readonly taxLines: Map<string, ReturnType<SimulatedMoney['taxOf']>>;
  /** The balance transaction of each charge. */
  readonly settledBy: Map<string, Stripe.BalanceTransaction>;
  readonly transactions: SimulatedMoney['transactions'];
  readonly taxOf: SimulatedMoney['taxOf'];
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
  const addressed = new Set<string>();
  const metadataOfPayment = new Map<string, Record<string, string>>();
  const taxBehavior = new Map<string, 'inclusive' | 'exclusive'>();
  const taxLines = new Map<string, ReturnType<SimulatedMoney['taxOf']>>();
  const settledBy = new Map<string, Stripe.BalanceTransaction>();
  const money = createMoney(base);

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

  /** Stripe charges the money, and states what the operator gets. */
  function settle(paymentId: string): void {
    const { amount, currency, latest_charge } = intentOf(paymentId);
    const source = idOf(latest_charge);
    const movement = { category: 'charge', type: 'charge', source, amount, currency } as const;
    settledBy.set(source, money.move(movement));
  }

  /** The customer's address is known once the page is used, and with it the tax. */
  function addTax(session: Stripe.Checkout.Session): void {
    const behavior = taxBehavior.get(session.id);
    const subtotal = session.amount_subtotal ?? 0;
    const lines = behavior === undefined ? [] : money.taxOf(subtotal, behavior);
    taxLines.set(session.id, lines);
    const tax = lines.reduce((sum, { amount }) => sum + amount, 0);
    session.total_details = { amount_discount: 0, amount_shipping: 0, amount_tax: tax };
    session.amount_total = behavior === 'exclusive' ? subtotal + tax : subtotal;
    if (behavior !== undefined) session.automatic_tax.status = 'complete';
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
    made.balance_transaction = money.move({
      category: 'refund',
      type: 'refund',
      source: made.id,
      amount: -amountCents,
      currency: intent.currency,
    }).id;
    refunds.set(made.id, made);
    emit('refund.created', made);
    return made;
  }

  const pay: StripeActions['pay'] = (
    checkoutId,
    { delayed = false, as, isUnsettled = false } = {},
  ) => {
    const session = openSession(checkoutId);
    if (as !== undefined) {
      Object.assign(session, { amount_subtotal: as.amountCents, currency: as.currency });
    }
    addTax(session);
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
    if (!delayed && !isUnsettled) settle(intent.id);
    if (!delayed) emit('payment_intent.succeeded', intent);
    emit('checkout.session.completed', session);
    return intent.id;
  };

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
    settle(intent.id);
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
    if (session.billing_address_collection === 'required') {
      addressed.add(idOf(setup.payment_method));
    }
    Object.assign(session, {
      status: 'complete',
      setup_intent: setup.id,
      customer: setup.customer,
    });
    emit('checkout.session.completed', session);
  }

  function moveDisputed(
    dispute: Stripe.Dispute,
    category: 'dispute' | 'dispute_reversal',
    sign: 1 | -1,
  ): void {
    const { id: source, currency } = dispute;
    const amount = sign * dispute.amount;
    dispute.balance_transactions.push(
      money.move({ category, type: 'adjustment', source, amount, currency }),
    );
  }

  const actions: StripeActions = {
    pay,
    settle,
    setTaxes: (taxes) => {
      money.setTaxes(taxes);
    },
    setSettlement: (settlement) => {
      money.setSettlement(settlement);
    },
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
    forgetAddresses: () => {
      addressed.clear();
    },
    refund: (paymentId, amountCents) => makeRefund(paymentId, amountCents, {}).id,
    failRefund(refundId) {
      const failed = refunds.get(refundId);
      if (failed === undefined) throw new Error(`there is no refund ${refundId}`);
      failed.status = 'failed';
      failed.failure_balance_transaction = money.move({
        category: 'refund_failure',
        type: 'refund_failure',
        source: failed.id,
        amount: failed.amount,
        currency: failed.currency,
      }).id;
      emit('refund.failed', failed);
    },
    openDispute(paymentId, { isInquiry = false, amountCents } = {}) {
      const intent = intentOf(paymentId);
      const dispute = newDispute(base(), {
        amount: amountCents ?? intent.amount_received - refundedCents(paymentId),
        currency: intent.currency,
        charge: idOf(intent.latest_charge),
        payment_intent: intent.id,
        status: isInquiry ? 'warning_needs_response' : 'needs_response',
      });
      disputes.set(dispute.id, dispute);
      if (!isInquiry) moveDisputed(dispute, 'dispute', -1);
      emit('charge.dispute.created', dispute);
      if (!isInquiry) emit('charge.dispute.funds_withdrawn', dispute);
      return dispute.id;
    },
    closeDispute(disputeId, end) {
      const dispute = disputes.get(disputeId);
      if (dispute === undefined) throw new Error(`there is no dispute ${disputeId}`);
      dispute.status = end;
      if (end === 'won') moveDisputed(dispute, 'dispute_reversal', 1);
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
    addressed,
    metadataOfPayment,
    taxBehavior,
    taxLines,
    settledBy,
    transactions: money.transactions,
    taxOf: (amount, behavior) => money.taxOf(amount, behavior),
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
