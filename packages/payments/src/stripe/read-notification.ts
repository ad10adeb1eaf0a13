/** Notifications: their signature and their facts. */

import type Stripe from 'stripe';
import type { NotificationReading, PaymentMode } from '../provider.js';
import { factsOfEvent, parseEvent } from './facts-of-event.js';
import { UnreadableObjectError } from './facts.js';

export interface Signatures {
  /** `whsec_…`, one of which has to be the one that signed. */
  readonly secrets: readonly string[];
  readonly toleranceSeconds: number;
}

export function isFromStripe(
  stripe: Stripe,
  { body, signature }: { readonly body: Uint8Array; readonly signature: string | undefined },
  { secrets, toleranceSeconds }: Signatures,
): boolean {
  if (signature === undefined) return false;
  const { signature: verifier } = stripe.webhooks;
  if (verifier === null) throw new Error('the SDK cannot verify signatures');
  return secrets.some((secret) => {
    try {
      return verifier.verifyHeader(body, signature, secret, toleranceSeconds);
    } catch {
      // Not only a StripeSignatureVerificationError means a wrong signature: an empty `v1=` causes
      // another error.
      return false;
    }
  });
}

/** Reads a notification whose signature was verified. */
export function readSigned(body: Uint8Array, mode: PaymentMode): NotificationReading {
  let type = 'unknown';
  try {
    const event = parseEvent(body);
    ({ type } = event);
    const eventMode = event.livemode ? 'live' : 'test';
    if (eventMode !== mode) return { outcome: 'other_mode', mode: eventMode };
    return { outcome: 'read', type, facts: factsOfEvent(event) };
  } catch (error) {
    if (!(error instanceof UnreadableObjectError)) throw error;
    return { outcome: 'unreadable', type, member: error.member };
  }
}
