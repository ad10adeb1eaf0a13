/** Finds the key that a request presents: first the form of the credential, then the key itself. */

import type { Request } from 'express';
import { StoreUnavailableError, isWellFormedCredential } from '@gateway/balance-store';
import type { KeyRecord } from '@gateway/balance-store';
import { addressGroup } from './client-address.js';
import { UNKNOWN_KEY, readCredential } from './credentials.js';
import { rateLimited, storeUnavailable } from './refusal.js';
import type { Refusal } from './refusal.js';
import type { Services } from './services.js';

export type Authentication =
  | { readonly outcome: 'authenticated'; readonly key: KeyRecord }
  | { readonly outcome: 'refused'; readonly refusal: Refusal };

/** Limit per address for well-formed credentials of no key. Each such guess costs a query. */
const UNKNOWN_KEY_POLICY = { limit: 30, windowMs: 60_000 } as const;

/**
 * Finds the key that a request presents. Its standing is not checked, but a revoked key counts as
 * unknown.
 */
export async function authenticate(
  req: Request,
  services: Pick<Services, 'store' | 'limiter'>,
  accepted: 'bearer_or_x_api_key' | 'bearer',
): Promise<Authentication> {
  const presented = readCredential(req.headers, accepted);
  if (presented.outcome === 'refused') return presented;
  if (!isWellFormedCredential(presented.credential)) return refused(UNKNOWN_KEY);
  try {
    const key = await services.store.findKeyByCredential(presented.credential);
    if (key !== undefined && key.state !== 'revoked') return { outcome: 'authenticated', key };
  } catch (error) {
    if (!(error instanceof StoreUnavailableError)) throw error;
    return refused(storeUnavailable(error));
  }
  const guesses = await services.limiter.record(
    `unknown-key:${addressGroup(req.ip)}`,
    UNKNOWN_KEY_POLICY,
  );
  if (guesses.outcome === 'allowed') return refused(UNKNOWN_KEY);
  return refused(rateLimited('too many requests with unknown API keys', guesses.retryAfterMs));
}

function refused(refusal: Refusal): Authentication {
  return { outcome: 'refused', refusal };
}
