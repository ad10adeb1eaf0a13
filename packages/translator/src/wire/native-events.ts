/**
 * Events of ours within a native stream.
 * https://platform.claude.com/docs/en/build-with-claude/streaming
 */

import { encodeUtf8 } from './bytes.js';
import type { StreamError } from './stream-pipe.js';

/** An `error` event of the native format. */
export function messageErrorEvent({ type, message }: StreamError, requestId?: string): Uint8Array {
  return errorEventOf({ type: 'error', error: { type, message }, request_id: requestId });
}

export function errorEventOf(event: object): Uint8Array {
  return encodeUtf8(`event: error\ndata: ${JSON.stringify(event)}\n\n`);
}

/** What a native client ignores, to keep a connection alive between events. */
export const MESSAGE_KEEP_ALIVE = /* @__PURE__ */ encodeUtf8(
  'event: ping\ndata: {"type": "ping"}\n\n',
);
