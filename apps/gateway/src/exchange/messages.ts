/**
 * `POST /v1/messages` and `POST /v1/messages/count_tokens`: the native format, passed on byte for
 * byte, except that a `tool_choice` in another format is replaced.
 */

import type { Request, RequestHandler } from 'express';
import { z } from 'zod';
import { declare } from '../endpoints/endpoint.js';
import type { ExchangeParts } from './exchange-parts.js';
import { EVENT_STREAM, messages, nativeRequest, nativeResponse } from './exchange-schemas.js';
import { exchangeRoute } from './exchange.js';
import { checkNativeHeaders, nativeHeaders } from './native-headers.js';
import { nativeFormat, tokenCountFormat } from './relay/native-format.js';

export const createMessage = declare(
  {
    method: 'post',
    path: '/v1/messages',
    id: 'createMessage',
    summary: 'A message, in the native format',
    credential: 'x-api-key',
    headers: ['anthropic-version'],
    body: nativeRequest,
    result: nativeResponse,
    alsoAs: EVENT_STREAM,
  },
  (parts: ExchangeParts) => nativeRoute('messages', parts),
);

/** Free of charge, under limits of its own. */
export const countTokens = declare(
  {
    method: 'post',
    path: '/v1/messages/count_tokens',
    id: 'countTokens',
    summary: 'How many input tokens a message has, free of charge',
    credential: 'x-api-key',
    headers: ['anthropic-version'],
    body: messages,
    result: z.looseObject({ input_tokens: z.int() }),
  },
  (parts: ExchangeParts) => nativeRoute('count_tokens', parts),
);

const FORMATS = { messages: nativeFormat, count_tokens: tokenCountFormat } as const;

function nativeRoute(endpoint: keyof typeof FORMATS, parts: ExchangeParts): RequestHandler {
  return exchangeRoute(
    {
      endpoint,
      dialect: 'messages',
      checkHeaders: checkNativeHeaders,
      operation: endpoint,
      callOf: (req) => ({
        query: queryOf(req),
        headers: nativeHeaders(req),
      }),
      formatOf: () => FORMATS[endpoint],
    },
    parts,
  );
}

/** The query as the client wrote it, `?` included. */
function queryOf({ url }: Request): string {
  const at = url.indexOf('?');
  return at === -1 ? '' : url.slice(at);
}
