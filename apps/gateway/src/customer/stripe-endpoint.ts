/** `POST /webhooks/stripe`, as it is declared. Served only if Stripe is configured. */

import { z } from 'zod';
import type { Served } from '../endpoints/endpoint.js';
import { stripeWebhookRoute } from '../payments/stripe-webhook.js';
import type { CustomerParts } from './customer-parts.js';

export const takeStripeNotification: Served<CustomerParts> = {
  method: 'post',
  path: '/webhooks/stripe',
  id: 'takeStripeNotification',
  summary: "Receives Stripe's notifications about payments",
  credential: 'none',
  headers: ['stripe-signature'],
  body: z.looseObject({ id: z.string(), type: z.string() }),
  result: z.strictObject({ received: z.literal(true) }),
  serve(parts) {
    const { payments } = parts;
    if (payments === undefined) throw new Error('served without a payment provider');
    return stripeWebhookRoute(payments, parts);
  },
};
