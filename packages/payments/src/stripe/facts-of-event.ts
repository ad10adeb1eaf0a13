/**
 * Reads an event of Stripe. Each notification contains one, and Stripe lists those of the last 30
 * days.
 */

import * as z from 'zod';
import type { PaymentFact } from '../provider.js';
import {
  UnreadableObjectError,
  disputeFactOf,
  factsOfIntent,
  factsOfSession,
  refundFactOf,
} from './facts.js';

/** The events to subscribe to. All others are read as events without facts. */
export const NOTIFIED_EVENTS = [
  'checkout.session.completed',
  'checkout.session.async_payment_succeeded',
  'checkout.session.async_payment_failed',
  'checkout.session.expired',
  'payment_intent.succeeded',
  'payment_intent.payment_failed',
  'refund.created',
  'refund.updated',
  'refund.failed',
  'charge.dispute.created',
  'charge.dispute.updated',
  'charge.dispute.closed',
  'charge.dispute.funds_withdrawn',
  'charge.dispute.funds_reinstated',
] as const;

type NotifiedEvent = (typeof NOTIFIED_EVENTS)[number];

const event = z.object({
  object: z.literal('event'),
  type: z.string(),
  livemode: z.boolean(),
  data: z.object({ object: z.unknown() }),
});

export type StripeEvent = z.output<typeof event>;

/** @returns `undefined` if the value does not have the members of an event */
export function readEvent(value: unknown): StripeEvent | undefined {
  const read = event.safeParse(value);
  return read.success ? read.data : undefined;
}

/** @throws {UnreadableObjectError} */
export function factsOfEvent({ type, data }: StripeEvent): readonly PaymentFact[] {
  const known = NOTIFIED_EVENTS.find((notified) => notified === type);
  return known === undefined ? [] : factsOf(known, data.object);
}

function factsOf(type: NotifiedEvent, object: unknown): readonly PaymentFact[] {
  switch (type) {
    case 'checkout.session.completed':
    case 'checkout.session.async_payment_succeeded':
    case 'checkout.session.expired':
      return factsOfSession(object);
    case 'checkout.session.async_payment_failed':
      return factsOfSession(object, 'failed');
    case 'payment_intent.succeeded':
    case 'payment_intent.payment_failed':
      return factsOfIntent(object);
    case 'refund.created':
    case 'refund.updated':
    case 'refund.failed':
      return some(refundFactOf(object));
    case 'charge.dispute.created':
    case 'charge.dispute.updated':
    case 'charge.dispute.closed':
    case 'charge.dispute.funds_withdrawn':
    case 'charge.dispute.funds_reinstated':
      return some(disputeFactOf(object));
  }
}

function some(fact: PaymentFact | undefined): readonly PaymentFact[] {
  return fact === undefined ? [] : [fact];
}

/** Parses the text of a notification, whose signature was verified before. */
export function parseEvent(body: Uint8Array): StripeEvent {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch {
    throw new UnreadableObjectError('body');
  }
  const parsed = readEvent(value);
  if (parsed === undefined) throw new UnreadableObjectError('event');
  return parsed;
}
