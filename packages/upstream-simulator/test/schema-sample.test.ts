/** Values made from schemas, checked by another implementation of JSON Schema. */

import { describe, expect, it } from '@jest/globals';
import Ajv from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import fc from 'fast-check';
import { sampleOf } from '../src/schemas/schema-sample.js';
import { FORMATS, closedObject, schemasWith } from './random-schemas.js';

const ajv = new Ajv({ strict: false, validateSchema: false });
addFormats(ajv);

function expectSample(schema: object): void {
  const value = sampleOf(schema as Record<string, unknown>);
  const validate = ajv.compile(schema);
  // Serialized, as a client receives it.
  if (value === undefined || !validate(JSON.parse(JSON.stringify(value)))) {
    throw new Error(`${JSON.stringify(value)} for ${JSON.stringify(schema)}`);
  }
}

describe('a sample', () => {
  it('satisfies any schema that the API accepts', () => {
    fc.assert(fc.property(schemasWith([]), expectSample), { numRuns: 1000 });
  });

  it('satisfies schemas that use definitions, which may use others', () => {
    const ref = (name: string): object => ({ $ref: `#/$defs/${name}` });
    const documents = fc
      .record({
        inner: schemasWith([]),
        'with/slash~': schemasWith([ref('inner')]),
        root: schemasWith([ref('inner'), { $ref: '#/$defs/with~1slash~0' }]),
      })
      .map(({ root, ...definitions }) => ({ ...root, $defs: definitions }));
    fc.assert(fc.property(documents, expectSample), { numRuns: 300 });
  });

  it('ends recursive definitions by an alternative that does not recurse', () => {
    const node = { $ref: '#/$defs/node' };
    const ways = [
      { type: 'array', items: node },
      { anyOf: [node, { type: 'null' }] },
      { anyOf: [{ type: 'array', items: node, minItems: 1 }, { type: 'string' }] },
      closedObject([['again', [node, false]]]),
    ];
    const documents = schemasWith([...ways, { type: 'boolean' }]).map((inner) => ({
      $ref: '#/$defs/node',
      $defs: {
        node: closedObject([
          ['next', [inner, true]],
          ['id', [{ type: 'string' }, true]],
        ]),
      },
    }));
    fc.assert(fc.property(documents, expectSample), { numRuns: 300 });
  });

  it.each([...FORMATS])('of the format %s is valid', (format) => {
    expectSample({ type: 'string', format });
  });

  it('has its required members in the order of the properties', () => {
    const properties = Object.fromEntries(['a', 'b', 'c', 'd'].map((name) => [name, {}]));
    const value = sampleOf({ type: 'object', properties, required: ['d', 'x', 'b'] });
    expect(Object.keys(value as object)).toEqual(['b', 'd', 'x']);
  });

  it.each([
    ['a definition that requires itself', { $ref: '#' }],
    ['nothing', { anyOf: [] }],
    ['two types at once', { allOf: [{ type: 'string' }, { type: 'null' }] }],
    ['a member that is forbidden', { ...closedObject([]), required: ['a'] }],
  ])('of %s does not exist', (_what, schema) => {
    expect(sampleOf(schema)).toBeUndefined();
  });

  it('is not found if there are too many alternatives', () => {
    const none = { allOf: [{ type: 'string' }, { type: 'null' }] };
    const choice = { anyOf: [none, none] };
    expect(sampleOf({ allOf: Array.from({ length: 60 }, () => choice) })).toBeUndefined();
  });
});

/** Tools may have any schema, including keywords that the API refuses for structured outputs. */
describe('a sample for a tool', () => {
  it.each<[string, object, unknown]>([
    ['anything', {}, 'Paris'],
    ['a text of some length', { type: 'string', minLength: 8 }, 'Parisxxx'],
    ['a short text', { type: 'string', maxLength: 2 }, 'Pa'],
    ['a small number', { type: 'integer', minimum: 1, maximum: 5 }, 1],
    ['a share', { type: 'number', exclusiveMinimum: 0, exclusiveMaximum: 1 }, 0.5],
    ['a multiple', { type: 'integer', minimum: 100, multipleOf: 30 }, 120],
    ['an integer as zod describes it', { type: 'integer', minimum: -(2 ** 53) + 1 }, 42],
    ['one of several', { oneOf: [{ type: 'null' }, { type: 'string' }] }, null],
    ['members without a type', { properties: { a: { const: 1 } }, required: ['a'] }, { a: 1 }],
    [
      'other members',
      { type: 'object', additionalProperties: {}, required: ['a'] },
      { a: 'Paris' },
    ],
    [
      'a tuple',
      { type: 'array', prefixItems: [{ type: 'integer' }, { type: 'null' }], minItems: 2 },
      [42, null],
    ],
    [
      'several items',
      { type: 'array', items: { type: 'boolean' }, minItems: 3 },
      [true, true, true],
    ],
    [
      'a definition beside its use',
      { $ref: '#/$defs/a', title: 'A', $defs: { a: { const: 1 } } },
      1,
    ],
    ['a reference to another document', { $ref: 'https://example.com/a.json' }, 'Paris'],
    ['a look-around that may be left out', { type: 'string', pattern: '^(?!x)a+$' }, 'a'],
  ])('satisfies %s', (_what, schema, value) => {
    expect(sampleOf(schema as Record<string, unknown>)).toEqual(value);
  });

  it.each<[string, object, unknown]>([
    [
      'limits of a number',
      { type: 'integer', description: 'Stars.\n\n{minimum: 1, maximum: 5}' },
      1,
    ],
    ['limits of a share', { type: 'number', description: 'exclusive minimum: 0; maximum: 1.' }, 1],
    [
      'limits of a text',
      { type: 'string', description: '{minLength: 7, format: "color"}' },
      'Parisxx',
    ],
    [
      'limits of a list',
      { type: 'array', items: { type: 'null' }, description: 'min items: 2.' },
      [null, null],
    ],
    [
      'limits of a list without items',
      { type: 'array', items: { type: 'null' }, description: '{maxItems: 0}' },
      [],
    ],
    ['a list of values', { type: 'string', description: 'Which\n\n{enum: ["a, b", "c"]}' }, 'a, b'],
    ['one value', { type: 'string', description: '{const: "{x: 1}"}' }, '{x: 1}'],
    ['a pattern', { type: 'string', description: '{pattern: "^\\\\d+$", title: "A"}' }, '0'],
    ['a pattern without a sample', { type: 'string', description: '{pattern: "(?=b)a"}' }, 'Paris'],
    ['limits that are not JSON', { type: 'integer', description: '{minimum: x}' }, 42],
    [
      'limits that contradict each other',
      { type: 'integer', description: '{minimum: 5, maximum: 1}' },
      42,
    ],
  ])(
    'satisfies limits in a description, if they are readable and can be satisfied: %s',
    (_what, schema, value) => {
      expect(sampleOf(schema as Record<string, unknown>)).toEqual(value);
    },
  );

  it.each(['^(?=.*\\d)(?=.*[a-z]).{8}$', '^(a)\\1$', '[', '(((a{999}){999}){999}){999}b'])(
    'ignores the pattern %s, which it cannot satisfy',
    (pattern) => {
      expect(sampleOf({ type: 'string', pattern })).toBe('Paris');
    },
  );
});
