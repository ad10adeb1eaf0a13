/** `GET /openapi.json`: the endpoints of a port, for people and for generated clients. */

import { z } from 'zod';
import type { Served } from '../endpoints/endpoint.js';

export type Port = 'client' | 'admin';

export function openApiEndpoint(port: Port): Served<unknown> {
  let document: Promise<object> | undefined;
  return {
    method: 'get',
    path: '/openapi.json',
    id: 'getOpenApi',
    summary: 'This document',
    credential: 'none',
    result: z.looseObject({ openapi: z.string() }),
    serve: () => async (_req, res) => {
      // Created at the first request for it.
      document ??= import('./document.js').then((made) => made.openApiDocument(port));
      res.json(await document);
    },
  };
}
