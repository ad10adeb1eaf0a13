/** Schemas of tools and answers that OpenAI would refuse as a native client writes them. */

import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { translateMessagesRequest } from '../../src/reverse/index.js';
import { chatSchema } from '../../src/reverse/request/chat-schema.js';
import { traitsNamed } from './vectors.js';
import { runs } from '../../../../scripts/runs.cjs';

/** `TEST_RUNS=200000` looks for rarer cases. */
const RUNS = runs(__filename, 'schemas');

/** The parts of a translated body that come from the schemas of the tool `f` and of the answer. */
function translated(schema: string): {
  parameters: string;
  isStrict: boolean;
  answer: string;
  isStrictAnswer: boolean;
} {
  const body =
    `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"Hi"}],` +
    `"tools":[{"name":"f","strict":true,"input_schema":${schema}}],` +
    `"output_config":{"format":{"type":"json_schema","schema":${schema}}}}`;
  const result = translateMessagesRequest(body, { model: 'gpt-test', traits: traitsNamed() });
  if (result.outcome === 'refused') throw new Error(result.problem.message);
  const notes = result.notes.map(({ path, reason }) => `${path} ${reason}`);
  const isStrict = result.body.includes('"name":"f","strict":true');
  const isStrictAnswer = result.body.includes('"name":"answer","strict":true');
  expect(notes).toEqual([
    ...(isStrict ? [] : ['tools[0].strict dropped']),
    ...(isStrictAnswer ? [] : ['output_config.format.schema rewritten']),
  ]);
  const [, parameters = ''] = /"parameters":(.*)\}\}\],"messages"/.exec(result.body) ?? [];
  const [, answer = ''] = /"schema":(.*)\}\},"max_completion_tokens"/.exec(result.body) ?? [];
  return { parameters, isStrict, answer, isStrictAnswer };
}

describe('the schema of a tool or an answer', () => {
  // F327: a tool without arguments has a schema without `properties`, or an array has no `items`:
  // they are added, because OpenAI refuses the whole request without them.
  it.each([
    ['{"type":"object"}', '{"type":"object","properties":{}}'],
    [
      '{ "type": "object", "description": "{" }',
      '{ "type": "object", "description": "{" ,"properties":{}}',
    ],
    [
      '{"type":"object","properties":{"a":{"type":"array"},"b":{"type":["array","null"]}}}',
      '{"type":"object","properties":{"a":{"type":"array","items":{}},' +
        '"b":{"type":["array","null"],"items":{}}}}',
    ],
    [
      '{"type":"object","properties":{},"$defs":{"a":{"anyOf":[{"type":"array"},{"not":{"type":' +
        '"array"}}]}},"patternProperties":{"^a":{"items":{"type":"array"},"type":"array"}}}',
      '{"type":"object","properties":{},"$defs":{"a":{"anyOf":[{"type":"array","items":{}},{"not":' +
        '{"type":"array","items":{}}}]}},"patternProperties":{"^a":{"items":{"type":"array",' +
        '"items":{}},"type":"array"}}}',
    ],
  ])('gets what OpenAI requires: %s', (schema, sent) => {
    expect(translated(schema)).toMatchObject({ parameters: sent, answer: sent });
  });

  it.each([
    // Members that are called like keywords, and values that look like schemas.
    '{"type":"object","properties":{"type":{"const":"array"},"properties":{"type":"string"}}}',
    '{"type":"object","properties":{"a":{"enum":[{"type":"array"}],"default":{"type":"array"}}}}',
    '{"type":"object","properties":{"a":{"type":"object"}}, "examples":[{"type":"array"}]}',
    '{"properties":{"n":{"maximum":12345678901234567890.10}}, "type":"obj\\u0065ct"}',
    '{"type":"object","properties":{"a":{"type":"array","items":true}}}',
  ])('is otherwise sent as it is written: %s', (schema) => {
    expect(translated(schema)).toMatchObject({ parameters: schema, answer: schema });
  });

  it('gets the type of an object only if it describes arguments', () => {
    expect(translated('{}')).toMatchObject({
      parameters: '{"type":"object","properties":{}}',
      answer: '{}',
    });
    const list = {
      parameters: '{"type":"array","items":{}}',
      answer: '{"type":"array","items":{}}',
    };
    expect(translated('{"type":"array"}')).toMatchObject(list);
  });

  it('changes in nothing but these members, whatever it contains', () => {
    const keyword = fc.constantFrom(
      'type',
      'items',
      'properties',
      'anyOf',
      '$defs',
      'not',
      'enum',
      'const',
      'a"\\',
      'ä',
    );
    const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
      tree: fc.oneof(
        { depthSize: 'medium', withCrossShrink: true },
        fc.constantFrom('array', 'object', null, true, -1.5e300, ']}"\\'),
        fc.array(tie('tree'), { maxLength: 3 }),
        fc.dictionary(keyword, tie('tree'), { maxKeys: 5 }),
      ),
    }));
    const schema = fc.dictionary(keyword, tree, { maxKeys: 5 });
    fc.assert(
      fc.property(schema, fc.constantFrom(undefined, 1, '\t'), (value, space) => {
        const text = JSON.stringify(value, null, space);
        const sent = chatSchema(text, 'answer');
        expect(sent.replaceAll(/,?"(items|properties)":\{\}/g, '')).toBe(
          text.replaceAll(/,?"(items|properties)":\{\}/g, ''),
        );
        expect(chatSchema(sent, 'answer')).toBe(sent);
        expect(JSON.parse(sent)).toEqual(completed(value, true));
      }),
      { numRuns: RUNS },
    );
  });
});

