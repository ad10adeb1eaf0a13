/** OpenAI's codes for the errors of the native API. */

import type { StreamError } from './stream-pipe.js';

/** Values of `code` on which clients act. */
const CODES: Readonly<Record<string, string>> = {
  authentication_error: 'invalid_api_key',
  billing_error: 'insufficient_quota',
  not_found_error: 'model_not_found',
  rate_limit_error: 'rate_limit_exceeded',
};

/**
 * OpenAI's `code` for an error of the native API, on which clients act: `context_length_exceeded`
 * for a prompt that is too long, otherwise by the type; null if there is none.
 */
export function codeOfError({ type, message }: StreamError): string | null {
  if (/prompt is too long|exceeds? (the )?context/.test(message)) return 'context_length_exceeded';
  return Object.hasOwn(CODES, type) ? (CODES[type] ?? null) : null;
}
