/** The format of the Responses API: the upstream's message or events, translated. */

import { createResponseTextStream, translateMessage } from '@gateway/translator/responses';
import type { ResponsesContext, ResponseStreamPipe } from '@gateway/translator/responses';
import { CHAT_KEEP_ALIVE } from '@gateway/translator/streams';
import type { ResponseFormat } from './format.js';

/**
 * Makes the format of one response, because an error in its stream continues the numbering of its
 * events.
 */
export function responsesFormat(
  response: ResponsesContext,
  { created }: { /** Unix seconds. */ readonly created: number },
): ResponseFormat {
  const context = { ...response, created };
  let pipe: ResponseStreamPipe<string> | undefined;
  return {
    dialect: 'responses',
    createPipe() {
      pipe = createResponseTextStream(context);
      return pipe;
    },
    readResponse(upstreamBody) {
      const translation = translateMessage(upstreamBody, context);
      return translation.outcome === 'malformed'
        ? translation
        : {
            outcome: 'read',
            body: translation.body,
            usage: translation.usage,
            messageId: translation.messageId,
          };
    },
    errorEvent(error) {
      if (pipe === undefined) throw new Error('there is no stream');
      return Buffer.from(pipe.failInstead(error));
    },
    keepAlive: CHAT_KEEP_ALIVE,
  };
}
