/**
 * Native events that this package writes into a stream itself.
 * https://platform.claude.com/docs/en/build-with-claude/streaming
 */

import { encodeUtf8 } from './bytes.js';
import type { StreamError } from './stream-pipe.js';

/** Writes an `error` event of the native format. */
export function messageErrorEvent({ type, message }: StreamError, requestId?: string): Uint8Array {
  return errorEventOf({ type: 'error', error: { type, message }, request_id: requestId });
}

export function errorEventOf(event: object): Uint8Array {
  return encodeUtf8(`event: error\ndata: ${JSON.stringify(event)}\n\n`);
}

/** An event that native clients ignore. It keeps a connection alive between other events. */
export const MESSAGE_KEEP_ALIVE = /* @__PURE__ */ encodeUtf8(
  'event: ping\ndata: {"type": "ping"}\n\n',
);
