/** `POST /webhooks/stripe`, as it is declared. Served only if Stripe is configured. */

import { z } from 'zod';
import { declare } from '../endpoints/endpoint.js';
import { stripeWebhookRoute } from '../payments/stripe-webhook.js';
import type { CustomerParts } from './customer-parts.js';

export const takeStripeNotification = declare(
  {
    method: 'post',
    path: '/webhooks/stripe',
    id: 'takeStripeNotification',
    summary: "Receives Stripe's notifications about payments",
    credential: 'none',
    headers: ['stripe-signature'],
    body: z.looseObject({ id: z.string(), type: z.string() }),
    result: z.strictObject({ received: z.literal(true) }),
  },
  (parts: CustomerParts) => {
    const { payments } = parts;
    if (payments === undefined) throw new Error('served without a payment provider');
    return stripeWebhookRoute(payments, parts);
  },
);
