/** The chat-completions format: the upstream's message or events, translated. */

import { chatErrorEvent, translateResponse } from '@gateway/translator';
import type { ResponseContext } from '@gateway/translator';
import { CHAT_KEEP_ALIVE, createChatTextStream } from '@gateway/translator/streams';
import type { ResponseFormat } from '../../http/response-format.js';

export function chatFormat(
  response: ResponseContext,
  { created }: { /** Unix seconds. */ readonly created: number },
): ResponseFormat {
  const context = { ...response, created };
  return {
    dialect: 'chat.completions',
    createPipe: () => createChatTextStream(context),
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
    errorEvent: chatErrorEvent,
    keepAlive: () => CHAT_KEEP_ALIVE,
  };
}
