/**
 * Translates the errors of chat upstreams to native errors.
 * https://platform.claude.com/docs/en/api/errors
 */

import { asText } from '../../wire/bytes.js';
import { errorBody } from '../../wire/error-body.js';
import { isJsonObject, parseJson } from '../../wire/raw-json.js';
import type { StreamError } from '../../wire/stream-pipe.js';

export type NativeErrorType =
  | 'invalid_request_error'
  | 'authentication_error'
  | 'billing_error'
  | 'permission_error'
  | 'not_found_error'
  | 'conflict_error'
  | 'request_too_large'
  | 'rate_limit_error'
  | 'api_error'
  | 'timeout_error'
  | 'overloaded_error';

/** The HTTP status that the native API sends with each type of error. */
export const ERROR_STATUS: Readonly<Record<NativeErrorType, number>> = {
  invalid_request_error: 400,
  authentication_error: 401,
  billing_error: 402,
  permission_error: 403,
  not_found_error: 404,
  conflict_error: 409,
  request_too_large: 413,
  rate_limit_error: 429,
  api_error: 500,
  timeout_error: 504,
  overloaded_error: 529,
};

/** The HTTP status of a native error type; 500 for an unknown type. */
export function statusOfError(type: string): number {
  return isErrorType(type) ? ERROR_STATUS[type] : ERROR_STATUS.api_error;
}

/**
 * The native error type of an HTTP status. 408 and 504 are `timeout_error`. 529 is
 * `overloaded_error`, and so is 503, which chat upstreams send when they are overloaded. Any other
 * 4xx without a type of its own is `invalid_request_error`, and every other status is `api_error`.
 */
export function errorOfStatus(status: number): NativeErrorType {
  for (const [type, itsStatus] of Object.entries(ERROR_STATUS)) {
    if (itsStatus === status && isErrorType(type)) return type;
  }
  if (status === 408) return 'timeout_error';
  if (status === 503) return 'overloaded_error';
  return status >= 400 && status < 500 ? 'invalid_request_error' : 'api_error';
}

/**
 * Values of `error.code` and `error.type` of chat upstreams that are more specific than the status.
 */
const WORDS: Readonly<Record<string, NativeErrorType>> = {
  insufficient_quota: 'billing_error',
  billing_hard_limit_reached: 'billing_error',
  billing_not_active: 'billing_error',
  rate_limit_exceeded: 'rate_limit_error',
  invalid_api_key: 'authentication_error',
  model_not_found: 'not_found_error',
  server_error: 'api_error',
  internal_error: 'api_error',
  internal_server_error: 'api_error',
  overloaded: 'overloaded_error',
  server_overloaded: 'overloaded_error',
  timeout: 'timeout_error',
};

export interface ChatErrorResponse {
  /** The upstream's status. */
  readonly status: number;
  /** The upstream's body: JSON of any shape, HTML, or nothing. */
  readonly body: string | Uint8Array;
  /** Sent to the client as `request_id`. */
  readonly requestId: string;
}

export interface NativeErrorResponse {
  /** The status of the type in {@link ERROR_STATUS}, so that SDKs retry temporary errors. */
  readonly status: number;
  /** JSON text of the native error. */
  readonly body: string;
  readonly error: StreamError;
}

/**
 * Translates a response with an error status.
 *
 * Keeps the upstream's message, but not its `param`, which is a path in the translated request. A
 * body that is not JSON, such as a proxy's HTML, is not repeated.
 */
export function translateChatError(response: ChatErrorResponse): NativeErrorResponse {
  const { status, body, requestId } = response;
  const { type, message } = readChatError(errorMember(body), status);
  const text = errorBody({ type, message, requestId, dialect: 'messages' });
  return { status: statusOfError(type), body: text, error: { type, message } };
}

/**
 * Translates the `error` member of a response or of a chunk in a stream.
 *
 * @param status - The status of the response. A stream has none, so a numeric `code` takes its
 * place.
 */
export function readChatError(error: unknown, status?: number): StreamError {
  const { type, code, message } = isJsonObject(error) ? error : { message: error };
  const known = status ?? (typeof code === 'number' && code >= 400 ? code : undefined);
  const detail = typeof message === 'string' && message !== '' ? message : undefined;
  const where = known === undefined ? 'reported an error' : `answered with status ${String(known)}`;
  return {
    type:
      typeOfWord(code) ??
      // OpenAI uses this type for nearly every 4xx, so the status says more.
      (type === 'invalid_request_error' ? undefined : typeOfWord(type)) ??
      (known === undefined ? undefined : errorOfStatus(known)) ??
      typeOfWord(type) ??
      'api_error',
    message: detail ?? `The upstream ${where}.`,
  };
}

function typeOfWord(word: unknown): NativeErrorType | undefined {
  if (typeof word !== 'string') return undefined;
  return isErrorType(word) ? word : Object.hasOwn(WORDS, word) ? WORDS[word] : undefined;
}

function isErrorType(type: string): type is NativeErrorType {
  return Object.hasOwn(ERROR_STATUS, type);
}

/**
 * Most bodies have `{"error": {...}}`; some have `error` as text, or a `message` or `detail`
 * instead.
 */
function errorMember(body: string | Uint8Array): unknown {
  const value = parseJson(asText(body));
  // Google's compatible endpoint wraps its errors in an array.
  const document: unknown = Array.isArray(value) ? value[0] : value;
  if (!isJsonObject(document)) return undefined;
  const { error, detail } = document;
  return error ?? (detail === undefined ? document : { message: detail });
}
