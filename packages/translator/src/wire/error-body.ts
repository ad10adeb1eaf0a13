/**
 * Error bodies that both SDK families read.
 * https://platform.claude.com/docs/en/api/errors
 */

export interface ErrorDetails {
  /** An error type of the native API, such as `invalid_request_error`. */
  readonly type: string;
  readonly message: string;
  /** The path of the field at fault. Only clients of OpenAI's formats get it. */
  readonly param?: string | null;
  /** Only clients of OpenAI's formats get it. */
  readonly code?: string | null;
  /** A stable code of the native API, such as `thread_unsupported_request`. SDKs act on it. */
  readonly errorCode?: string | undefined;
  readonly requestId: string;
  readonly dialect: 'messages' | 'chat.completions' | 'responses';
}

/**
 * Writes an error body: `{"type":"error","error":{"type","message"},"request_id"}`. With an
 * `errorCode`, `error` also has `details.error_code`. In OpenAI's dialects it has `param` and
 * `code`, which OpenAI's SDKs read and Anthropic's ignore.
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
      ...(dialect !== 'messages' && { param, code }),
      details: errorCode ? { error_code: errorCode } : undefined,
    },
    request_id: requestId,
  });
}
