/**
 * Error bodies that both SDK families read, and their events within streams.
 * https://platform.claude.com/docs/en/api/errors
 */

import { encodeUtf8 } from '../../wire/bytes.js';
import type { StreamError } from '../../wire/stream-pipe.js';

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
