/** `scripts/openapi-changes.cjs` finds each kind of change that breaks clients, and no other. */

import { expect, it } from '@jest/globals';
import { incompatibleChanges } from '../../../../scripts/openapi-changes.cjs';
import { openApiDocument } from '../../src/openapi/document.js';
import { ENDPOINTS } from '../../src/openapi/endpoints.js';

const text = { type: 'string' };
const DOCUMENT = {
  paths: {
    '/v1/things/{id}': {
      get: {
        security: [{ bearer: [] }, { session: [] }],
        parameters: [
          { name: 'id', in: 'path', required: true, schema: text },
          { name: 'limit', in: 'query', schema: { type: 'integer', minimum: 1, maximum: 9 } },
          { name: 'order', in: 'query', schema: { type: 'string', enum: ['a', 'b'] } },
        ],
        responses: {
          '200': {
            content: {
              'application/json': { schema: { $ref: '#/components/schemas/Thing' } },
              'text/csv': { schema: text },
            },
          },
          '4XX': { $ref: '#/components/responses/Refused' },
        },
      },
      post: {
        security: [{ bearer: [] }],
        requestBody: {
          required: false,
          content: {
            'application/json': {
              schema: {
                type: 'object',
                properties: {
                  name: { type: 'string', pattern: '^a', maxLength: 9 },
                  note: { type: ['string', 'null'] },
                  tags: { type: 'array', items: { type: 'string', enum: ['x', 'y'] } },
                },
                required: ['name'],
                additionalProperties: false,
              },
            },
          },
        },
        responses: { '204': {} },
      },
    },
    '/admin/things': { get: { responses: { '200': {} } } },
  },
  components: {
    responses: {
      Refused: {
        headers: { 'Retry-After': { required: true, schema: { type: 'integer' } } },
        content: { 'application/json': { schema: { type: 'object', properties: {} } } },
      },
    },
    schemas: {
      Thing: {
        type: 'object',
        properties: {
          kind: { const: 'thing' },
          state: { type: 'string', enum: ['on', 'off'] },
          size: { type: 'number', minimum: 0 },
          note: text,
          parts: { type: 'array', items: { $ref: '#/components/schemas/Thing' } },
        },
        required: ['kind', 'state', 'size', 'parts'],
        additionalProperties: false,
      },
    },
  },
};

/** A place in the document, and what it becomes; `undefined` removes it. */
type Change = readonly [place: string, value: unknown];

const PLACES: Readonly<Record<string, readonly string[]>> = {
  path: ['paths', '/v1/things/{id}'],
  get: ['paths', '/v1/things/{id}', 'get'],
  post: ['paths', '/v1/things/{id}', 'post'],
  body: [
    'paths',
    '/v1/things/{id}',
    'post',
    'requestBody',
    'content',
    'application/json',
    'schema',
  ],
  refused: ['components', 'responses', 'Refused'],
  thing: ['components', 'schemas', 'Thing'],
};

/** @returns the incompatible changes after one place of the document has changed */
function after([place, value]: Change): readonly string[] {
  const changed = structuredClone(DOCUMENT);
  const [root = '', ...inside] = place.split(' ');
  const steps = [...(PLACES[root] ?? [root]), ...inside];
  let at = changed as Record<string, unknown>;
  for (const step of steps.slice(0, -1)) at = at[step] as Record<string, unknown>;
  const last = steps.at(-1)!;
  if (value === undefined) delete at[last];
  else at[last] = value;
  return incompatibleChanges(DOCUMENT, changed);
}

const GET = 'GET /v1/things/{id}';
const POST = 'POST /v1/things/{id}';
const parameter = (name: string, more = {}) => ({ name, in: 'query', schema: text, ...more });
const ORIGINAL = DOCUMENT.paths['/v1/things/{id}'].get.parameters;

