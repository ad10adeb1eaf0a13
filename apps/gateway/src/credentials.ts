/**
 * Which API key a request presents: `Authorization: Bearer <key>` or `x-api-key: <key>`, never both
 * (specification section 5). Only the form is judged here; whether the key exists is the store's word.
 */

import type { IncomingHttpHeaders } from 'node:http';
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
    return refused(
      400,
      'invalid_request_error',
      'authorization, x-api-key: send one of the two headers, not both',
    );
  }
  if (accepted === 'bearer' && xApiKey !== undefined) {
    return refused(
      401,
      'authentication_error',
      'x-api-key: this endpoint takes the key as "Authorization: Bearer <API_KEY>" only',
    );
  }
  const credential =
    authorization === undefined
      ? typeof xApiKey === 'string'
        ? xApiKey
        : undefined
      : BEARER.exec(authorization)?.[1];
  if (credential === undefined || credential === '' || credential.length > MAX_CREDENTIAL_CHARS) {
    return refused(401, 'authentication_error', INVALID_KEY_MESSAGE);
  }
  return { outcome: 'presented', credential };
}

/** One text for a key that is missing, malformed, unknown, revoked or spent: it tells a guesser nothing. */
export const INVALID_KEY_MESSAGE =
  'invalid or inactive API key: send "Authorization: Bearer <API_KEY>" with an active, funded key';

function refused(status: number, type: Refusal['type'], message: string): PresentedCredential {
  return { outcome: 'refused', refusal: { status, type, message } };
}