describe('a strict schema', () => {
  const closed = (properties: object, more: object = {}): string =>
    JSON.stringify({
      type: 'object',
      properties,
      required: Object.keys(properties),
      additionalProperties: false,
      ...more,
    });
  const text = { type: 'string' };
  const members = (count: number, nameLength = 1): object =>
    Object.fromEntries(
      Array.from({ length: count }, (_, i) => [String(i).padStart(nameLength, 'm'), text]),
    );
  const values = (count: number, length: number): string[] =>
    Array.from({ length: count }, (_, i) => String(i).padStart(length, 'v'));
  const nested = (levels: number): string =>
    levels === 1 ? closed({ x: text }) : closed({ x: JSON.parse(nested(levels - 1)) as object });

  // F328: a schema has a keyword, a root or a size that OpenAI refuses in strict schemas: it is
  // sent as one that is not strict, with a note, and the request does not fail.
  it.each([
    closed({ x: { ...text, default: 'a' } }),
    closed({ x: { oneOf: [text] } }),
    closed({ x: text }, { oneOf: [] }),
    closed({ x: { anyOf: [text, { allOf: [text] }] } }),
    closed({ x: { type: 'array', items: { not: text, type: 'number' } } }),
    closed({ x: text }, { if: {}, then: {} }),
    closed({ x: text }, { patternProperties: {} }),
    closed({ x: text }, { $defs: { a: { ...text, minLength: 1 } } }),
    closed({ x: { ...text, format: 'uri' } }),
    closed({ x: { $ref: '#/$defs/a', description: 'A.' } }, { $defs: { a: text } }),
    // Without a type.
    closed({ x: {} }),
    closed({ x: true }),
    closed({ x: { enum: ['a'] } }),
    closed({ x: { type: 'array' } }),
    closed({ x: { type: 'array', items: [text] } }),
    closed({ x: { type: ['object', 'null'] } }),
    closed({ x: text }, { required: ['x', 'y'] }),
    // A root of another kind.
    closed({ x: text }, { anyOf: [{ type: 'object' }] }),
    closed({ x: text }, { type: ['object', 'null'] }),
    '{"$ref":"#/$defs/a","$defs":{"a":{"type":"string"}}}',
    '{"type":"array","items":{"type":"string"}}',
    '{"anyOf":[{"type":"string"}]}',
    '{}',
  ])('is not strict for OpenAI: %s', (schema) => {
    expect(translated(schema)).toMatchObject({ isStrict: false, isStrictAnswer: false });
  });

  // F328
  it('is not strict for OpenAI if it is larger than its limits', () => {
    const sizes: readonly (readonly [allowed: string, refused: string])[] = [
      [nested(10), nested(11)],
      [closed(members(5000)), closed(members(5001))],
      [closed(members(100, 1200)), closed(members(100, 1201))],
      [
        closed({ x: { ...text, enum: values(1000, 10) } }),
        closed({ x: { ...text, enum: values(500, 9) }, y: { ...text, enum: values(501, 9) } }),
      ],
      [
        closed({ x: { ...text, enum: values(250, 400) } }),
        closed({ x: { ...text, enum: values(251, 60) } }),
      ],
      [
        closed({ x: { ...text, const: 'c'.repeat(119_999) } }),
        closed({ x: { ...text, const: 'c'.repeat(120_000) } }),
      ],
    ];
    for (const [allowed, refused] of sizes) {
      expect(translated(allowed)).toMatchObject({ isStrict: true, isStrictAnswer: true });
      expect(translated(refused)).toMatchObject({ isStrict: false, isStrictAnswer: false });
    }
  });

  it.each([
    closed({}),
    '{"type":"object","additionalProperties":false}',
    closed({ default: text, oneOf: { type: ['integer', 'null'], minimum: 1 } }),
    closed({ x: { ...text, format: 'uuid', pattern: '^a' } }, { title: 'T', $schema: 'http://a' }),
    closed({ x: { anyOf: [{ type: 'null' }, { $ref: '#' }], description: 'X.' } }),
    closed(
      { x: { type: 'array', items: { $ref: '#/$defs/a' }, maxItems: 2 } },
      { $defs: { a: JSON.parse(closed({ kind: { ...text, const: 'a' } })) as object } },
    ),
  ])('stays strict: %s', (schema) => {
    expect(translated(schema)).toMatchObject({ isStrict: true, isStrictAnswer: true });
  });
});

/** The same rule, for values. */
function completed(value: unknown, isRoot = false): unknown {
  if (Array.isArray(value)) return value.map((item) => completed(item));
  if (typeof value !== 'object' || value === null) return value;
  const schema: Record<string, unknown> = {};
  for (const [name, member] of Object.entries(value)) {
    schema[name] = ['items', 'anyOf', 'not'].includes(name)
      ? completed(member)
      : ['properties', '$defs'].includes(name) && isObject(member)
        ? Object.fromEntries(Object.entries(member).map(([key, each]) => [key, completed(each)]))
        : member;
  }
  const { type } = schema;
  const isArray = type === 'array' || (Array.isArray(type) && type.includes('array'));
  if (isArray && !('items' in schema)) schema['items'] = {};
  if (isRoot && type === 'object' && !('properties' in schema)) schema['properties'] = {};
  return schema;
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
