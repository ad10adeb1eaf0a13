/** Everything that Stripe knows of a range of time, as facts. */

import type Stripe from 'stripe';
import type { PaymentFact } from '../provider.js';
import { NOTIFIED_EVENTS, factsOfEvent } from './facts-of-event.js';
import { disputeFactOf, factsOfIntent, factsOfSession, refundFactOf } from './facts.js';
import { faultOf, pagesOf } from './requests.js';

/**
 * Reads objects that were created in the range, and events of the range. Events contain the changes
 * of older objects, but Stripe keeps events for 30 days only.
 */
export async function* listFacts(
  stripe: Stripe,
  given: { readonly from: Date; readonly until: Date },
): AsyncGenerator<PaymentFact> {
  const range = pagesOf(given);
  try {
    for await (const intent of stripe.paymentIntents.list(range)) yield* factsOfIntent(intent);
    for await (const session of stripe.checkout.sessions.list(range)) {
      yield* factsOfSession(session);
    }
    for await (const refund of stripe.refunds.list(range)) {
      const fact = refundFactOf(refund);
      if (fact !== undefined) yield fact;
    }
    for await (const dispute of stripe.disputes.list(range)) {
      const fact = disputeFactOf(dispute);
      if (fact !== undefined) yield fact;
    }
    for await (const event of stripe.events.list({ ...range, types: [...NOTIFIED_EVENTS] })) {
      yield* factsOfEvent(event);
    }
  } catch (error) {
    throw faultOf(error);
  }
}
