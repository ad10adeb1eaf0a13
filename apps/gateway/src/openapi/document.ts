/** The OpenAPI documents, one for each port, made from the schemas that check requests. */

import { z } from 'zod';
import manifest from '../../package.json' with { type: 'json' };
import type { Credential, Endpoint } from '../endpoints/endpoint.js';
import { error } from '../endpoints/schemas.js';

export type Port = 'client' | 'admin';

interface JsonSchema {
  readonly [member: string]: unknown;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
}

const TITLES: Readonly<Record<Port, string>> = {
  client: 'Farthing',
  admin: 'Farthing administration',
};

/** With TLS. */
const COOKIES: Readonly<Record<Port, string>> = {
  client: '__Host-dashboard',
  admin: '__Host-console',
};

/**
 * @param endpoints - Those of the port, in the order of the document.
 * @returns the document as plain data
 */
export function openApiDocument(port: Port, endpoints: readonly Endpoint[]) {
  const schemas: Record<string, unknown> = {};
  const paths: Record<string, Record<string, unknown>> = {};

  /** Moves named schemas to `components`, where all endpoints share them. */
  const convert = (schema: z.ZodType, io: 'input' | 'output'): JsonSchema => {
    const { $defs, $schema: _version, id: _id, ...own } = jsonSchemaOf(schema, io);
    Object.assign(schemas, $defs);
    return own;
  };
  const content = (schema: z.ZodType, types: readonly string[] = []) => ({
    'application/json': { schema: convert(wrapped(schema), 'output') },
    ...Object.fromEntries(types.map((type) => [type, { schema: { type: 'string' } }])),
  });
  const failure = (description: string) => ({ description, content: content(error) });
  const responses = {
    Refused: failure('The request is refused; nothing was changed or charged'),
    Limited: {
      ...failure('Too many requests; nothing was charged'),
      headers: {
        'Retry-After': {
          description: 'Seconds to wait',
          required: true,
          schema: { type: 'integer', minimum: 1 },
        },
      },
    },
    Failed: failure('The gateway, its ledger or the upstream failed'),
  };

  for (const endpoint of endpoints) {
    const path = endpoint.path.replace(/:(\w+)/g, '{$1}');
    paths[path] = { ...paths[path], [endpoint.method]: operationOf(endpoint, convert, content) };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: TITLES[port],
      version: manifest.version,
      license: { name: manifest.license, identifier: manifest.license },
    },
    servers: [{ url: '/' }],
    paths,
    components: {
      schemas: Object.fromEntries(
        Object.entries(schemas).sort(([left], [right]) => (left < right ? -1 : 1)),
      ),
      responses,
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer' },
        ...(port === 'client'
          ? { apiKeyHeader: { type: 'apiKey', in: 'header', name: 'x-api-key' } }
          : {}),
        session: { type: 'apiKey', in: 'cookie', name: COOKIES[port] },
      },
    },
  };
}

/** A named schema at the top level would be inlined and lose its name; in a union it keeps it. */
function wrapped(schema: z.ZodType): z.ZodType {
  return schema.meta()?.id === undefined ? schema : z.union([schema]);
}

function jsonSchemaOf(schema: z.ZodType, io: 'input' | 'output'): JsonSchema {
  const made = z.toJSONSchema(schema, {
    io,
    unrepresentable: 'any',
    override: ({ jsonSchema }) => {
      // The format says the same as the pattern and is easier to read.
      if (jsonSchema.format !== undefined) delete jsonSchema.pattern;
      delete jsonSchema.id;
    },
  });
  const text = JSON.stringify(made).replaceAll('"#/$defs/', '"#/components/schemas/');
  return unwrapped(JSON.parse(text) as JsonSchema);
}

function unwrapped(schema: JsonSchema): JsonSchema {
  const { anyOf, ...rest } = schema as { readonly anyOf?: readonly JsonSchema[] };
  const [only, ...others] = anyOf ?? [];
  return only === undefined || others.length > 0 ? schema : { ...rest, ...only };
}

function operationOf(
  endpoint: Endpoint,
  convert: (schema: z.ZodType, io: 'input' | 'output') => JsonSchema,
  content: (schema: z.ZodType, types?: readonly string[]) => object,
) {
  const { query, body, result, isRepeatable, status = 200 } = endpoint;
  const inPath = [...endpoint.path.matchAll(/:(\w+)/g)].map(([, name]) => name ?? '');
  const input = query ?? body;
  const schema = input === undefined ? {} : convert(input, 'input');
  const { properties = {}, required = [], ...rest } = schema;
  const others = Object.entries(properties).filter(([name]) => !inPath.includes(name));
  const isRequired = (name: string): boolean => required.includes(name);
  const parameters = [
    ...inPath.map((name) => ({
      name,
      in: 'path',
      required: true,
      schema: properties[name] ?? { type: 'string' },
    })),
    ...(query === undefined
      ? []
      : others.map(([name, member]) => ({
          name,
          in: 'query',
          required: isRequired(name),
          schema: member,
        }))),
    ...(endpoint.headers ?? []).map((name) => ({
      name,
      in: 'header',
      required: true,
      schema: { type: 'string' },
    })),
    ...(isRepeatable === undefined
      ? []
      : [
          {
            name: 'Idempotency-Key',
            in: 'header',
            required: false,
            description: 'Repeating the request with the same value changes nothing',
            schema: { type: 'string' },
          },
        ]),
  ];
  const needed = others.map(([name]) => name).filter(isRequired);
  return {
    operationId: endpoint.id,
    summary: endpoint.summary,
    security: SECURITY[endpoint.credential],
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined
      ? {}
      : {
          requestBody: {
            required: needed.length > 0,
            content: {
              'application/json': {
                schema: {
                  ...rest,
                  properties: Object.fromEntries(others),
                  ...(needed.length === 0 ? {} : { required: needed }),
                },
              },
            },
          },
        }),
    responses: {
      [status]: {
        description: 'Done',
        ...(result === undefined ? {} : { content: content(result, endpoint.alsoAs) }),
      },
      '429': { $ref: '#/components/responses/Limited' },
      '4XX': { $ref: '#/components/responses/Refused' },
      '5XX': { $ref: '#/components/responses/Failed' },
    },
  };
}

const SECURITY: Readonly<Record<Credential, readonly object[]>> = {
  none: [],
  bearer: [{ bearer: [] }, { session: [] }],
  link: [{ bearer: [] }, { session: [] }],
  'x-api-key': [{ bearer: [] }, { apiKeyHeader: [] }],
  console: [{ bearer: [] }, { session: [] }],
  'admin-token': [{ bearer: [] }],
  session: [{ session: [] }],
};
