/** `POST /v1/messages`: the native format, passed byte for byte. */

import type { Request, RequestHandler } from 'express';
import { createMessageInspector } from '../message-request.js';
import type { Refusal } from '../refusal.js';
import type { ResponseFormat } from '../relay/format.js';
import { nativeFormat } from '../relay/native-format.js';
import type { Services } from '../services.js';
import { RequestBody } from '../upstream/request-body.js';
import { checkNativeHeaders, nativeHeaders } from './native-headers.js';
import { exchangeRoute } from './exchange.js';
import type { Preparation } from './exchange.js';
import { modelNotFound } from './models.js';

export function messagesRoute(services: Services): RequestHandler {
  const inspect = createMessageInspector({ allow: services.allowedFeatures });
  return exchangeRoute(
    {
      endpoint: 'messages',
      dialect: 'messages',
      isCharged: true,
      checkHeaders: checkNativeHeaders,
      prepare: (body, req) =>
        prepareNative(inspect(body), { req, path: '/v1/messages', format: nativeFormat }, services),
    },
    services,
  );
}

/** What both native endpoints do with an inspected body: find the price, forward the bytes. */
export function prepareNative(
  inspection:
    | { readonly outcome: 'accepted'; readonly model: string; readonly body: Uint8Array }
    | ({ readonly outcome: 'refused' } & Refusal),
  call: { readonly req: Request; readonly path: string; readonly format: ResponseFormat },
  services: Services,
): Preparation {
  if (inspection.outcome === 'refused') return { outcome: 'refused', refusal: inspection };
  const price = services.prices.find(inspection.model);
  if (price === undefined) return { outcome: 'refused', refusal: modelNotFound(inspection.model) };
  return {
    outcome: 'prepared',
    price,
    upstream: {
      path: call.path + queryOf(call.req.url),
      headers: nativeHeaders(call.req),
      body: new RequestBody(inspection.body),
    },
    format: call.format,
  };
}

/** The query as the client wrote it, `?` included. */
function queryOf(url: string): string {
  const at = url.indexOf('?');
  return at === -1 ? '' : url.slice(at);
}
