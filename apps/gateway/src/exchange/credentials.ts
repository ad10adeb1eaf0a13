/**
 * Finds the credential that a request presents: `Authorization: Bearer <key>` or `x-api-key:
 * <key>`. Both at once are refused, as the specification says. An operator may accept the same one
 * in both headers, because Claude Code sends it so with `apiKeyHelper`. Only the form is checked
 * here, not whether the key exists.
 *
 * No message contains the literal `x-api-key`: Claude Code replaces any error text that contains it
 * by "Invalid API key".
 */

import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { newRefusal } from '../base/errors/refusal.js';
import type { Refusal } from '../base/errors/refusal.js';
import type { Config } from '../config/config.js';

export type PresentedCredential =
  | { readonly outcome: 'presented'; readonly credential: string }
  | { readonly outcome: 'refused'; readonly refusal: Refusal };

/**
 * `x-api-key`: a key in either header. `bearer`: a key in `Authorization`, or a session of the
 * page. `link`: also a read-only link, on requests that change nothing.
 */
export type AcceptedCredential = 'x-api-key' | 'bearer' | 'link';

const EMPTY = /^(?:bearer)?\s*$/i;
const BEARER = /^bearer +([\x21-\x7e]+)$/i;
const MAX_CREDENTIAL_CHARS = 256;

export function readCredential(
  headers: IncomingHttpHeaders,
  accepted: AcceptedCredential,
  sameInBoth: Config['exchange']['sameKeyInBothHeaders'],
): PresentedCredential {
  const authorization = filled(headers.authorization);
  const xApiKey = filled(headers['x-api-key']);
  const bearer = authorization === undefined ? undefined : BEARER.exec(authorization)?.[1];
  if (authorization !== undefined && xApiKey !== undefined) {
    if (!isSame(bearer, xApiKey)) return { outcome: 'refused', refusal: TWO_CREDENTIALS };
    if (sameInBoth === 'refused') return { outcome: 'refused', refusal: SAME_TWICE };
  }
  if (accepted !== 'x-api-key' && xApiKey !== undefined) {
    return { outcome: 'refused', refusal: BEARER_ONLY };
  }
  const credential = authorization === undefined ? xApiKey : bearer;
  const isForm = typeof credential === 'string' && credential !== '';
  if (!isForm || credential.length > MAX_CREDENTIAL_CHARS) {
    return { outcome: 'refused', refusal: UNKNOWN_KEY };
  }
  return { outcome: 'presented', credential };
}

/** A header template whose variable is unset sends an empty value, which is no credential. */
function filled<Value extends string | string[]>(value: Value | undefined): Value | undefined {
  return typeof value === 'string' && EMPTY.test(value) ? undefined : value;
}

/** Takes the same time wherever they differ. */
function isSame(bearer: string | undefined, xApiKey: string | string[]): boolean {
  if (bearer === undefined || typeof xApiKey !== 'string') return false;
  const [one, other] = [bearer, xApiKey].map((text) => createHash('sha256').update(text).digest());
  return timingSafeEqual(one!, other!);
}

/**
 * The same refusal for a key that is missing, malformed, unknown or revoked, so that guessing
 * reveals nothing.
 */
export const UNKNOWN_KEY = newRefusal('unknown_key');

/** Sent only for a link that this gateway signed, so it reveals nothing to those who guess. */
export const ENDED_LINK = newRefusal('link_ended');

/** Sent only for a session that this gateway signed. */
export const ENDED_SESSION = newRefusal('session_ended');

export const LINK_ONLY_READS = newRefusal('link_only_reads');

const BEARER_ONLY = newRefusal('bearer_only');

const TWO_CREDENTIALS = newRefusal('two_credentials');
const SAME_TWICE = newRefusal('same_credential_twice');
