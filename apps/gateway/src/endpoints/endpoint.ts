/** How an endpoint is declared: its route and its part of the OpenAPI document follow from this. */

import type { RequestHandler } from 'express';
import type { z } from 'zod';

export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';
/**
 * `bearer`: an API key in `Authorization`. `link`: the same, or a read-only link. `x-api-key`: an
 * API key in `Authorization` or `x-api-key`. `console`: an admin token or the console's cookie.
 * `admin-token`: only such a token. `session`: only that cookie.
 */
export type Credential =
  'none' | 'bearer' | 'x-api-key' | 'link' | 'console' | 'admin-token' | 'session';

export interface Endpoint {
  readonly method: Method;
  /** As Express writes it: `/v1/models/:id`. */
  readonly path: string;
  readonly id: string;
  readonly summary: string;
  readonly credential: Credential;
  /** Headers that are required in addition to the credential. */
  readonly headers?: readonly string[];
  readonly query?: z.ZodType;
  readonly body?: z.ZodType;
  /** The body of a successful response. `undefined`: it has none. */
  readonly result: z.ZodType | undefined;
  /** Media types of the result other than JSON. */
  readonly alsoAs?: readonly string[];
  /** Whether repeating it with an `Idempotency-Key` is harmless. */
  readonly isRepeatable?: true;
  readonly status?: 204;
}

/** An endpoint with the handler that serves it. */
export interface Served<Parts> extends Endpoint {
  readonly serve: (parts: Parts) => RequestHandler;
}
