/**
 * Errors of Google, by their status in words.
 *
 * https://cloud.google.com/apis/design/errors
 */

import { apiError } from './api-error.js';
import type { ApiError, CloudMeaning } from './api-error.js';

const MEANINGS: ReadonlyMap<string, CloudMeaning> = new Map([
  ['INVALID_ARGUMENT', 'request'],
  ['OUT_OF_RANGE', 'request'],
  ['FAILED_PRECONDITION', 'request'],
  ['UNAUTHENTICATED', 'credential'],
  ['PERMISSION_DENIED', 'permission'],
  ['NOT_FOUND', 'model'],
  ['RESOURCE_EXHAUSTED', 'limit'],
  ['UNAVAILABLE', 'overload'],
  ['DEADLINE_EXCEEDED', 'timeout'],
  ['INTERNAL', 'failure'],
]);

const ABOUT_MODEL = /not allowed to use publisher model/i;
const ABOUT_BILLING = /\bbilling\b/i;

export function googleError(status: string, message: string): ApiError {
  const meaning = MEANINGS.get(status) ?? 'failure';
  const narrowed = ABOUT_MODEL.test(message)
    ? 'model'
    : meaning === 'permission' && ABOUT_BILLING.test(message)
      ? 'billing'
      : meaning;
  return apiError(narrowed, { name: status, message });
}
