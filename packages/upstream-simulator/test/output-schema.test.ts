/** Schemas for structured outputs: refusals with their texts, and accepted schemas. */

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startUpstreamSimulator } from '../src/index.js';
import type { UpstreamSimulator } from '../src/index.js';
import { answerTo, asking, refusalOf } from './format-requests.js';

let simulator: UpstreamSimulator;
beforeAll(async () => {
  simulator = await startUpstreamSimulator({ apiKey: 'sim' });
});
afterAll(() => simulator.close());

const member = (schema: object) => ({
  type: 'object',
  properties: { a: schema },
  required: ['a'],
  additionalProperties: false,
});
const closed = { type: 'object', additionalProperties: false };
const members = (count: number, schema: object) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`m${String(index)}`, schema]));

describe('a schema that the API refuses', () => {
  it.each<[object, string]>([
    [
      { type: 'object' },
      "For 'object' type, 'additionalProperties' must be explicitly set to false",
    ],
    [
      member({ type: 'object', additionalProperties: true }),
      "For 'object' type, 'additionalProperties: true' is not supported. Please set 'additionalProperties' to false",
    ],
    [
      { type: 'array', items: { type: ['object', 'null'], additionalProperties: {} } },
      "For 'object' type, 'additionalProperties: object' is not supported. Please set 'additionalProperties' to false",
    ],
    [
      { ...closed, propertyNames: {} },
      "For 'object' type, property 'propertyNames' is not supported",
    ],
    [
      member({ type: 'number', minimum: 0, maximum: 1 }),
      "For 'number' type, properties maximum, minimum are not supported",
    ],
    [
      member({ type: 'integer', exclusiveMinimum: 0 }),
      "For 'integer' type, property 'exclusiveMinimum' is not supported",
    ],
    [
      { type: 'array', items: { type: 'null' }, maxItems: 3 },
      "For 'array' type, property 'maxItems' is not supported",
    ],
    [
      { type: 'array', minItems: 2, maxItems: 5 },
      "For 'array' type, 'minItems' values other than 0 or 1 are not supported (got: [2, 5])",
    ],
    [
      { type: 'array', minItems: 6 },
      "For 'array' type, 'minItems' values other than 0 or 1 are not supported (got: [6, ∞])",
    ],
    [
      { type: 'array', items: [{ type: 'null' }] },
      "Invalid schema: Array types must be specified with a single object schema for 'items'.",
    ],
    [member({ oneOf: [{ type: 'null' }] }), "Schema type 'oneOf' is not supported"],
    [member({ type: 'null', not: {} }), "Schema keyword 'not' is not supported"],
    [{ anyOf: [{ type: 'null' }], type: 'null' }, "For 'anyOf', 'type' is not supported"],
    [
      { ...closed, allOf: [{ type: 'null' }], required: [] },
      "For 'anyOf', 'additionalProperties, required, type' is not supported",
    ],
    [
      { allOf: [{ $ref: '#/$defs/a' }], $defs: { a: { type: 'null' } } },
      "For 'allOf', '$ref' is not supported",
    ],
    [member({ type: 'date' }), "Schema type 'date' is not supported"],
    [{}, 'Empty schema ({}) that accepts any JSON value is not supported.'],
    [
      { anyOf: [{ title: 'Any', default: null }, { type: 'null' }] },
      'Empty schema ({}) that accepts any JSON value is not supported.',
    ],
    [{ properties: {} }, 'Invalid schema: Schema type is missing'],
    [member({ enum: [] }), 'Invalid schema: Enum must be a non-empty array'],
    [
      member({ type: ['string', 'null'], enum: ['low', null] }),
      "Invalid schema: Enum value 'low' does not match declared type '['string', 'null']'",
    ],
    [
      member({ type: 'string', enum: ['low', null] }),
      "Invalid schema: Enum value None does not match declared type 'string'",
    ],
    [{ enum: [{}] }, 'Invalid schema: Enum values must be strings, numbers, booleans or null'],
    [
      member({ type: 'string', pattern: '^(?=.*\\d).+$' }),
      'Invalid regex in pattern field: ^(?=.*\\d).+$',
    ],
    [{ type: 'string', pattern: '(a)\\1' }, 'Invalid regex in pattern field: (a)\\1'],
    [{ type: 'string', pattern: '[' }, 'Invalid regex in pattern field: ['],
    [
      { $ref: 'https://example.com/a.json' },
      'Invalid schema: External $ref is not supported: https://example.com/a.json',
    ],
    [
      { $ref: '#/$defs/none' },
      'Invalid schema: Reference to non-existent definition: #/$defs/none',
    ],
    [
      { type: 'null', $defs: { Node: member({ type: 'array', items: { $ref: '#/$defs/Node' } }) } },
      'Circular reference detected in schema definitions: Node -> Node. Self-referencing or mutually-referencing definitions are not supported.',
    ],
    [
      {
        $ref: '#/$defs/A',
        $defs: { A: member({ $ref: '#/$defs/B' }), B: member({ $ref: '#/$defs/A' }) },
      },
      'Circular reference detected in schema definitions: A -> B -> A. Self-referencing or mutually-referencing definitions are not supported.',
    ],
  ])('is %j', async (schema, message) => {
    expect(await refusalOf(simulator, asking(schema))).toBe(
      `output_config.format.schema: ${message}`,
    );
  });

  it('has more than 24 optional members, including those of definitions, or more than 16 unions', async () => {
    const optional = (count: number) => ({
      ...closed,
      properties: members(count, { type: 'null' }),
    });
    await answerTo(simulator, asking({ ...optional(12), $defs: { more: optional(12) } }));
    expect(
      await refusalOf(simulator, asking({ ...optional(12), $defs: { more: optional(13) } })),
    ).toMatch(/^Schemas contains too many optional parameters \(25\), .* \(limit: 24\)\.$/);
    const unions = (count: number) => {
      const properties = members(count, { type: ['string', 'null'] });
      return { ...closed, properties, required: Object.keys(properties) };
    };
    await answerTo(simulator, asking(unions(16)));
    expect(await refusalOf(simulator, asking(unions(17)))).toMatch(
      /^Schemas contains too many parameters with union types \(17 .* \(limit: 16 .*\)\.$/,
    );
  });

  it('is too large once its definitions are written out', async () => {
    const $defs = Object.fromEntries(
      Array.from({ length: 20 }, (_, level) => {
        const next = { $ref: `#/$defs/l${String(level + 1)}` };
        const both = { ...closed, properties: { a: next, b: next }, required: ['a', 'b'] };
        return [`l${String(level)}`, level === 19 ? { type: 'null' } : both];
      }),
    );
    expect(await refusalOf(simulator, asking({ $ref: '#/$defs/l0', $defs }))).toMatch(
      /^Schema is too complex for compilation\./,
    );
  });
});

/** Keywords that the documentation lists as supported, or that no published refusal mentions. */
describe('a schema that the API accepts', () => {
  it.each<[object, unknown]>([
    [{ type: ['integer', 'null'], title: 'A', description: 'B', default: 1 }, 42],
    [{ anyOf: [{ const: 'a' }, { type: 'null' }], title: 'A', default: null }, 'a'],
    [{ allOf: [{ type: 'boolean' }] }, true],
    [{ type: 'string', minLength: 7, maxLength: 9 }, 'Parisxx'],
    [{ type: 'string', pattern: '^[A-Z]{2}\\\\b$' }, 'AA\\b'],
    [{ type: 'string', format: 'color', 'x-note': 'unknown' }, 'Paris'],
    [{ type: 'number', enum: [1, 2.5] }, 1],
    [{ $ref: '#/definitions/a', definitions: { a: { type: 'null' } } }, null],
    [{ ...closed, properties: { not: { type: 'null' } }, required: ['not'] }, { not: null }],
  ])('is %j', async (schema, value) => {
    const { content } = await answerTo(simulator, asking(schema));
    expect(JSON.parse(content[0].text)).toEqual(value);
  });
});
