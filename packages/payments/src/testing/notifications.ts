/** The events of the simulated Stripe, and the notifications about them. */

import Stripe from 'stripe';
import { newId } from './objects.js';
import type { Base } from './objects.js';

export interface SimulatedEvent {
  readonly id: string;
  readonly type: string;
  readonly created: number;
  readonly livemode: boolean;
  readonly data: { readonly object: object };
}

/** The body and the headers of a notification. */
export interface SignedEvent {
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

export interface StripeEvents {
  /** All events so far, oldest first. */
  readonly events: readonly SimulatedEvent[];
  /** Sets the address for later notifications. With `undefined`, none are sent. */
  readonly notify: (webhookUrl: string | undefined) => void;
  readonly sign: (
    event: SimulatedEvent,
    options?: { readonly timestampSeconds?: number; readonly secret?: string },
  ) => SignedEvent;
}

export interface Notifications extends StripeEvents {
  /** Records an event with a copy of the object, and posts its notification. */
  readonly emit: (type: string, object: object) => void;
  /** Waits until every notification was answered or failed. */
  readonly delivered: () => Promise<void>;
}

export function createNotifications({
  webhookSecret,
  ...options
}: {
  readonly webhookSecret: string;
  readonly webhookUrl: string | undefined;
  readonly base: () => Base;
}): Notifications {
  const { base } = options;
  let { webhookUrl } = options;
  const events: SimulatedEvent[] = [];
  const deliveries = new Set<Promise<unknown>>();

  function sign(
    event: SimulatedEvent,
    { timestampSeconds = base().created, secret = webhookSecret } = {},
  ): SignedEvent {
    const body = JSON.stringify({
      object: 'event',
      api_version: Stripe.API_VERSION,
      pending_webhooks: 1,
      request: null,
      ...event,
    });
    const signature = Stripe.webhooks.generateTestHeaderString({
      payload: body,
      secret,
      timestamp: timestampSeconds,
    });
    return { body, headers: { 'content-type': 'application/json', 'stripe-signature': signature } };
  }

  return {
    events,
    notify(url) {
      webhookUrl = url;
    },
    sign,
    emit(type, object) {
      const data = { object: structuredClone(object) };
      const event = { id: newId('evt'), ...base(), type, data };
      events.push(event);
      if (webhookUrl === undefined) return;
      const { body, headers } = sign(event);
      const delivery = fetch(webhookUrl, { method: 'POST', body, headers })
        .then((response) => response.arrayBuffer())
        .catch(() => undefined)
        .finally(() => deliveries.delete(delivery));
      deliveries.add(delivery);
    },
    async delivered() {
      await Promise.all(deliveries);
    },
  };
}
