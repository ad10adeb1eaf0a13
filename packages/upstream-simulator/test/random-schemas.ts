/** Random JSON Schemas, almost all of a kind that the API accepts for structured outputs. */

import fc from 'fast-check';

export const FORMATS = [
  'date-time',
  'date',
  'time',
  'duration',
  'email',
  'hostname',
  'uri',
  'ipv4',
  'ipv6',
  'uuid',
];

const PATTERNS = [
  '^[A-Z]{3}-\\d+$',
  'colou?r',
  '^(?:cat|dog)s?$',
  '^\\w+@\\w+\\.com$',
  '^$',
  '^.{5}$',
  '[^a-zA-Z0-9]',
  '^#[0-9a-f]{6}$',
  '\\s\\S',
  '^(?<year>\\d{4})(-\\d{2}){2}$',
  '^[\\]\\-x]$',
  '^(a|(b|c){2}|)+d$',
  '^\\u0041\\x42\\p{Lu}[À-Ö]$',
  '\\d{2,}?',
  '^[^\\d\\s]$',
  '^\\$\\{.*\\}$',
];

const type = fc.constantFrom('string', 'number', 'integer', 'boolean', 'null');
const literal = fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.constant(null));
const name = fc.string({ maxLength: 6 }).filter((text) => text !== '__proto__');

const simple: fc.Arbitrary<object> = fc.oneof(
  type.map((only) => ({ type: only })),
  fc
    .uniqueArray(fc.constantFrom('null', 'string', 'integer', 'boolean'), { minLength: 1 })
    .map((several) => ({ type: several })),
  fc.constantFrom(...FORMATS).map((format) => ({ type: 'string', format })),
  fc.constantFrom(...PATTERNS).map((pattern) => ({ type: 'string', pattern })),
  fc.uniqueArray(literal, { minLength: 1 }).map((values) => ({ enum: values })),
  fc.uniqueArray(fc.string(), { minLength: 1 }).map((values) => ({ type: 'string', enum: values })),
  literal.map((value) => ({ const: value })),
);

const leaf = fc.oneof(
  simple,
  // `{ type: first }` often contradicts `second`, the only alternative of the second `anyOf`.
  fc.tuple(type, simple).map(([first, second]) => ({
    allOf: [{ anyOf: [{ type: first }, second] }, { anyOf: [second] }],
  })),
);

/** @param references - Schemas that refer to others, such as `{ $ref: '#/$defs/a' }`. */
export function schemasWith(references: readonly object[]): fc.Arbitrary<object> {
  const smallest = references.length === 0 ? leaf : fc.oneof(leaf, fc.constantFrom(...references));
  return around(around(around(smallest)));
}

/** Schemas as given, or within objects, arrays and alternatives. */
function around(inner: fc.Arbitrary<object>): fc.Arbitrary<object> {
  return fc.oneof(
    inner,
    fc
      .dictionary(name, fc.tuple(inner, fc.boolean()), { maxKeys: 4 })
      .map((members) => closedObject(Object.entries(members))),
    fc
      .record({ items: inner, minItems: fc.constantFrom(0, 1) })
      .map((array) => ({ type: 'array', ...array })),
    fc.array(inner, { minLength: 1, maxLength: 3 }).map((anyOf) => ({ anyOf })),
    inner.map((only) => ({ allOf: [only] })),
  );
}

export function closedObject(
  members: readonly (readonly [name: string, member: readonly [object, boolean]])[],
): object {
  return {
    type: 'object',
    properties: Object.fromEntries(members.map(([key, [schema]]) => [key, schema])),
    required: members.filter(([, [, isRequired]]) => isRequired).map(([key]) => key),
    additionalProperties: false,
  };
}
