/** The format of the Responses API: the upstream's message or events, translated. */

import {
  createResponseStream,
  responseId,
  translateMessage,
  translateTokenCount,
  type FinishedResponse,
  type ResponseBytePipe,
  type ResponsesContext,
} from '@gateway/translator';
import type { ResponseFormat } from '../../http/response-format.js';
import { addCharge } from './add-charge.js';
import { tokenCountFormat } from './native-format.js';

/**
 * Makes the format of one response, because errors and keep-alive events in its stream continue the
 * numbering of its events.
 */
export function responsesFormat(
  response: ResponsesContext,
  { created }: { /** Unix seconds. */ readonly created: number },
): ResponseFormat {
  const context = { ...response, created };
  let pipe: ResponseBytePipe | undefined;
  let plain: FinishedResponse | undefined;
  function opened(): ResponseBytePipe {
    if (pipe === undefined) throw new Error('there is no stream');
    return pipe;
  }
  return {
    dialect: 'responses',
    createPipe() {
      pipe = createResponseStream(context);
      return pipe;
    },
    readResponse(upstreamBody) {
      const translation = translateMessage(upstreamBody, context);
      if (translation.outcome === 'malformed') return translation;
      const { body, usage, messageId, emptyRefusal } = translation;
      plain = { id: responseId(messageId), body };
      return { outcome: 'read', body, usage, messageId, emptyRefusal };
    },
    addCharge,
    errorEvent: (error) => opened().failInstead(error),
    keepAlive: (requestId) => opened().keepAlive(requestId),
    repeatTail: () => opened().repeatTail(),
    finished: () => plain ?? pipe?.finished(),
  };
}

/** The count of the tokens of a request is plain JSON and free of charge. */
export const inputTokensFormat: ResponseFormat = {
  ...tokenCountFormat,
  dialect: 'responses',
  readResponse(upstreamBody) {
    const translation = translateTokenCount(upstreamBody);
    return translation.outcome === 'malformed'
      ? translation
      : { outcome: 'free', body: translation.body };
  },
};
