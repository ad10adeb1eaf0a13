/**
 * An event as a receiver gets it: JSON with the members of the Standard Webhooks specification
 * (https://www.standardwebhooks.com), signed by its library.
 */

import { Webhook } from 'standardwebhooks';
import type { StoredEvent } from '@gateway/balance-store';
import { eventDetails } from './event-details.js';

/** @returns the body of the webhook: the same text at each attempt */
export function webhookBody(event: StoredEvent): string {
  return JSON.stringify({
    id: event.id,
    type: event.type,
    timestamp: event.createdAt.toISOString(),
    data: {
      account_id: event.accountId === '' ? null : event.accountId,
      key_id: event.keyId ?? null,
      ...eventDetails(event.data),
    },
  });
}

export type WebhookSigner = (
  id: string,
  at: Date,
  body: string,
) => Readonly<Record<string, string>>;

/**
 * @param secrets - In the form `whsec_<base64>`. Each webhook is signed with all of them, so that a
 * receiver can verify it with the old or the new secret while one replaces the other.
 * @returns a function that makes the headers of one attempt. They contain the attempt's time,
 * because receivers refuse a signature that is more than five minutes old.
 */
export function webhookSigner(secrets: readonly string[]): WebhookSigner {
  const webhooks = secrets.map((secret) => new Webhook(secret));
  return (id, at, body) => ({
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
    'webhook-signature': webhooks.map((webhook) => webhook.sign(id, at, body)).join(' '),
  });
}
