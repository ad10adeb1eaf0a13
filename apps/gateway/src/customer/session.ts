/** `/v1/dashboard/session`: who is signed in to the customer's page, signing in, signing out. */

import { newRefusal } from '../base/errors/refusal.js';
import { DAY_MS, MINUTE_MS } from '../base/times.js';
import * as schema from '../endpoints/schemas.js';
import { originOf } from '../http/origin.js';
import { keyEndpoint, onlyReads } from './key-route.js';
import type { Presented } from './key-route.js';
import { OTHER_ORIGIN, pageCookie } from './page-session.js';

const ROUTE = {
  path: '/v1/dashboard/session',
  credential: 'link',
  name: 'session',
  limit: { limit: 60, windowMs: MINUTE_MS },
} as const;

/** A session ends after this time even if it is used. */
export const LIFETIME_MS = DAY_MS;

export const sessionEndpoints = [
  keyEndpoint(
    {
      ...ROUTE,
      method: 'get',
      id: 'showPageSession',
      summary: "Who is signed in to the customer's page",
      result: schema.pageSession,
    },
    () => (key, _req, presented) => ({ json: viewOf(key.id, presented) }),
  ),
  keyEndpoint(
    {
      ...ROUTE,
      method: 'post',
      id: 'startPageSession',
      summary: 'Exchanges a key or a read-only link for a cookie',
      result: schema.pageSession,
      changesNothing: true,
    },
    ({ pageSessions, now }) =>
      (key, req, presented) => {
        if (originOf(req) === 'other') return { refusal: OTHER_ORIGIN };
        const { authorization } = req.headers;
        // Otherwise a session could start the next one, and would never end.
        if (authorization === undefined) return { refusal: NEEDS_KEY };
        // A session has the rights of the current credential.
        if (presented === 'replaced') return { refusal: onlyReads() };
        const value =
          presented === 'link'
            ? authorization.replace(/^\S+ +/, '')
            : pageSessions.create(key, new Date(now() + LIFETIME_MS));
        return { json: viewOf(key.id, presented), cookies: [pageCookie.start(req, value)] };
      },
  ),
  keyEndpoint(
    {
      ...ROUTE,
      method: 'delete',
      id: 'endPageSession',
      summary: 'Removes the cookie',
      result: schema.pageSessionEnd,
      changesNothing: true,
    },
    () => () => ({
      json: { object: 'page_session', deleted: true },
      cookies: pageCookie.removal,
    }),
  ),
] as const;

function viewOf(keyId: string, presented: Presented) {
  return { object: 'page_session' as const, key_id: keyId, reads_only: presented === 'link' };
}

const NEEDS_KEY = newRefusal('session_needs_key');
