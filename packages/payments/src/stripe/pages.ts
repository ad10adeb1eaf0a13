/** Pages of hosted Checkout. */

import type Stripe from 'stripe';
import { PaymentProviderError } from '../provider.js';
import type { PaymentOrigin, PaymentProvider, StartedCheckout } from '../provider.js';
import { metadataOf } from './facts.js';
import { reachingStripe } from './requests.js';

/** The name of what is paid for, on pages and receipts. */
export const PRODUCT = 'Prepaid credit';

export function startCheckout(
  stripe: Stripe,
  checkout: Parameters<PaymentProvider['startCheckout']>[0],
): Promise<StartedCheckout> {
  const { origin, amountCents, tax, successUrl, cancelUrl } = checkout;
  const params: Stripe.Checkout.SessionCreateParams = {
    mode: 'payment',
    success_url: successUrl,
    cancel_url: cancelUrl,
    line_items: [
      {
        quantity: 1,
        price_data: {
          currency: 'usd',
          unit_amount: amountCents,
          tax_behavior: tax === 'added' ? 'exclusive' : 'inclusive',
          product_data: { name: PRODUCT },
        },
      },
    ],
    // Otherwise Stripe could charge in the customer's own currency.
    adaptive_pricing: { enabled: false },
    automatic_tax: { enabled: tax !== 'off' },
    invoice_creation: { enabled: true },
    payment_intent_data: { metadata: metadataOf(origin, 'checkout') },
  };
  return startPage(stripe, params, origin);
}

export function startMethodSetup(
  stripe: Stripe,
  { origin, tax, successUrl, cancelUrl }: Parameters<PaymentProvider['startMethodSetup']>[0],
): Promise<StartedCheckout> {
  const params: Stripe.Checkout.SessionCreateParams = {
    mode: 'setup',
    currency: 'usd',
    billing_address_collection: tax === 'off' ? 'auto' : 'required',
    success_url: successUrl,
    cancel_url: cancelUrl,
  };
  return startPage(stripe, params, origin);
}

/** Stripe refuses to end a page that is not open any more, which is an error of the request. */
export async function endCheckout(stripe: Stripe, checkoutId: string): Promise<'ended' | 'closed'> {
  const session = await reachingStripe(() => stripe.checkout.sessions.retrieve(checkoutId));
  if (session.status !== 'open') return 'closed';
  try {
    await reachingStripe(() => stripe.checkout.sessions.expire(checkoutId));
    return 'ended';
  } catch (error) {
    // The customer may have paid in between.
    const now = await reachingStripe(() => stripe.checkout.sessions.retrieve(checkoutId));
    if (now.status === 'open') throw error;
    return 'closed';
  }
}

async function startPage(
  stripe: Stripe,
  params: Stripe.Checkout.SessionCreateParams,
  { paymentId, accountId }: PaymentOrigin,
): Promise<StartedCheckout> {
  const session = await reachingStripe(() =>
    stripe.checkout.sessions.create(
      {
        ...params,
        client_reference_id: accountId,
        customer_creation: 'always',
        metadata: metadataOf({ paymentId, accountId }, 'checkout'),
      },
      { idempotencyKey: `${paymentId}:page` },
    ),
  );
  if (session.url === null) {
    throw new PaymentProviderError('refused', 'Stripe made a page without an address');
  }
  return {
    checkoutId: session.id,
    url: session.url,
    expiresAt: new Date(session.expires_at * 1_000),
  };
}
