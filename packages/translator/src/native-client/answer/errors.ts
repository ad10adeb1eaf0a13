/**
 * Errors of chat upstreams, as native ones.
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

/** The status that the native API sends with each type of error. */
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

/** The HTTP status of a native error type; 500 for types that are unknown. */
export function statusOfError(type: string): number {
  return isErrorType(type) ? ERROR_STATUS[type] : ERROR_STATUS.api_error;
}

/**
 * The native error type of an HTTP status. 408 and 504 are `timeout_error`; 503, which chat upstreams
 * use for overload, and 529 are `overloaded_error`; any other 4xx is `invalid_request_error`, and
 * whatever else is `api_error`.
 */
export function errorOfStatus(status: number): NativeErrorType {
  for (const [type, itsStatus] of Object.entries(ERROR_STATUS)) {
    if (itsStatus === status && isErrorType(type)) return type;
  }
  if (status === 408) return 'timeout_error';
  if (status === 503) return 'overloaded_error';
  return status >= 400 && status < 500 ? 'invalid_request_error' : 'api_error';
}

/** What chat upstreams write in `error.code` or `error.type`, where it says more than the status. */
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
  /** As the upstream sent it. */
  readonly status: number;
  /** As the upstream sent it: JSON of any shape, HTML, or nothing. */
  readonly body: string | Uint8Array;
  /** Told to the client as `request_id`. */
  readonly requestId: string;
}

export interface NativeErrorResponse {
  /** Always the one that {@link ERROR_STATUS} has for the type, so that SDKs retry what can be cured. */
  readonly status: number;
  /** JSON text of the native error. */
  readonly body: string;
  readonly error: StreamError;
}

/**
 * Translates a response whose status is an error.
 *
 * The upstream's message is kept, its `param` is not: it is a path in the translated request. A body
 * that is no JSON, such as a proxy's HTML, is not repeated.
 */
export function translateChatError(response: ChatErrorResponse): NativeErrorResponse {
  const { status, body, requestId } = response;
  const { type, message } = readChatError(errorMember(body), status);
  const text = errorBody({ type, message, requestId, dialect: 'messages' });
  return { status: statusOfError(type), body: text, error: { type, message } };
}

/**
 * The `error` member of a response, or of a chunk amid a stream, in native words. `status` is that of
 * the response; amid a stream there is none, and a numeric `code` takes its place.
 */
export function readChatError(error: unknown, status?: number): StreamError {
  const { type, code, message } = isJsonObject(error) ? error : { message: error };
  const known = status ?? (typeof code === 'number' && code >= 400 ? code : undefined);
  const detail = typeof message === 'string' && message !== '' ? message : undefined;
  const where = known === undefined ? 'reported an error' : `answered with status ${String(known)}`;
  return {
    type:
      typeOfWord(code) ??
      // OpenAI's type for nearly every 4xx: the status says more.
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

/** `{"error": {...}}` as a rule; elsewhere `{"error": "..."}`, `{"message": ...}` or `{"detail": ...}`. */
function errorMember(body: string | Uint8Array): unknown {
  const value = parseJson(asText(body));
  // Google's compatible endpoint wraps its errors in an array.
  const document: unknown = Array.isArray(value) ? value[0] : value;
  if (!isJsonObject(document)) return undefined;
  const { error, detail } = document;
  return error ?? (detail === undefined ? document : { message: detail });
}
