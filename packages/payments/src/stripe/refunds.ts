/** Refunds, each made once. */

import Stripe from 'stripe';
import { PaymentProviderError } from '../provider.js';
import type { PaymentProvider, RefundOutcome } from '../provider.js';
import { METADATA, UnreadableObjectError, refundFactOf } from './facts.js';
import { PAGE, faultOf } from './requests.js';

export async function refundOnce(
  stripe: Stripe,
  { refundId, providerPaymentId, amountCents }: Parameters<PaymentProvider['refund']>[0],
): Promise<RefundOutcome> {
  try {
    const made =
      (await findRefund(stripe, refundId, providerPaymentId)) ??
      (await stripe.refunds.create(
        {
          payment_intent: providerPaymentId,
          amount: amountCents,
          metadata: { [METADATA.refund]: refundId },
        },
        { idempotencyKey: `${refundId}:refund` },
      ));
    if (made.amount !== amountCents) {
      throw new PaymentProviderError('reused', 'this id refunded another amount before');
    }
    const fact = refundFactOf(made);
    if (fact === undefined) throw new UnreadableObjectError('payment_intent');
    return { outcome: 'made', fact };
  } catch (error) {
    if (error instanceof Stripe.errors.StripeInvalidRequestError) {
      return { outcome: 'refused', message: error.message };
    }
    throw faultOf(error);
  }
}

/** Stripe forgets idempotency keys after a day, but keeps its refunds. */
async function findRefund(
  stripe: Stripe,
  refundId: string,
  providerPaymentId: string,
): Promise<Stripe.Refund | undefined> {
  const refunds = stripe.refunds.list({ payment_intent: providerPaymentId, limit: PAGE });
  for await (const refund of refunds) {
    if (refund.metadata?.[METADATA.refund] === refundId) return refund;
  }
  return undefined;
}
