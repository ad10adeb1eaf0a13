/** The native format: the upstream's bytes are relayed unchanged, and their usage is read. */

import {
  MESSAGE_KEEP_ALIVE,
  createMessagePieceTap,
  messageErrorEvent,
  readMessage,
} from '@gateway/translator/native';
import { z } from 'zod';
import type { ResponseFormat } from '../../http/response-format.js';

const message = z.object({
  id: z.string().optional(),
  model: z.string().optional().catch(undefined),
  // A message without this member is malformed.
  usage: z.unknown(),
});

export const nativeFormat: ResponseFormat = {
  dialect: 'messages',
  createPipe: () => createMessagePieceTap(),
  readResponse(upstreamBody) {
    let json: unknown;
    let parsed: z.infer<typeof message>;
    try {
      json = JSON.parse(upstreamBody.toString());
      parsed = message.parse(json);
    } catch {
      return { outcome: 'malformed', reason: 'the body is not a message' };
    }
    return {
      outcome: 'read',
      body: upstreamBody,
      ...readMessage(json),
      messageId: parsed.id,
      model: parsed.model,
    };
  },
  errorEvent: messageErrorEvent,
  keepAlive: () => MESSAGE_KEEP_ALIVE,
};

/** The response to counting tokens is plain JSON and free of charge. */
export const tokenCountFormat: ResponseFormat = {
  ...nativeFormat,
  readResponse: (upstreamBody) => ({ outcome: 'free', body: upstreamBody }),
};
