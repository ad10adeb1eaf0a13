/** Finds the key of a request: checks the form of its credential first, then looks up the key. */

import type { Request } from 'express';
import { StoreUnavailableError, isWellFormedCredential } from '@gateway/balance-store';
import type { FindOptions, KeyRecord, PresentedKey } from '@gateway/balance-store';
import { newRefusal } from '../base/errors/refusal.js';
import type { Refusal } from '../base/errors/refusal.js';
import { MINUTE_MS } from '../base/times.js';
import { addressGroup } from '../http/client-address.js';
import { storeUnavailable, waitOf } from '../http/refusal.js';
import type { KeyTokens } from '../ledger/key-tokens.js';
import { isReadLink } from '../ledger/read-links.js';
import {
  ENDED_LINK,
  ENDED_SESSION,
  LINK_ONLY_READS,
  UNKNOWN_KEY,
  readCredential,
} from './credentials.js';
import { checkNetwork } from './allowed-networks.js';
import type { AcceptedCredential } from './credentials.js';
import type { ExchangeParts } from './exchange-parts.js';

export type Authentication =
  | {
      readonly outcome: 'authenticated';
      readonly key: KeyRecord;
      /**
       * Only the current credential of a key, or a session, may change anything. A link that shows
       * the key is taken by the one endpoint for it.
       */
      readonly presented: 'link' | 'session' | 'key-link' | PresentedKey['presented'];
    }
  | { readonly outcome: 'refused'; readonly refusal: Refusal };

/**
 * Limit per client address for well-formed credentials of no key, or of a revoked one. Beyond it,
 * the answer is 429.
 */
const UNKNOWN_KEY_POLICY = { limit: 30, windowMs: MINUTE_MS } as const;

/**
 * Finds the key that a request presents in a header. Its standing is not checked, but a revoked key
 * counts as unknown.
 *
 * @param endpoint.takesLink - Whether a read-only link may stand for the key.
 */
export async function authenticate(
  req: Request,
  parts: Pick<ExchangeParts, 'store' | 'limiter' | 'readLinks' | 'now' | 'sameKeyInBothHeaders'>,
  { credential: accepted, takesLink }: { credential: AcceptedCredential; takesLink: boolean },
): Promise<Authentication> {
  const presented = readCredential(req.headers, accepted, parts.sameKeyInBothHeaders);
  if (presented.outcome === 'refused') return presented;
  const { credential } = presented;
  return takesLink && isReadLink(credential)
    ? authenticateToken(credential, { kind: 'link', tokens: parts.readLinks }, req, parts)
    : authenticateKey(credential, req, parts, { isFresh: !isRead(req) });
}

/**
 * Finds the key of a credential that was read already. A read-only link is refused.
 *
 * @param options.isFresh - For changes: the key may have been rotated by another process a moment
 * ago.
 */
export async function authenticateKey(
  credential: string,
  req: Request,
  parts: Pick<ExchangeParts, 'store' | 'limiter' | 'now'>,
  options?: FindOptions,
): Promise<Authentication> {
  if (isReadLink(credential)) return refused(LINK_ONLY_READS);
  if (!isWellFormedCredential(credential)) return refused(UNKNOWN_KEY);
  try {
    let key = await parts.store.findKeyByCredential(credential, options);
    if (key !== undefined && isBookingDue(key, parts.now())) {
      await parts.store.bookDue(key.accountId);
      key = await parts.store.findKeyByCredential(credential, { isFresh: true });
    }
    if (key !== undefined && key.state !== 'revoked') {
      const elsewhere = checkNetwork(key, req.ip);
      if (elsewhere !== undefined) return refused(elsewhere);
      return { outcome: 'authenticated', key, presented: key.presented };
    }
    const guesses = await parts.limiter.record(
      `unknown-key:${addressGroup(req.ip)}`,
      UNKNOWN_KEY_POLICY,
    );
    if (guesses.outcome === 'allowed') return refused(UNKNOWN_KEY);
    return refused(newRefusal('unknown_key_limit', waitOf(guesses.retryAfterMs)));
  } catch (error) {
    if (!(error instanceof StoreUnavailableError)) throw error;
    return refused(storeUnavailable(error));
  }
}

/**
 * Whether this request or look has to book what is due of the account: the expiry of a credit, or
 * the allowance of a month, so that no request is refused before the ledger's regular work does it.
 */
export function isBookingDue(
  {
    allowanceDueAt,
    nextExpiryAt,
    standing,
  }: Pick<KeyRecord, 'allowanceDueAt' | 'nextExpiryAt' | 'standing'>,
  nowMs: number,
): boolean {
  if (nextExpiryAt !== null && nextExpiryAt.getTime() <= nowMs) return true;
  if (allowanceDueAt === null || allowanceDueAt.getTime() > nowMs) return false;
  return standing === 'active' || standing === 'exhausted';
}

export function isRead({ method }: Pick<Request, 'method'>): boolean {
  return method === 'GET' || method === 'HEAD';
}

/** Finds the key that a link or a session stands for. */
export async function authenticateToken(
  presented: string,
  { kind, tokens }: { readonly kind: keyof typeof ENDED; readonly tokens: KeyTokens },
  req: Request,
  { store, now }: Pick<ExchangeParts, 'store' | 'now'>,
): Promise<Authentication> {
  const token = tokens.read(presented);
  if (token === undefined) return refused(UNKNOWN_KEY);
  try {
    let key = await store.getKey(token.keyId);
    if (key !== undefined && isBookingDue(key, now())) {
      await store.bookDue(key.accountId);
      key = await store.getKey(token.keyId);
    }
    if (key === undefined || !tokens.isGood(token, key, now())) return refused(ENDED[kind]);
    const elsewhere = checkNetwork(key, req.ip);
    if (elsewhere !== undefined) return refused(elsewhere);
    return { outcome: 'authenticated', key, presented: kind };
  } catch (error) {
    if (!(error instanceof StoreUnavailableError)) throw error;
    return refused(storeUnavailable(error));
  }
}

const ENDED = { link: ENDED_LINK, session: ENDED_SESSION } as const;

function refused(refusal: Refusal): Authentication {
  return { outcome: 'refused', refusal };
}
