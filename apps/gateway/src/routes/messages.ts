/**
 * `POST /v1/messages` and `POST /v1/messages/count_tokens`: the native format, passed on byte for
 * byte, except that a `tool_choice` in another format is replaced.
 */

import type { Request, RequestHandler } from 'express';
import { nativeFormat, tokenCountFormat } from '../relay/native-format.js';
import type { Services } from '../services.js';
import { checkNativeHeaders, nativeHeaders } from './native-headers.js';
import { exchangeRoute } from './exchange.js';

export function messagesRoute(services: Services): RequestHandler {
  return nativeRoute('messages', services);
}

/** Free of charge, under limits of its own. */
export function countTokensRoute(services: Services): RequestHandler {
  return nativeRoute('count_tokens', services);
}

const FORMATS = { messages: nativeFormat, count_tokens: tokenCountFormat } as const;

function nativeRoute(endpoint: keyof typeof FORMATS, services: Services): RequestHandler {
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
    services,
  );
}

/** The query as the client wrote it, `?` included. */
function queryOf({ url }: Request): string {
  const at = url.indexOf('?');
  return at === -1 ? '' : url.slice(at);
}
