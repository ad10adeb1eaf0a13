/** How an endpoint is declared: its route and its part of the OpenAPI document follow from this. */

import type { RequestHandler } from 'express';
import type { z } from 'zod';
import type { DeepReadonly } from '../base/deep-readonly.js';

export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';
/**
 * `bearer`: an API key in `Authorization`, or the cookie of the customer's page. `link`: the same,
 * or a read-only link. `x-api-key`: an API key in `Authorization` or `x-api-key`. `console`: an
 * admin token or the console's cookie. `admin-token`: only such a token. `session`: only that
 * cookie.
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

/** What a request with an input of this schema has. */
export type InputOf<Input> = DeepReadonly<z.input<Input>>;

/** What an endpoint with a result of this schema sends. */
export type ResultOf<Result> = DeepReadonly<z.output<Result>>;

/** An endpoint with the handler that serves it. */
export interface Served<Parts> extends Endpoint {
  readonly serve: (parts: Parts) => RequestHandler;
}

/** The same, if the type checker is to know the method, the path and the schemas. */
export type Declared<Declaration extends Endpoint, Parts> = Declaration &
  Pick<Served<Parts>, 'serve'>;

export function declare<const Declaration extends Endpoint, Parts>(
  declaration: Declaration,
  serve: Served<Parts>['serve'],
): Declared<Declaration, Parts> {
  return { ...declaration, serve };
}
