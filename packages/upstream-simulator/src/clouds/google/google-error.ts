/**
 * Google's errors: a status in words, and details of declared types.
 *
 * https://cloud.google.com/apis/design/errors
 */

import type { JsonObject } from '../../message/message.js';
import type { WrittenError } from '../../message/wire.js';

const CODES = {
  INVALID_ARGUMENT: 400,
  FAILED_PRECONDITION: 400,
  UNAUTHENTICATED: 401,
  PERMISSION_DENIED: 403,
  NOT_FOUND: 404,
  RESOURCE_EXHAUSTED: 429,
  INTERNAL: 500,
  UNAVAILABLE: 503,
  DEADLINE_EXCEEDED: 504,
} as const;

export type GoogleStatus = keyof typeof CODES;

const HEADERS = { 'content-type': 'application/json; charset=UTF-8' };
const EXPECTED =
  'Expected OAuth 2 access token, login cookie or other valid authentication credential. See https://developers.google.com/identity/sign-in/web/devconsole-project.';

/** The words if there are none that say more. */
const WORDS: Partial<Readonly<Record<GoogleStatus, string>>> = {
  UNAUTHENTICATED: `Request had invalid authentication credentials. ${EXPECTED}`,
  RESOURCE_EXHAUSTED:
    'Quota exceeded for aiplatform.googleapis.com/online_prediction_input_tokens_per_minute_per_base_model with base model: anthropic-claude. Please submit a quota increase request. https://cloud.google.com/vertex-ai/docs/generative-ai/quotas-genai.',
  INTERNAL: 'Internal error encountered.',
  UNAVAILABLE: 'The service is currently unavailable.',
  DEADLINE_EXCEEDED: 'Deadline expired before operation could complete.',
};

export const MISSING_CREDENTIAL = `Request is missing required authentication credential. ${EXPECTED}`;

export function googleError(
  status: GoogleStatus,
  message = WORDS[status] ?? status,
  details?: readonly JsonObject[],
): WrittenError {
  const code = CODES[status];
  const error = { code, message, status, ...(details === undefined ? {} : { details }) };
  return { status: code, headers: HEADERS, body: { error } };
}

/** The detail that names the reason in a fixed word. */
export function errorInfo(reason: string, metadata: JsonObject): JsonObject {
  const type = 'type.googleapis.com/google.rpc.ErrorInfo';
  return { '@type': type, reason, domain: 'googleapis.com', metadata };
}
