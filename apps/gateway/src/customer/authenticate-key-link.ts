/** Finds the key that a link shows. */

import type { Request } from 'express';
import { newRefusal } from '../base/errors/refusal.js';
import type { Authentication } from '../exchange/authentication.js';
import { UNKNOWN_KEY, readCredential } from '../exchange/credentials.js';
import type { CustomerParts } from './customer-parts.js';

export async function authenticateKeyLink(
  req: Request,
  { store, keyLinks, sameKeyInBothHeaders, now }: CustomerParts,
): Promise<Authentication> {
  const presented = readCredential(req.headers, 'bearer', sameKeyInBothHeaders);
  if (presented.outcome === 'refused') return presented;
  // Only the signature is checked until here, so guesses cause no load of the ledger.
  const token = keyLinks.read(presented.credential);
  if (token === undefined) return { outcome: 'refused', refusal: UNKNOWN_KEY };
  const key = await store.getKey(token.keyId);
  if (key === undefined || key.state === 'revoked' || token.expiresAt.getTime() <= now()) {
    return { outcome: 'refused', refusal: ENDED_KEY_LINK };
  }
  return keyLinks.isGood(token, key, now())
    ? { outcome: 'authenticated', key, presented: 'key-link' }
    : { outcome: 'refused', refusal: OPENED_KEY_LINK };
}

/** Sent only for a link that this gateway signed. */
export const ENDED_KEY_LINK = newRefusal('key_link_ended');
export const OPENED_KEY_LINK = newRefusal('key_link_opened');
