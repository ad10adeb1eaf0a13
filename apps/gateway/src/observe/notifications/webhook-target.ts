/** Delivers events as signed webhooks. */

import type { DeliveryTarget } from './delivery-target.js';
import { SEND_TIMEOUT_MS } from './webhook-client.js';
import type { WebhookClient } from './webhook-client.js';
import { webhookBody } from './webhook-message.js';
import type { WebhookSigner } from './webhook-message.js';

const MOST_AT_ONCE = 32;

export function webhookTarget(client: WebhookClient, sign: WebhookSigner): DeliveryTarget {
  return {
    channel: 'webhook',
    mostAtOnce: MOST_AT_ONCE,
    timeoutMs: SEND_TIMEOUT_MS,
    send(event, signal) {
      const body = webhookBody(event);
      return client.send({ headers: sign(event.id, new Date(), body), body }, signal);
    },
    close: () => client.close(),
  };
}
