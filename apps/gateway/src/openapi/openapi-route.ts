/** `GET /openapi.json`: the endpoints of a port, for people and for generated clients. */

import { z } from 'zod';
import { declare } from '../endpoints/endpoint.js';
import type { Endpoint } from '../endpoints/endpoint.js';
import type { Port } from './document.js';

/** @param endpoints - Those of the port, this one included, which is why it is a function. */
export function openApiEndpoint(port: Port, endpoints: () => readonly Endpoint[]) {
  /** The same bytes for all clients, so that those who do not read them hold no copies. */
  let document: Promise<Buffer> | undefined;
  return declare(
    {
      method: 'get',
      path: '/openapi.json',
      id: 'getOpenApi',
      summary: 'This document',
      credential: 'none',
      result: z.looseObject({ openapi: z.string() }),
    },
    () => async (_req, res) => {
      // Created at the first request for it.
      document ??= import('./document.js').then((made) =>
        Buffer.from(JSON.stringify(made.openApiDocument(port, endpoints()))),
      );
      res.type('json').send(await document);
    },
  );
}
