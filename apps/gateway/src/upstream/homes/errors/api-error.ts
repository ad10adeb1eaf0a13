/** An error of a cloud, in the terms of Anthropic's API, whose kinds the gateway knows. */

import { hideIdentities } from '../hide-identities.js';

export interface ApiError {
  readonly status: number;
  readonly type: string;
  readonly message: string;
  /** The cloud's own name of it, for the log; only of errors that no client sees as they are. */
  readonly code?: string;
}

/**
 * - `request`: about the client's request, which gets the cloud's words;
 * - `model`: the operator's account may not use the model, or the home does not have it;
 * - `credential`: about the credential, whoever asks;
 * - `permission`: the operator's account may not do what was asked.
 */
export type CloudMeaning =
  | 'request'
  | 'too_large'
  | 'credential'
  | 'billing'
  | 'permission'
  | 'model'
  | 'limit'
  | 'overload'
  | 'timeout'
  | 'failure';

const MEANINGS: Readonly<Record<CloudMeaning, readonly [number, string, string]>> = {
  request: [400, 'invalid_request_error', 'The request is not valid.'],
  too_large: [413, 'request_too_large', 'The request is too large.'],
  credential: [401, 'authentication_error', 'The credential is not accepted.'],
  billing: [402, 'billing_error', 'The account cannot be billed.'],
  permission: [403, 'permission_error', 'The account may not do this.'],
  // By these words `anthropic-failures.ts` knows it.
  model: [403, 'permission_error', 'The account has no access grant for the model.'],
  limit: [429, 'rate_limit_error', 'The limit of the account is reached.'],
  overload: [529, 'overloaded_error', 'Overloaded'],
  timeout: [504, 'timeout_error', 'The request took too long.'],
  failure: [500, 'api_error', 'Internal server error'],
};

/** @param given - The cloud's name of the error, and its words, which only `request` keeps. */
export function apiError(
  meaning: CloudMeaning,
  given: { readonly name: string; readonly message: string },
): ApiError {
  const [status, type, words] = MEANINGS[meaning];
  if (meaning === 'request') {
    return { status, type, message: given.message === '' ? words : hideIdentities(given.message) };
  }
  const code = snakeCase(given.name);
  return { status, type, message: words, ...(code === '' ? undefined : { code }) };
}

function snakeCase(name: string): string {
  return name
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .replace(/[^a-z0-9_]/g, '')
    .slice(0, 60);
}
