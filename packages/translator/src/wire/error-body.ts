/**
 * Error bodies that both SDK families read.
 * https://platform.claude.com/docs/en/api/errors
 */

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
