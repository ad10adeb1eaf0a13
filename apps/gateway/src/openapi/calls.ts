/**
 * What each endpoint takes and sends, as types that follow from the declarations:
 * `ClientCalls['GET /v1/models/:id']`. The pages call the gateway with them. There is no code in
 * this file, so that none of the gateway's gets into the pages.
 *
 * These types are cheap to check because a call looks its endpoint up by one name, and because no
 * type asks whether something is a `z.ZodType`, which would compare all methods of a schema.
 */

import type { providerEndpoints } from '../customer/customer-endpoints.js';
import type { Endpoint, InputOf, ResultOf } from '../endpoints/endpoint.js';
import type * as schemas from '../endpoints/schemas.js';
import type { linkEndpoints, linkSessionEndpoints } from '../operator/console/link-routes.js';
import type { sessionEndpoints } from '../operator/console/session-routes.js';
import type { operations } from '../operator/operations/operations.js';
import type { clientEndpoints, openAdminEndpoints } from './endpoints.js';

interface Declaration {
  readonly method: Endpoint['method'];
  readonly path: string;
  readonly result: unknown;
}

/** The parts of a request of an endpoint, and what it answers. */
export interface CallOf<Declared extends Declaration> {
  readonly given: Part<'path', Record<NamesIn<Declared['path']>, string>> &
    Part<'query', InputAt<Declared, 'query'>> &
    Part<'body', InputAt<Declared, 'body'>> &
    Part<'headers', HeadersOf<Declared>>;
  readonly result: Declared['result'] extends undefined ? undefined : ResultOf<Declared['result']>;
}

type Calls<Declared extends Declaration> = {
  readonly [Each in Declared as `${Uppercase<Each['method']>} ${Each['path']}`]: CallOf<Each>;
};

/** A part of a request: absent, optional or required, as the endpoint is declared. */
type Part<Name extends string, Shape> = [keyof Shape] extends [never]
  ? { readonly [Each in Name]?: undefined }
  : object extends Shape
    ? { readonly [Each in Name]?: Fields<Shape> | undefined }
    : { readonly [Each in Name]: Fields<Shape> };

/** Optional members may also be given as `undefined`: those of a query or a body are not sent. */
type Fields<Shape> = {
  readonly [Name in keyof Shape]: object extends Pick<Shape, Name>
    ? Shape[Name] | undefined
    : Shape[Name];
};

/** The names in a path: `id` of `/v1/models/:id`. */
type NamesIn<Path extends string> = Path extends `${string}/:${infer Rest}`
  ? Rest extends `${infer Name}/${infer Others}`
    ? Name | NamesIn<`/${Others}`>
    : Rest
  : never;

/** What a query or a body has, without the members that are in the path. */
type InputAt<Declared extends Declaration, Place extends string> = Declared extends {
  readonly [Each in Place]: infer Schema;
}
  ? Without<MembersOf<Schema>, NamesIn<Declared['path']>>
  : unknown;

type Without<Shape, Names extends string> = [Names] extends [never] ? Shape : Omit<Shape, Names>;

/** `z.strictObject({})` has the input `Record<string, never>`: members of each name. */
type MembersOf<Schema> =
  InputOf<Schema> extends Readonly<Record<string, never>> ? unknown : InputOf<Schema>;

type HeadersOf<Declared> = Declared extends {
  readonly headers: readonly (infer Name extends string)[];
}
  ? Record<Name, string>
  : Declared extends { readonly isRepeatable: true }
    ? { readonly 'Idempotency-Key'?: string }
    : unknown;

/** An operation as an endpoint: its input is the query of a GET, or else the body. */
type AsEndpoint<Of> = Of extends {
  readonly method: infer Method extends Endpoint['method'];
  readonly path: infer Path extends string;
  readonly input: infer Input;
  readonly output: infer Output;
}
  ? { readonly method: Method; readonly path: Path; readonly result: Output } & {
      readonly [Each in Method extends 'get' ? 'query' : 'body']: Input;
    } & ('idempotency_key' extends keyof MembersOf<Input>
        ? { readonly isRepeatable: true }
        : unknown)
  : never;

export type ClientCalls = Calls<
  (typeof clientEndpoints)[number] | (typeof providerEndpoints)[number]
>;

export type AdminCalls = Calls<
  | (typeof openAdminEndpoints)[number]
  | (typeof sessionEndpoints)[number]
  | (typeof linkSessionEndpoints)[number]
  | (typeof linkEndpoints)[number]
  | AsEndpoint<(typeof operations)[keyof typeof operations]>
>;

/** What the gateway sends, by the name of its schema in `endpoints/schemas.ts`. */
export type Sent<Name extends keyof typeof schemas> = ResultOf<(typeof schemas)[Name]>;
