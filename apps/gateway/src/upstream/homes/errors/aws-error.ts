/**
 * Errors of AWS, by their names.
 *
 * https://docs.aws.amazon.com/bedrock/latest/userguide/troubleshooting-api-error-codes.html
 */

import { apiError } from './api-error.js';
import type { ApiError, CloudMeaning } from './api-error.js';

const MEANINGS: ReadonlyMap<string, CloudMeaning> = new Map([
  ['Validation', 'request'],
  ['Conflict', 'request'],
  ['ExpiredToken', 'credential'],
  ['IncompleteSignature', 'credential'],
  ['InvalidSignature', 'credential'],
  ['MissingAuthenticationToken', 'credential'],
  ['UnrecognizedClient', 'credential'],
  ['AccessDenied', 'permission'],
  ['ResourceNotFound', 'model'],
  ['UnknownOperation', 'permission'],
  ['Throttling', 'limit'],
  ['TooManyRequests', 'limit'],
  ['ServiceQuotaExceeded', 'limit'],
  ['ModelNotReady', 'overload'],
  ['ServiceUnavailable', 'overload'],
  ['ModelTimeout', 'timeout'],
  ['ModelError', 'failure'],
  ['ModelStreamError', 'failure'],
  ['InternalServer', 'failure'],
]);

/** In a 403 for a key, which has no more specific name. */
const ABOUT_CREDENTIAL = /\b(?:api key|bearer token|security token)\b/i;
const ABOUT_BILLING = /PAYMENT_INSTRUMENT|\bsubscription\b|\bbilling\b/i;
const ABOUT_MODEL = /access to the model|model identifier is invalid|on-demand throughput/i;
const TOO_LONG = /^input is too long for requested model/i;
const TOO_LARGE = /at 'body' failed to satisfy constraint: Member must have length/;

/**
 * @param given - As `ThrottlingException`, or as in a stream `throttlingException`; what follows a
 * colon is the service.
 */
export function awsError(given: string, message: string): ApiError {
  const name = given.replace(/:.*$/, '').replace(/^[a-z]/, (first) => first.toUpperCase());
  const meaning = MEANINGS.get(name.replace(/Exception$/, '')) ?? 'failure';
  const found = apiError(narrowed(meaning, message), { name, message });
  // By these words clients find out that they must shorten the conversation.
  return TOO_LONG.test(message) ? { ...found, message: `prompt is too long: ${message}` } : found;
}

function narrowed(meaning: CloudMeaning, message: string): CloudMeaning {
  if (meaning === 'permission') {
    if (ABOUT_CREDENTIAL.test(message)) return 'credential';
    if (ABOUT_BILLING.test(message)) return 'billing';
  }
  if (ABOUT_MODEL.test(message)) return 'model';
  return meaning === 'request' && TOO_LARGE.test(message) ? 'too_large' : meaning;
}
