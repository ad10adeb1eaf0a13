/**
 * Saved cards, and their charges while the customer is absent.
 *
 * No page computes the tax of such a charge. A calculation does, before it, by the address that was
 * saved with the card. The payment names the calculation, by which Stripe records the tax.
 *
 * https://docs.stripe.com/tax/payment-intent
 */

import Stripe from 'stripe';
import type { CardCharge, ChargeOutcome, SavedMethod } from '../provider.js';
import { METADATA, metadataOf, paidFactOfIntent } from './facts.js';
import { PRODUCT } from './pages.js';
import { PAGE, faultOf, reachingStripe } from './requests.js';

/** A search for a charge begins this much earlier, because clocks differ. */
const CLOCK_SKEW_SECONDS = 300;

export async function readSavedMethod(
  stripe: Stripe,
  setupId: string,
): Promise<SavedMethod | undefined> {
  const setup = await reachingStripe(() => stripe.setupIntents.retrieve(setupId));
  const [customerId, methodId] = [idOf(setup.customer), idOf(setup.payment_method)];
  if (setup.status !== 'succeeded' || customerId === undefined || methodId === undefined) {
    return undefined;
  }
  return { customerId, methodId };
}

export async function chargeSavedMethod(
  stripe: Stripe,
  charge: CardCharge,
): Promise<ChargeOutcome> {
  const { origin, customerId, methodId } = charge;
  try {
    const intent = await stripe.paymentIntents.create(
      {
        ...(await amountOf(stripe, charge)),
        currency: 'usd',
        customer: customerId,
        payment_method: methodId,
        off_session: true,
        confirm: true,
        description: PRODUCT,
        metadata: metadataOf(origin, 'saved_method'),
      },
      { idempotencyKey: `${origin.paymentId}:charge` },
    );
    return chargeOutcomeOf(intent);
  } catch (error) {
    const isFinal =
      error instanceof Stripe.errors.StripeCardError ||
      error instanceof Stripe.errors.StripeInvalidRequestError;
    if (isFinal) return { outcome: 'declined', code: error.code ?? error.type };
    throw faultOf(error);
  }
}

async function amountOf(
  stripe: Stripe,
  { origin, amountCents: amount, methodId, tax }: CardCharge,
): Promise<Pick<Stripe.PaymentIntentCreateParams, 'amount' | 'hooks'>> {
  if (tax === 'off') return { amount };
  const { billing_details: of } = await stripe.paymentMethods.retrieve(methodId);
  const calculation = await stripe.tax.calculations.create(
    {
      currency: 'usd',
      line_items: [
        {
          amount,
          reference: origin.paymentId,
          tax_behavior: tax === 'added' ? 'exclusive' : 'inclusive',
        },
      ],
      customer_details: {
        // Without a country, Stripe refuses to compute a tax, and the charge is not made.
        address: { ...of.address, country: of.address?.country ?? '' },
        address_source: 'billing',
      },
    },
    // A repetition of the charge must have the same amount.
    { idempotencyKey: `${origin.paymentId}:tax` },
  );
  const { id, amount_total } = calculation;
  return { amount: amount_total, hooks: { inputs: { tax: { calculation: id ?? '' } } } };
}

export async function findCharge(
  stripe: Stripe,
  { origin, customerId }: CardCharge,
  since: Date,
): Promise<ChargeOutcome | undefined> {
  const created = { gte: Math.floor(since.getTime() / 1_000) - CLOCK_SKEW_SECONDS };
  const intents = stripe.paymentIntents.list({ customer: customerId, created, limit: PAGE });
  for await (const intent of intents) {
    if (intent.metadata[METADATA.payment] === origin.paymentId) return chargeOutcomeOf(intent);
  }
  return undefined;
}

function chargeOutcomeOf(intent: Stripe.PaymentIntent): ChargeOutcome {
  const fact = paidFactOfIntent(intent);
  if (fact !== undefined) return { outcome: 'paid', fact };
  if (intent.status === 'processing') return { outcome: 'pending' };
  return { outcome: 'declined', code: intent.last_payment_error?.code ?? intent.status };
}

function idOf(value: string | { readonly id: string } | null): string | undefined {
  if (value === null) return undefined;
  return typeof value === 'string' ? value : value.id;
}
