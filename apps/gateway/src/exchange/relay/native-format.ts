/** The native format: the upstream's bytes are relayed unchanged, and their usage is read. */

import {
  MESSAGE_KEEP_ALIVE,
  createMessagePieceTap,
  messageErrorEvent,
  readMessage,
} from '@gateway/translator/native';
import type { ResponseFormat } from '../../http/response-format.js';

export const nativeFormat: ResponseFormat = {
  dialect: 'messages',
  createPipe: () => createMessagePieceTap(),
  readResponse(upstreamBody) {
    const message = parsed(upstreamBody);
    if (message === undefined) {
      return { outcome: 'malformed', reason: 'the body is not a message' };
    }
    const { id, model } = message;
    return {
      outcome: 'read',
      body: upstreamBody,
      ...readMessage(message),
      messageId: id as string | undefined,
      model: typeof model === 'string' ? model : undefined,
    };
  },
  errorEvent: messageErrorEvent,
  keepAlive: () => MESSAGE_KEEP_ALIVE,
};

interface Message {
  readonly id?: unknown;
  readonly model?: unknown;
  readonly usage: unknown;
}

/** Without a schema, because this runs for each response. @returns undefined if malformed */
function parsed(body: Buffer): Message | undefined {
  let message: unknown;
  try {
    message = JSON.parse(body.toString());
  } catch {
    return undefined;
  }
  if (typeof message !== 'object' || message === null || !('usage' in message)) return undefined;
  const found: Message = message;
  return found.id === undefined || typeof found.id === 'string' ? found : undefined;
}

/** The response to counting tokens is plain JSON and free of charge. */
export const tokenCountFormat: ResponseFormat = {
  ...nativeFormat,
  readResponse: (upstreamBody) => ({ outcome: 'free', body: upstreamBody }),
};
