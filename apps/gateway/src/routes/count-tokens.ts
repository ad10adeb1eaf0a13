/** `POST /v1/messages/count_tokens`: passed through, free of charge, under the key's limits. */

import type { RequestHandler } from 'express';
import { createCountTokensInspector } from '../message-request.js';
import { tokenCountFormat } from '../relay/native-format.js';
import type { Services } from '../services.js';
import { exchangeRoute } from './exchange.js';
import { prepareNative } from './messages.js';
import { checkNativeHeaders } from './native-headers.js';

export function countTokensRoute(services: Services): RequestHandler {
  const inspect = createCountTokensInspector({ allow: services.allowedFeatures });
  return exchangeRoute(
    {
      endpoint: 'count_tokens',
      dialect: 'messages',
      isCharged: false,
      checkHeaders: checkNativeHeaders,
      prepare: (body, req) =>
        prepareNative(
          inspect(body),
          { req, path: '/v1/messages/count_tokens', format: tokenCountFormat },
          services,
        ),
    },
    services,
  );
}
