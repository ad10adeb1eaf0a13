/**
 * Translates the errors of the native API for clients of chat completions and the Responses API,
 * which read the same form.
 * https://platform.claude.com/docs/en/api/errors
 */

import { asText } from '../wire/bytes.js';
import { errorBody } from '../wire/error-body.js';
import { codeOfError } from '../wire/error-code.js';
import { objectOf, parseObject, stringOf } from '../wire/raw-json.js';
import type { StreamError } from '../wire/stream-pipe.js';

export interface NativeErrorAnswer {
  /** The upstream's status. */
  readonly status: number;
  /** The upstream's body: JSON, HTML, or nothing. */
  readonly body: string | Uint8Array;
  /** The upstream's header `retry-after`, if it sent one. */
  readonly retryAfter?: string | null | undefined;
  /** The id that the client gets. */
  readonly requestId: string;
}

export interface ErrorAnswer {
  readonly status: number;
  /** JSON text of the error, as OpenAI's SDKs read it in both formats. */
  readonly body: string;
  /** `content-type`, and `retry-after` if the upstream sent it. */
  readonly headers: Record<string, string>;
  readonly error: StreamError;
}

/**
 * Translates a response with an error status. Keeps its status, type and message, and the time to
 * wait. A prompt that is too long gets OpenAI's code for it. The upstream's paths are those of the
 * translated request, so `param` is null. A body that is not JSON, such as a proxy's HTML, is not
 * repeated.
 */
export function translateError(answer: NativeErrorAnswer): ErrorAnswer {
  const { status, body, retryAfter, requestId } = answer;
  const reported = objectOf(parseObject(asText(body))?.['error']);
  const type = stringOf(reported['type']) || 'api_error';
  const message = stringOf(reported['message']) || `The upstream answered with status ${status}.`;
  const error = { type, message };
  return {
    status,
    body: errorBody({ ...error, code: codeOfError(error), requestId, dialect: 'chat.completions' }),
    headers: {
      'content-type': 'application/json',
      ...(retryAfter ? { 'retry-after': retryAfter } : {}),
    },
    error,
  };
}
