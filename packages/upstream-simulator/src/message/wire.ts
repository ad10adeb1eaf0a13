/**
 * How a place writes what the simulator answers: its headers, its errors, its ids and the events of
 * its streams. Anthropic's own API is one place, each cloud another.
 */

import { writeEvent } from './events.js';
import type { ContentBlock, JsonObject } from './message.js';
import { ERROR_STATUS } from './script.js';
import type { ErrorType } from './script.js';

/** A message as it is sent; a script may remove its usage. */
export type SentMessage = JsonObject & {
  readonly content: readonly ContentBlock[];
  readonly usage?: JsonObject;
};

export interface SentError {
  readonly type: ErrorType;
  /** Default: the words of the place. */
  readonly message?: string;
  readonly errorCode?: string;
}

export type Headers = Readonly<Record<string, string>>;

export interface WrittenError {
  readonly status: number;
  readonly headers: Headers;
  readonly body: unknown;
}

export interface StreamedOf {
  readonly message: SentMessage;
  readonly lineEnd: string;
}

export interface Wire {
  /** The headers of every response. */
  readonly headers: Headers;
  readonly streamHeaders: Headers;
  /** Further headers of a message that is sent as JSON. */
  messageHeaders(message: SentMessage): Headers;
  /** @param status - Replaces the status that the place has for such an error. */
  error(error: SentError, requestId: string, status: number | undefined): WrittenError;
  /** One event of a stream. */
  event(event: JsonObject, of: StreamedOf): string | Uint8Array;
  /** The error that ends a stream. */
  streamError(error: Required<Omit<SentError, 'errorCode'>>, of: StreamedOf): string | Uint8Array;
  /** The place's form of an id of the API, such as `msg_01…`. */
  id(native: string): string;
}

export const JSON_HEADERS = { 'content-type': 'application/json' };

/** Anthropic's own API. */
export const NATIVE_WIRE: Wire = {
  // With those about the quota of its customer, which a gateway must not pass on.
  headers: {
    'anthropic-organization-id': '00000000-0000-4000-8000-000000000000',
    'anthropic-ratelimit-requests-limit': '4000',
    'anthropic-ratelimit-requests-remaining': '3999',
    'anthropic-ratelimit-requests-reset': '2026-01-01T00:00:00Z',
  },
  streamHeaders: {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache',
  },
  messageHeaders: () => JSON_HEADERS,
  error({ type, message = 'Scripted error', errorCode }, requestId, replaced) {
    const status = replaced ?? ERROR_STATUS[type];
    const details = errorCode === undefined ? {} : { details: { error_code: errorCode } };
    return {
      status,
      headers: {
        ...JSON_HEADERS,
        ...(status === 400 ? { 'x-should-retry': 'false' } : {}),
        ...(type === 'rate_limit_error' ? { 'retry-after': '30' } : {}),
      },
      body: { type: 'error', error: { type, message, ...details }, request_id: requestId },
    };
  },
  event: (event, { lineEnd }) => writeEvent(event, lineEnd),
  streamError: (error, { lineEnd }) => writeEvent({ type: 'error', error }, lineEnd),
  id: (native) => native,
};
