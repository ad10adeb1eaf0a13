/**
 * Error bodies that both SDK families read, and their events within streams.
 * https://platform.claude.com/docs/en/api/errors
 */

import { encodeUtf8 } from '../../wire/bytes.js';
import type { StreamError } from '../../wire/stream-pipe.js';

export interface ErrorDetails {
  /** In the provider's vocabulary, such as `invalid_request_error`. */
  readonly type: string;
  readonly message: string;
  /** Path of the field at fault; told to chat clients. */
  readonly param?: string | null;
  /** Told to chat clients. */
  readonly code?: string | null;
  /** One of the provider's stable codes, such as `thread_unsupported_request`: SDKs act on them. */
  readonly errorCode?: string | undefined;
  readonly requestId: string;
  readonly dialect: 'messages' | 'chat.completions';
}

/**
 * JSON text of an error body: `{"type":"error","error":{"type","message"},"request_id"}`. In the chat
 * dialect `error` also has `param` and `code`, which OpenAI's SDKs look for; Anthropic's ignore them.
 */
export function errorBody({
  type,
  message,
  param = null,
  code = null,
  errorCode,
  requestId,
  dialect,
}: ErrorDetails): string {
  return JSON.stringify({
    type: 'error',
    error: {
      type,
      message,
      ...(dialect === 'chat.completions' && { param, code }),
      details: errorCode ? { error_code: errorCode } : undefined,
    },
    request_id: requestId,
  });
}

/** An error chunk of the chat format. No `[DONE]` follows: the stream did not end well. */
export function chatErrorEvent(error: StreamError, requestId?: string): Uint8Array {
  return encodeUtf8(chatErrorText(error, requestId));
}

/** {@link chatErrorEvent}, not encoded yet. */
export function chatErrorText(error: StreamError, requestId?: string): string {
  return `data: ${JSON.stringify({ ...chatStreamError(error), request_id: requestId })}\n\n`;
}

/** What a chat stream says in place of further chunks when it fails. */
export interface ChatStreamError {
  readonly error: {
    readonly message: string;
    readonly type: string;
    readonly param: null;
    readonly code: null;
  };
}

export function chatStreamError({ type, message }: StreamError): ChatStreamError {
  return { error: { message, type, param: null, code: null } };
}