it.each<[string, Change, string[]]>([
  ['a path is gone', ['path', undefined], [`${GET}: is gone`, `${POST}: is gone`]],
  ['a method is gone', ['path post', undefined], [`${POST}: is gone`]],
  [
    'a credential is no longer enough',
    ['get security', [{ bearer: [] }]],
    [`${GET}: the credential session is no longer enough`],
  ],
  [
    'a parameter is gone',
    ['get parameters', ORIGINAL.slice(0, 2)],
    [`${GET}: query order: is no longer taken`],
  ],
  [
    'a parameter is newly required',
    ['get parameters 1 required', true],
    [`${GET}: query limit: is newly required`],
  ],
  [
    'there is a new required header',
    ['get parameters', [...ORIGINAL, parameter('A', { in: 'header', required: true })]],
    [`${GET}: header a: is newly required`],
  ],
  [
    'a bound of an input is narrower',
    ['get parameters 1 schema maximum', 8],
    [`${GET}: query limit: the maximum has changed`],
  ],
  [
    'an input has a new bound',
    ['body properties name minLength', 2],
    [`${POST}: body.name: the minLength has changed`],
  ],
  [
    'a value of an input is gone',
    ['get parameters 2 schema enum', ['a']],
    [`${GET}: query order: "b" is no longer taken`],
  ],
  [
    'any value of an input becomes a list of values',
    ['get parameters 0 schema enum', ['a']],
    [`${GET}: path id: "other" is no longer taken`],
  ],
  [
    'the body is newly required',
    ['post requestBody required', true],
    [`${POST}: body: is newly required`],
  ],
  [
    'a member of the body is newly required',
    ['body required', ['name', 'note']],
    [`${POST}: body.note: is newly required`],
  ],
  [
    'a member of the body is gone',
    ['body properties tags', undefined],
    [`${POST}: body.tags: is no longer taken`],
  ],
  [
    'a type of an input is gone',
    ['body properties note', text],
    [`${POST}: body.note: the type null is no longer taken`],
  ],
  [
    'the type of an input is another one',
    ['body properties name type', 'integer'],
    [`${POST}: body.name: the type string is no longer taken`],
  ],
  [
    'the pattern of an input is another one',
    ['body properties name pattern', '^b'],
    [`${POST}: body.name: the pattern has changed`],
  ],
  [
    'a value in a list of the body is gone',
    ['body properties tags items enum', ['x']],
    [`${POST}: body.tags[]: "y" is no longer taken`],
  ],
  ['a status is gone', ['post responses 204', undefined], [`${POST}: response 204: is gone`]],
  [
    'a media type is gone',
    ['get responses 200 content text/csv', undefined],
    [`${GET}: response 200: text/csv is gone`],
  ],
  [
    'a header of a response may be missing',
    ['refused headers', {}],
    [`${GET}: response 4XX: the header Retry-After may be missing`],
  ],
  [
    'a required member of a response may be missing',
    ['thing required', ['state', 'size', 'parts']],
    [`${GET}: response 200.kind: may be missing`],
  ],
  [
    'an optional member of a response is gone',
    ['thing properties note', undefined],
    [`${GET}: response 200.note: is gone`],
  ],
  [
    'a response has a new value',
    ['thing properties state enum', ['on', 'off', 'idle']],
    [`${GET}: response 200.state: "idle" is new`],
  ],
  [
    'a response has a new type',
    ['thing properties size', { anyOf: [{ type: 'number', minimum: 0 }, { type: 'null' }] }],
    [`${GET}: response 200.size: the type null is new`],
  ],
  [
    'a bound of a response is wider',
    ['thing properties size minimum', -1],
    [`${GET}: response 200.size: the minimum has changed`],
  ],
])('a change is reported if %s', (_what, change, expected) => {
  expect(after(change)).toEqual(expected);
});

it.each<[string, Change]>([
  ['nothing has changed', ['get security', [{ bearer: [] }, { session: [] }]]],
  ['there is a new method', ['path put', { responses: {} }]],
  ['a path outside /v1 is gone', ['paths /admin/things', undefined]],
  ['no credential is needed any more', ['get security', []]],
  ['there is a new optional parameter', ['get parameters', [...ORIGINAL, parameter('a')]]],
  ['a parameter is optional', ['get parameters 0 required', false]],
  ['a bound of an input is wider', ['get parameters 1 schema maximum', 10]],
  ['an integer may be any number', ['get parameters 1 schema type', 'number']],
  ['an input takes a new value', ['get parameters 2 schema enum', ['a', 'b', 'c']]],
  ['an input takes anything', ['body properties name', {}]],
  ['an input takes a new type', ['body properties note type', ['string', 'null', 'integer']]],
  ['the body has a new optional member', ['body properties more', text]],
  ['a response has a new member', ['thing properties more', text]],
  ['a response never has a value any more', ['thing properties state enum', ['on']]],
  ['a response is always an integer', ['thing properties size type', 'integer']],
  ['a description has changed', ['thing properties note description', 'a note']],
])('no change is reported if %s', (_what, change) => {
  expect(after(change)).toEqual([]);
});

it('a keyword that the comparison does not know is refused, not passed over', () => {
  expect(() => after(['thing properties size multipleOf', 2])).toThrow(
    'response 200.size: cannot compare the keyword multipleOf',
  );
});

it('the documents of both ports can be compared, and do not differ from themselves', () => {
  for (const port of ['client', 'admin'] as const) {
    const document = openApiDocument(port, ENDPOINTS[port]);
    expect(incompatibleChanges(document, document, '/')).toEqual([]);
  }
});
