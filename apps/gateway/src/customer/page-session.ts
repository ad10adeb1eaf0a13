/**
 * The session of the customer's page (decision 0089): a cookie that stands for a key, and is taken
 * from pages of this gateway only.
 */

import type { Request } from 'express';
import { newRefusal } from '../base/errors/refusal.js';
import type { Refusal } from '../base/errors/refusal.js';
import { authenticate, authenticateToken, isRead } from '../exchange/authentication.js';
import type { Authentication } from '../exchange/authentication.js';
import { LINK_ONLY_READS } from '../exchange/credentials.js';
import type { AcceptedCredential } from '../exchange/credentials.js';
import { originOf } from '../http/origin.js';
import { createSessionCookie } from '../http/session-cookie.js';
import { isReadLink } from '../ledger/read-links.js';
import type { CustomerParts } from './customer-parts.js';

/** Its value is a session or a read-only link. */
export const pageCookie = createSessionCookie('dashboard');

/**
 * The header that a request with the cookie needs. Pages of other origins cannot send it without a
 * preflight. It names the key for which the page shows data: all tabs of a browser have one cookie,
 * so another tab may have signed in with another key meanwhile.
 */
const HEADER = 'x-gateway-session';
/** The value of a page that does not know yet whose session the browser has. */
const ANY = 'any';

/**
 * Finds the key of a request by its credential, or by the cookie if it has no credential. An
 * endpoint that takes `x-api-key` never takes the cookie.
 */
export async function authenticateHolder(
  req: Request,
  parts: CustomerParts,
  endpoint: { readonly credential: AcceptedCredential; readonly takesLink: boolean },
): Promise<Authentication> {
  const hasCredential =
    req.headers.authorization !== undefined || req.headers['x-api-key'] !== undefined;
  const cookie =
    hasCredential || endpoint.credential === 'x-api-key' ? undefined : pageCookie.read(req);
  if (cookie === undefined) return authenticate(req, parts, endpoint);
  const origin = originOf(req);
  if (origin === 'other' || (origin === 'unknown' && !isRead(req))) return refused(OTHER_ORIGIN);
  const shown = req.headers[HEADER];
  if (shown === undefined) return refused(NO_HEADER);
  const isLink = isReadLink(cookie);
  if (isLink && !endpoint.takesLink) return refused(LINK_ONLY_READS);
  const found = await authenticateToken(
    cookie,
    isLink
      ? { kind: 'link', tokens: parts.readLinks }
      : { kind: 'session', tokens: parts.pageSessions },
    req,
    parts,
  );
  if (found.outcome === 'authenticated' && shown !== ANY && shown !== found.key.id) {
    return refused(OTHER_SESSION);
  }
  return found;
}

function refused(refusal: Refusal): Authentication {
  return { outcome: 'refused', refusal };
}

export const OTHER_ORIGIN = newRefusal('other_origin');
const NO_HEADER = newRefusal('session_header_missing');
const OTHER_SESSION = newRefusal('other_session');
