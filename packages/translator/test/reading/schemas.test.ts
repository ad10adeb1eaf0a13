/** Schemas that a simple translation would take too long for, or would change in meaning. */

import { describe, expect, it } from '@jest/globals';
import { nativeSchemas, translateRequest, type ModelTraits } from '../../src/index.js';

const TRAITS: ModelTraits = {
  sampling: 'accepted',
  forcedToolChoice: 'accepted',
  effort: [],
  thinkingOff: 'omit',
  structuredOutputs: 'accepted',
};

interface Tool {
  readonly name: string;
  readonly strict?: boolean;
  readonly input_schema: object;
}

interface Body {
  readonly tools: readonly Tool[];
  readonly output_config: { readonly format: { readonly schema: object } };
}

function translate(fields: object) {
  const chat = { model: 'm', messages: [{ role: 'user', content: 'Hi' }], ...fields };
  const options = { model: 'm', traits: TRAITS, maxOutputTokens: 8192, jsonSchema: nativeSchemas };
  const result = translateRequest(chat, options);
  if (result.outcome === 'refused') return { refusal: result.problem.message, notes: [] };
  return { body: JSON.parse(result.body) as Body, notes: result.notes };
}

const translateTool = (parameters: object, strict = true) =>
  translate({ tools: [{ type: 'function', function: { name: 'f', strict, parameters } }] });

function translateFormat(schema: object) {
  const json_schema = { name: 'x', strict: true, schema };
  return translate({ response_format: { type: 'json_schema', json_schema } });
}

const formatOf = (schema: object) => translateFormat(schema).body?.output_config.format.schema;

const object = (properties: object) => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
});

const ref = (name: string | number) => ({ $ref: `#/$defs/${name}` });

/** A schema with a chain of definitions, each of which refers to the next. */
function chained(length: number, definition: (next: object) => object) {
  const numbers = Array.from({ length }, (_, index) => index);
  const last = object({ z: { type: 'string' } });
  const defs = numbers.map((at) => [at, at + 1 < length ? definition(ref(at + 1)) : last]);
  return { allOf: [ref(0)], $defs: Object.fromEntries(defs) };
}

const twice = (next: object) => ({ allOf: [next, next] });
const twoMembers = (next: object) => object({ a: { allOf: [next] }, b: { allOf: [next] } });
const parts = Array.from({ length: 2600 }, (_, at) => object({ [`p${at}`]: { type: 'string' } }));

describe('a schema whose work would grow faster than its text', () => {
  it.each([
    ['definitions that refer to the next one twice', chained(30, twice)],
    ['2,600 parts', { allOf: parts }],
    ['2,600 cases', { anyOf: parts }],
    ['9,000 definitions in a row', chained(9000, (next) => ({ allOf: [next] }))],
    [
      'text that is repeated by each of its cases',
      {
        anyOf: Array.from({ length: 1000 }, () => ({ allOf: [ref('d')] })),
        $defs: { d: object({ a: { description: 'a'.repeat(100_000) } }) },
      },
    ],
  ])('is refused at the root of a tool: %s', (_, schema) => {
    expect(translateTool(schema, false).refusal).toContain('is too complex');
  });

  it.each([
    ['members that refer to the next definition twice', chained(30, twoMembers)],
    ['2,600 parts', { allOf: parts }],
    ['2,600 cases', { anyOf: parts }],
    ['9,000 members in a row', chained(9000, (next) => object({ a: next }))],
    [
      'text that is repeated by each of its members',
      {
        ...object(Object.fromEntries(parts.map((_part, at) => [at, { allOf: [ref('d')] }]))),
        $defs: { d: { type: 'string', description: 'a'.repeat(100_000) } },
      },
    ],
  ])('is refused as a strict format: %s', (_, schema) => {
    expect(translateFormat(schema).refusal).toMatch(/is too (complex|deep)$/);
  });

  it('is accepted as a strict format if each definition has to be read only once', () => {
    expect(formatOf(chained(30, twice))).toEqual({
      ...object({ z: { type: 'string' } }),
      additionalProperties: false,
    });
  });

  it('shares its limit with the other tools of the request', () => {
    const parameters = { anyOf: parts.slice(0, 600) };
    const tool = (at: number) => ({ type: 'function', function: { name: `f${at}`, parameters } });
    expect(translate({ tools: [tool(0)] }).body?.tools).toHaveLength(1);
    const { refusal } = translate({ tools: Array.from({ length: 9 }, (_, at) => tool(at)) });
    expect(refusal).toMatch(/tools\[[1-8]\].*is too complex/);
  });
});

