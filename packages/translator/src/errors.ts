/**
 * Error bodies that both SDK families read, and their events within streams.
 * https://platform.claude.com/docs/en/api/errors
 */

import { encodeUtf8 } from './bytes.js';
import type { StreamError } from './stream-pipe.js';

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
  param,
  code,
  errorCode,
  requestId,
  dialect,
}: ErrorDetails): string {
  const chatMembers =
    dialect === 'chat.completions' ? { param: param ?? null, code: code ?? null } : {};
  const details = errorCode === undefined ? {} : { details: { error_code: errorCode } };
  return JSON.stringify({
    type: 'error',
    error: { type, message, ...chatMembers, ...details },
    request_id: requestId,
  });
}

/** An `error` event of the native format. */
export function messageErrorEvent(error: StreamError, requestId?: string): Uint8Array {
  const { type, message } = error;
  const data = JSON.stringify({
    type: 'error',
    error: { type, message },
    ...(requestId === undefined ? {} : { request_id: requestId }),
  });
  return encodeUtf8(`event: error\ndata: ${data}\n\n`);
}

/** An error chunk of the chat format. No `[DONE]` follows: the stream did not end well. */
export function chatErrorEvent(error: StreamError, requestId?: string): Uint8Array {
  const data = JSON.stringify({
    ...chatStreamError(error),
    ...(requestId === undefined ? {} : { request_id: requestId }),
  });
  return encodeUtf8(`data: ${data}\n\n`);
}

/** The object that {@link chatErrorEvent} writes. */
export function chatStreamError({ type, message }: StreamError) {
  return { error: { message, type, param: null, code: null } };
}

/** What a native client ignores, to keep a connection alive between events. */
export const MESSAGE_KEEP_ALIVE = /* @__PURE__ */ encodeUtf8(
  'event: ping\ndata: {"type": "ping"}\n\n',
);

/** What a chat client ignores, to keep a connection alive between chunks. */
export const CHAT_KEEP_ALIVE = /* @__PURE__ */ encodeUtf8(': keep-alive\n\n');
