/**
 * Reads Stripe's objects as facts. An object without an amount, a currency or an id that a booking
 * needs causes an {@link UnreadableObjectError}; no value is guessed. A missing account id is read
 * as an empty text, which matches no account.
 *
 * https://docs.stripe.com/api/checkout/sessions/object
 * https://docs.stripe.com/api/payment_intents/object
 * https://docs.stripe.com/api/refunds/object
 * https://docs.stripe.com/api/disputes/object
 */

import * as z from 'zod';
import type { DisputeFact, PaidFact, PaymentFact, PaymentOrigin, RefundFact } from '../provider.js';

/** Names of the metadata that the gateway writes into Stripe's objects. */
export const METADATA = {
  payment: 'gateway_payment',
  account: 'gateway_account',
  /** `checkout`: started on a page. `saved_method`: charged while the customer is absent. */
  by: 'gateway_started_by',
  refund: 'gateway_refund',
} as const;

export function metadataOf(
  { paymentId, accountId }: PaymentOrigin,
  by: 'checkout' | 'saved_method',
) {
  return {
    [METADATA.payment]: paymentId,
    [METADATA.account]: accountId,
    [METADATA.by]: by,
  };
}

export class UnreadableObjectError extends Error {
  override readonly name = 'UnreadableObjectError';
  readonly member: string;
  constructor(member: string) {
    super(`${member} cannot be read`);
    this.member = member;
  }
}

export const id = z.string().min(1).max(255);
export const cents = z.int().min(0);
export const currency = z.string().regex(/^[a-z]{3}$/);
const metadata = z.record(z.string(), z.string()).nullish();
/** An id, or the object that it stands for if the request asked to expand it. */
export const reference = z.union([id, z.object({ id }).transform((object) => object.id)]);

const checkoutSession = z.object({
  object: z.literal('checkout.session'),
  mode: z.string(),
  status: z.string().nullable(),
  payment_status: z.string(),
  amount_total: cents.nullable(),
  currency: currency.nullable(),
  client_reference_id: z.string().nullable(),
  payment_intent: reference.nullish(),
  setup_intent: reference.nullish(),
  livemode: z.boolean(),
  metadata,
});

const paymentIntent = z.object({
  object: z.literal('payment_intent'),
  id,
  status: z.string(),
  amount_received: cents,
  currency,
  livemode: z.boolean(),
  last_payment_error: z.object({ code: z.string().optional() }).nullish(),
  metadata,
});

export const refund = z.object({
  object: z.literal('refund'),
  id,
  amount: cents,
  currency,
  payment_intent: reference.nullable(),
  status: z.string().nullable(),
});

export const dispute = z.object({
  object: z.literal('dispute'),
  id,
  amount: cents,
  currency,
  payment_intent: reference.nullable(),
  status: z.string(),
});

/** `failed`: the event says that a delayed payment failed. The object itself does not show this. */
export function factsOfSession(object: unknown, event?: 'failed'): readonly PaymentFact[] {
  const session = readAs(checkoutSession, object);
  const paymentId = session.metadata?.[METADATA.payment];
  const origin =
    paymentId === undefined
      ? undefined
      : { paymentId, accountId: session.client_reference_id ?? '' };
  if (origin === undefined) return [];
  if (session.status === 'expired') return [{ kind: 'expired', origin }];
  if (session.status !== 'complete') return [];
  if (session.mode === 'setup') {
    const setupId = present(session.setup_intent, 'setup_intent');
    return [{ kind: 'method_saved', origin, setupId }];
  }
  if (event === 'failed') return [{ kind: 'failed', origin, code: 'async_payment_failed' }];
  if (session.payment_status === 'unpaid') return [{ kind: 'pending', origin }];
  if (session.payment_status !== 'paid') return [];
  return [
    {
      kind: 'paid',
      providerPaymentId: present(session.payment_intent, 'payment_intent'),
      amountCents: present(session.amount_total, 'amount_total'),
      currency: present(session.currency, 'currency'),
      mode: session.livemode ? 'live' : 'test',
      origin,
    },
  ];
}

export function factsOfIntent(object: unknown): readonly PaymentFact[] {
  const intent = readAs(paymentIntent, object);
  const paid = paidFactOf(intent);
  if (paid !== undefined) return [paid];
  const origin = originOf(intent.metadata);
  // On a page, the customer can try again after a failure. Without the customer, a failure is
  // final.
  const isFinal = intent.metadata?.[METADATA.by] === 'saved_method';
  if (origin === undefined || !isFinal || intent.status === 'processing') return [];
  return [{ kind: 'failed', origin, code: intent.last_payment_error?.code ?? intent.status }];
}

/** @returns `undefined` unless the money has arrived */
export function paidFactOfIntent(object: unknown): PaidFact | undefined {
  return paidFactOf(readAs(paymentIntent, object));
}

function paidFactOf(intent: z.output<typeof paymentIntent>): PaidFact | undefined {
  if (intent.status !== 'succeeded') return undefined;
  return {
    kind: 'paid',
    providerPaymentId: intent.id,
    amountCents: intent.amount_received,
    currency: intent.currency,
    mode: intent.livemode ? 'live' : 'test',
    origin: originOf(intent.metadata),
  };
}

/**
 * @returns `undefined` for a refund of a charge without a payment intent, because a gateway never
 * makes such a charge
 */
export function refundFactOf(object: unknown): RefundFact | undefined {
  const { id: refundId, amount, payment_intent, status, ...rest } = readAs(refund, object);
  if (payment_intent === null) return undefined;
  return {
    kind: 'refund',
    refundId,
    providerPaymentId: payment_intent,
    amountCents: amount,
    currency: rest.currency,
    // A pending refund counts as made, because the money is already on its way to the customer.
    state: status === 'failed' || status === 'canceled' ? 'undone' : 'made',
  };
}

/** @returns `undefined` for a dispute of a charge without a payment intent */
export function disputeFactOf(object: unknown): DisputeFact | undefined {
  const { id: disputeId, amount, payment_intent, status, ...rest } = readAs(dispute, object);
  if (payment_intent === null) return undefined;
  return {
    kind: 'dispute',
    disputeId,
    providerPaymentId: payment_intent,
    amountCents: amount,
    currency: rest.currency,
    state: stateOfDispute(status),
    status,
  };
}

/** https://docs.stripe.com/disputes/how-disputes-work */
function stateOfDispute(status: string): DisputeFact['state'] {
  if (status.startsWith('warning_') || status === 'prevented') return 'inquiry';
  return status === 'won' ? 'reinstated' : 'withdrawn';
}

function originOf(values: z.output<typeof metadata>): PaymentOrigin | undefined {
  const paymentId = values?.[METADATA.payment];
  return paymentId === undefined
    ? undefined
    : { paymentId, accountId: values?.[METADATA.account] ?? '' };
}

export function readAs<Schema extends z.ZodType>(
  schema: Schema,
  object: unknown,
): z.output<Schema> {
  const read = schema.safeParse(object);
  if (read.success) return read.data;
  throw new UnreadableObjectError(read.error.issues[0]?.path.join('.') ?? 'object');
}

function present<Value>(value: Value | null | undefined, member: string): Value {
  if (value == null) throw new UnreadableObjectError(member);
  return value;
}
