/** The chat-completions format: the upstream's message or events, translated. */

import {
  chatErrorEvent,
  translateResponse,
  CHAT_KEEP_ALIVE,
  createChatStream,
  type ResponseContext,
  type TranslateResponseContext,
  type FinishedResponse,
} from '@gateway/translator';
import type { ResponseFormat } from '../../http/response-format.js';
import { thinkingId } from '../response-memory/kept-thinking.js';
import { addCharge } from './add-charge.js';

export function chatFormat(
  response: ResponseContext,
  { created }: { /** Unix seconds. */ readonly created: number },
): ResponseFormat {
  let finished: FinishedResponse | undefined;
  const context: TranslateResponseContext = {
    ...response,
    created,
    onThinking(callId, blocks) {
      finished = { id: thinkingId(callId), body: JSON.stringify(blocks) };
    },
  };
  return {
    dialect: 'chat.completions',
    createPipe: () => createChatStream(context),
    readResponse(upstreamBody) {
      const translation = translateResponse(upstreamBody, context);
      return translation.outcome === 'malformed'
        ? translation
        : {
            outcome: 'read',
            body: translation.body,
            usage: translation.usage,
            messageId: translation.messageId,
            emptyRefusal: translation.emptyRefusal,
          };
    },
    addCharge,
    errorEvent: chatErrorEvent,
    keepAlive: () => CHAT_KEEP_ALIVE,
    finished: () => finished,
  };
}