describe('a schema that contains itself', () => {
  const nodes = [
    ['allOf', object({ parent: { allOf: [ref('Node')], description: 'p' } })],
    ['anyOf', object({ parent: { type: 'object', anyOf: [ref('Node')], description: 'p' } })],
  ] as const;
  it.each(nodes)('through %s is refused as a strict format', (_, node) => {
    const $defs = { Node: node };
    for (const schema of [ref('Node'), object({ a: ref('Node') }), { allOf: [ref('Node')] }]) {
      expect(translateFormat({ ...schema, $defs }).refusal).toContain('contains itself');
    }
  });

  it.each(nodes)('through %s is sent with a plain tool', (_, node) => {
    const { body, notes } = translateTool({ ...object({ a: ref('Node') }), $defs: { Node: node } });
    expect(body?.tools[0]?.strict).toBeUndefined();
    expect(notes[0]?.detail).toContain('contains itself');
  });

  it('is not found where a definition is joined with members that refer to that definition', () => {
    const base = object({ id: { type: 'string' } });
    const schema = formatOf({
      allOf: [ref('Base'), object({ parent: ref('Base'), other: { allOf: [ref('Base')] } })],
      $defs: { Base: base },
    });
    const closed = { ...base, additionalProperties: false };
    expect(schema).toEqual({
      ...object({ id: { type: 'string' }, parent: ref('Base'), other: closed }),
      additionalProperties: false,
      $defs: { Base: closed },
    });
  });
});

describe('a strict schema', () => {
  it.each([
    ['a tuple', { type: 'array', prefixItems: [{ type: 'string' }], minItems: 1, maxItems: 1 }],
    ['a list of any values', { type: 'array' }],
  ])('is refused if it has %s', (_, a) => {
    expect(translateFormat(object({ a })).refusal).toContain('cannot be guaranteed');
  });

  it('keeps the members beside a reference', () => {
    const schema = { ...ref('A'), ...object({ b: { type: 'null' } }) };
    expect(formatOf({ ...schema, $defs: { A: object({ a: { type: 'string' } }) } })).toMatchObject(
      object({ b: { type: 'null' }, a: { type: 'string' } }),
    );
  });

  it('keeps both of two unions, and the items beside a union', () => {
    const one = object({ a: { type: 'string' } });
    const two = object({ b: { type: 'string' } });
    const joined = { ...object({ a: { type: 'string' }, b: { type: 'string' } }) };
    const both = { ...joined, required: expect.arrayContaining(['a', 'b']) as unknown };
    expect(formatOf({ anyOf: [one], oneOf: [two] })).toMatchObject({ anyOf: [{ anyOf: [both] }] });
    const list = { type: 'array', items: { type: 'string' }, anyOf: [{ minItems: 1 }] };
    expect(formatOf(object({ list }))).toMatchObject({
      properties: { list: { anyOf: [{ type: 'array', items: { type: 'string' }, minItems: 1 }] } },
    });
  });

  it('sends two definitions of one name under two names, and odd names so that they resolve', () => {
    const schema = formatOf({
      ...object({ a: ref('A'), b: { $ref: '#/definitions/A' }, c: ref('a~1b') }),
      $defs: { A: { type: 'string' }, 'a/b': { type: 'null' } },
      definitions: { A: { type: 'integer' } },
    });
    expect(schema).toMatchObject({
      properties: { a: ref('A'), b: ref('A_1'), c: ref('a_1b') },
      $defs: { A: { type: 'string' }, A_1: { type: 'integer' }, a_1b: { type: 'null' } },
    });
  });
});

describe('strict tools', () => {
  it('are sent as plain ones, with a note, after the first 20', () => {
    const parameters = object({ a: { type: 'string' } });
    const tools = Array.from({ length: 25 }, (_, at) => ({
      type: 'function',
      function: { name: `f${at}`, strict: true, parameters },
    }));
    const { body, notes } = translate({ tools });
    expect(body?.tools.filter(({ strict }) => strict === true)).toHaveLength(20);
    expect(body?.tools).toHaveLength(25);
    const dropped = { reason: 'dropped', detail: 'there are more than 20 strict tools' };
    expect(notes).toHaveLength(5);
    expect(notes[0]).toEqual({ path: 'tools[20].function.strict', ...dropped });
  });
});
