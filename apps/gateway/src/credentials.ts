/**
 * Which credential a request presents: `Authorization: Bearer <key>` or `x-api-key: <key>`, never
 * both (specification section 5). Only the form is judged here.
 *
 * No message contains the literal `x-api-key`: Claude Code replaces any error text that does by
 * "Invalid API key".
 */

import type { IncomingHttpHeaders } from 'node:http';
import { badRequest, unauthorized } from './refusal.js';
import type { Refusal } from './refusal.js';

export type PresentedCredential =
  | { readonly outcome: 'presented'; readonly credential: string }
  | { readonly outcome: 'refused'; readonly refusal: Refusal };

const BEARER = /^bearer +([\x21-\x7e]+)$/i;
const MAX_CREDENTIAL_CHARS = 256;

export function readCredential(
  headers: IncomingHttpHeaders,
  accepted: 'bearer_or_x_api_key' | 'bearer',
): PresentedCredential {
  const authorization = headers.authorization;
  const xApiKey = headers['x-api-key'];
  if (authorization !== undefined && xApiKey !== undefined) {
    return { outcome: 'refused', refusal: TWO_CREDENTIALS };
  }
  if (accepted === 'bearer' && xApiKey !== undefined) {
    return { outcome: 'refused', refusal: BEARER_ONLY };
  }
  const credential =
    authorization === undefined
      ? typeof xApiKey === 'string'
        ? xApiKey
        : undefined
      : BEARER.exec(authorization)?.[1];
  if (credential === undefined || credential === '' || credential.length > MAX_CREDENTIAL_CHARS) {
    return { outcome: 'refused', refusal: UNKNOWN_KEY };
  }
  return { outcome: 'presented', credential };
}

/**
 * One refusal for a key that is missing, malformed, unknown or revoked, so that guessing reveals
 * nothing.
 */
export const UNKNOWN_KEY = unauthorized(
  'invalid API key: send "Authorization: Bearer <API_KEY>" with a key of this gateway',
);

const BEARER_ONLY = unauthorized(
  'this endpoint takes the key as "Authorization: Bearer <API_KEY>" only, not in the API key header',
);

const TWO_CREDENTIALS = badRequest(
  'two credentials were sent, in the Authorization header and in the API key header: send one ' +
    '(in the environment, unset ANTHROPIC_AUTH_TOKEN or ANTHROPIC_API_KEY)',
);
