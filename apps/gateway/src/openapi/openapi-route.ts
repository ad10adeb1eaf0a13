/** `GET /openapi.json`: the endpoints of a port, for people and for generated clients. */

import type { RequestHandler } from 'express';
import type { Port } from './document.js';

export function openApiRoute(port: Port): RequestHandler {
  let document: Promise<object> | undefined;
  return async function sendDocument(_req, res) {
    // Created at the first request for it.
    document ??= import('./document.js').then((made) => made.openApiDocument(port));
    res.json(await document);
  };
}
