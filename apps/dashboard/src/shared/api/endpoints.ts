/**
 * Calls of the endpoints of one API, for clients or for operators. Paths, parameters, bodies and
 * results have the types of the gateway's declarations. A member that an endpoint does not have is
 * a type error.
 */

import type { Answer, Call } from './api.js';

type Method = NonNullable<Call['method']>;

/** As `gateway-types.ts` describes the endpoints of an API. */
type Endpoints<Calls> = Readonly<
  Record<keyof Calls, { readonly given: unknown; readonly result: unknown }>
>;

type Given<Parts> = Parts & { readonly signal?: AbortSignal | undefined };

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

/** Calls an endpoint: `call('GET /v1/models/:id', { path: { id } })`. */
export type CallEndpoint<Calls extends Endpoints<Calls>> = <
  Name extends keyof Calls,
  Value extends Given<Calls[Name]['given']>,
>(
  endpoint: Name,
  given: Value & Exactly<Value, Given<Calls[Name]['given']>>,
) => Promise<Answer<Calls[Name]['result']>>;

interface AnyGiven extends Omit<Call, 'method'> {
  readonly path?: Readonly<Record<string, string>> | undefined;
}

/**
 * @param request - Sends a request to a path of the gateway, such as `/v1/models/1`.
 * @typeParam Calls - The endpoints of the API. Answers are not checked here: the gateway's tests
 * compare them with the declarations.
 */
export function callingEndpoints<Calls extends Endpoints<Calls>>(
  request: (path: string, call: Call) => Promise<Answer<unknown>>,
): CallEndpoint<Calls> {
  const call = (endpoint: string, { path: ids = {}, ...given }: AnyGiven) => {
    const [method, path = ''] = endpoint.split(' ');
    return request(
      path.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(ids[name] ?? '')),
      { ...given, method: method as Method },
    );
  };
  return call as CallEndpoint<Calls>;
}
