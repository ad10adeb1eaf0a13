/**
 * Makes the schema of a tool acceptable to the upstream, which requires an object at the root and
 * refuses `anyOf`, `oneOf` and `allOf` there.
 * https://platform.claude.com/docs/en/agents-and-tools/tool-use/implement-tool-use
 */

import { emptySchema } from '../../reading/empty-schema.js';
import type { Place } from '../../reading/place.js';
import { definition } from '../../reading/schema-definition.js';
import { type JsonObject, objectOf, objectsOf, parseJson, stringOf } from '../../wire/raw-json.js';
import type { InputSchema } from './native-request.js';

/** The constraints of a schema on an object. */
interface ObjectForm {
  /** The JSON text of each property's schema. */
  readonly properties: ReadonlyMap<string, string>;
  readonly required: ReadonlySet<unknown>;
}

const UNIONS = ['anyOf', 'oneOf'] as const;
const COMBINATIONS = [...UNIONS, 'allOf', '$ref'] as const;
/**
 * The most characters that may be joined for the tools of one request. Definitions can refer to
 * each other so that the text of a small schema doubles with each of them.
 */
const MAX_WORK = 1_000_000;
/** What each schema and each of its members counts, in characters. */
const SCHEMA_WORK = 500;
const MEMBER_WORK = 20;

/**
 * The client's schema, with its keys in order. A union or a combination at its root becomes one
 * object that allows every case: it has the properties of all cases, and requires those that every
 * case requires. The description then lists the cases. Refuses a schema whose root is of another
 * type, a union without a case for objects, a `$ref` without a definition, and a schema that is too
 * complex.
 */
export function inputSchema(parameters: Place | undefined): InputSchema {
  if (!parameters) return emptySchema();
  const type = parameters.object().at('type');
  if ((type.value ?? 'object') !== 'object') type.mustBe('"object"', 'invalid_value');
  const schema = objectOf(parameters.value);
  if (COMBINATIONS.some((name) => schema[name] !== undefined)) return flattened(parameters, schema);
  return Object.keys(schema).length > 0 ? { ...schema, type: 'object' } : emptySchema();
}

function flattened(parameters: Place, root: JsonObject): InputSchema {
  const { t } = parameters;
  const cases: string[] = [];

  function formOf(schema: JsonObject): ObjectForm {
    // Every element of these lists counts, because a definition is read again at each reference to
    // it.
    const required = listOf(schema['required']);
    const all = listOf(schema['allOf']);
    spend(SCHEMA_WORK + required.length + all.length);
    const members = Object.entries(objectOf(schema['properties']));
    const parts: ObjectForm[] = [
      {
        properties: new Map(members.map(([name, member]) => [name, JSON.stringify(member)])),
        required: new Set(required),
      },
    ];
    const { $ref } = schema;
    if ($ref !== undefined) {
      const target = definition(root, $ref);
      parts.push(formOf(target ?? parameters.refuse('its $ref must name a definition')));
    }
    for (const part of objectsOf(all)) parts.push(formOf(part));
    for (const name of UNIONS) {
      const branches = schema[name];
      if (branches === undefined) continue;
      spend(listOf(branches).length);
      const allowed = objectsOf(branches).filter(allowsObject).map(formOf);
      if (!allowed[0]) return parameters.at(name).refuse('must allow an object');
      parts.push(joined(allowed, 'anyOf'));
      cases.push(`Use one of these forms: ${allowed.map(shown).join(' or ')}.`);
    }
    return joined(parts, 'allOf');
  }

  /** The form of objects that satisfy all of the forms, or one of them. */
  function joined(parts: readonly ObjectForm[], keyword: 'allOf' | 'anyOf'): ObjectForm {
    const schemas = new Map<string, Set<string>>();
    const counts = new Map<unknown, number>();
    for (const { properties, required } of parts) {
      for (const [name, text] of properties) {
        spend(name.length + text.length + MEMBER_WORK);
        schemas.set(name, (schemas.get(name) ?? new Set()).add(text));
      }
      for (const name of required) {
        spend(stringOf(name).length + MEMBER_WORK);
        counts.set(name, (counts.get(name) ?? 0) + 1);
      }
    }
    const least = keyword === 'anyOf' ? parts.length : 1;
    return {
      properties: new Map(
        [...schemas].map(([name, texts]) => {
          const text = [...texts].join();
          return [name, texts.size > 1 ? `{"${keyword}":[${text}]}` : text];
        }),
      ),
      required: new Set([...counts.keys()].filter((name) => (counts.get(name) ?? 0) >= least)),
    };
  }

  function spend(work: number): void {
    t.schemaWork += work;
    if (t.schemaWork > MAX_WORK) parameters.refuse('is too complex or refers to itself');
  }

  const { properties, required } = formOf(root);
  parameters.note('rewritten', 'sent as one object');
  const { anyOf: _any, oneOf: _one, allOf: _all, $ref: _ref, ...rest } = root;
  const description = [stringOf(root['description']), ...cases].join('\n\n').trim();
  return {
    ...rest,
    type: 'object',
    ...(description && { description }),
    properties: Object.fromEntries(
      [...properties].map(([name, text]) => [name, JSON.parse(text) as unknown]),
    ),
    ...(required.size > 0 && { required: [...required] }),
  };
}

function allowsObject({ type }: JsonObject): boolean {
  return type === undefined || listOf(type).includes('object');
}

/** A form for the model: `{kind: "circle", radius, label?}`. */
function shown({ properties, required }: ObjectForm): string {
  const names = new Set([...properties.keys(), ...[...required].map(stringOf)]);
  const members = [...names].map((name) => {
    const { const: only } = objectOf(parseJson(properties.get(name) ?? ''));
    const value = only === undefined ? '' : `: ${JSON.stringify(only)}`;
    return `${name}${required.has(name) ? '' : '?'}${value}`;
  });
  return `{${members.join(', ')}}`;
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : value === undefined ? [] : [value];
}
