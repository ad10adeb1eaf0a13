/** Writes the error events of chat streams. */

import { encodeUtf8 } from '../../wire/bytes.js';
import type { StreamError } from '../../wire/stream-pipe.js';

/** An error chunk of the chat format. No `[DONE]` follows it, because the stream failed. */
export function chatErrorEvent(error: StreamError, requestId?: string): Uint8Array {
  return encodeUtf8(chatErrorText(error, requestId));
}

/** {@link chatErrorEvent} as text. */
export function chatErrorText(error: StreamError, requestId?: string): string {
  return `data: ${JSON.stringify({ ...chatStreamError(error), request_id: requestId })}\n\n`;
}

/** The last object of a failed chat stream. No chunks follow it. */
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
