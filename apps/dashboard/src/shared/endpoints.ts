/**
 * Calls of the endpoints of one API, for clients or for operators. Paths, parameters, bodies and
 * results have the types of its OpenAPI document. A member that an endpoint does not have is a type
 * error.
 */

import type { Answer, Call } from './api.js';

type Method = NonNullable<Call['method']>;

/** As openapi-typescript describes an operation. */
interface Operation {
  readonly parameters: {
    readonly path?: unknown;
    readonly query?: unknown;
    readonly header?: unknown;
  };
  readonly requestBody?: { readonly content: { readonly 'application/json': unknown } };
}

type PathsWith<Paths, Way extends Method> = {
  [Path in keyof Paths]: Paths[Path] extends Readonly<Record<Lowercase<Way>, Operation>>
    ? Path
    : never;
}[keyof Paths] &
  string;

type OperationAt<Paths, Way extends Method, Path extends keyof Paths> =
  Paths[Path] extends Readonly<Record<Lowercase<Way>, infer Found extends Operation>>
    ? Found
    : never;

/** Optional members may also be given as `undefined`: those of a query or a body are not sent. */
type Fields<Shape> = {
  readonly [Name in keyof Shape]: object extends Pick<Shape, Name>
    ? Shape[Name] | undefined
    : Shape[Name];
};

/** A part of a request: absent, optional or required, as the document has it. */
type Part<Name extends string, Shape> = [Shape] extends [undefined]
  ? { readonly [Each in Name]?: undefined }
  : undefined extends Shape
    ? { readonly [Each in Name]?: Shape }
    : { readonly [Each in Name]: Shape };

type BodyOf<Of extends Operation> = Of['requestBody'] extends infer Body
  ? Body extends { readonly content: { readonly 'application/json': infer Json } }
    ? Json
    : undefined
  : undefined;

type Given<Of extends Operation> = Part<'path', Of['parameters']['path']> &
  Part<'query', Fields<Of['parameters']['query']>> &
  Part<'headers', Of['parameters']['header']> &
  Part<'body', Fields<BodyOf<Of>>> & { readonly signal?: AbortSignal | undefined };

/**
 * Refuses unknown members also in objects that are put together from others. TypeScript itself
 * refuses them only in an object that is written as one literal.
 */
type Exactly<Value, Shape> = Shape extends readonly (infer Item)[]
  ? Value extends readonly (infer Each)[]
    ? readonly Exactly<Each, Item>[]
    : Value
  : Shape extends AbortSignal
    ? Value
    : Shape extends object
      ? {
          readonly [Name in keyof Value]: Name extends keyof Shape
            ? Exactly<Value[Name], NonNullable<Shape[Name]>>
            : never;
        }
      : Value;

/** The body of the answer, or `undefined` if there is none. */
type ResultOf<Of> = Of extends {
  readonly responses: {
    readonly 200: { readonly content: { readonly 'application/json': infer Value } };
  };
}
  ? Value
  : undefined;

/** Calls an endpoint: `call('GET', '/v1/models/{id}', { path: { id } })`. */
export type CallEndpoint<Paths> = <
  Way extends Method,
  Path extends PathsWith<Paths, Way>,
  Value extends Given<OperationAt<Paths, Way, Path>>,
>(
  method: Way,
  path: Path,
  given: Value & Exactly<Value, Given<OperationAt<Paths, Way, Path>>>,
) => Promise<Answer<ResultOf<OperationAt<Paths, Way, Path>>>>;

interface AnyGiven extends Omit<Call, 'method'> {
  readonly path?: Readonly<Record<string, string>> | undefined;
}

/**
 * @param request - Sends a request to a path of the gateway, such as `/v1/models/1`.
 * @typeParam Paths - The paths of the document. Answers are not checked here: the gateway's tests
 * compare them with the document.
 */
export function callingEndpoints<Paths>(
  request: (path: string, call: Call) => Promise<Answer<unknown>>,
): CallEndpoint<Paths> {
  const call = (method: Method, path: string, { path: ids = {}, ...given }: AnyGiven) =>
    request(
      path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(ids[name] ?? '')),
      { ...given, method },
    );
  return call as CallEndpoint<Paths>;
}
