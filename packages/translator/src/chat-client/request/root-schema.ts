/**
 * Makes the schema of a tool acceptable to the upstream, which requires an object at the root and
 * refuses `anyOf`, `oneOf` and `allOf` there.
 * https://platform.claude.com/docs/en/agents-and-tools/tool-use/implement-tool-use
 */

import type { Place } from '../../reading/place.js';
import { definition } from '../../reading/schema-definition.js';
import { type JsonObject, objectOf, objectsOf, stringOf } from '../../wire/raw-json.js';
import type { InputSchema } from './native-request.js';

/** The constraints of a schema on an object. */
interface ObjectForm {
  readonly properties: Readonly<Record<string, unknown>>;
  readonly required: readonly unknown[];
}

const UNIONS = ['anyOf', 'oneOf'] as const;
const COMBINATIONS = [...UNIONS, 'allOf', '$ref'] as const;

/**
 * The client's schema, with its keys in order. A union or a combination at its root becomes one
 * object that allows every case: it has the properties of all cases, and requires those that every
 * case requires. The description then lists the cases. Refuses a schema that allows no object.
 */
export function inputSchema(parameters: Place | undefined): InputSchema {
  if (!parameters) return emptySchema();
  const type = parameters.object().at('type');
  if ((type.value ?? 'object') !== 'object') type.mustBe('"object"', 'invalid_value');
  const schema = objectOf(parameters.value);
  if (COMBINATIONS.some((name) => schema[name] !== undefined)) return flattened(parameters, schema);
  return Object.keys(schema).length > 0 ? { ...schema, type: 'object' } : emptySchema();
}

export function emptySchema(): InputSchema {
  return { type: 'object', properties: {} };
}

function flattened(parameters: Place, root: JsonObject): InputSchema {
  const cases: string[] = [];
  /** The current schema and those that contain it or refer to it. */
  const path: unknown[] = [];

  function formOf(schema: JsonObject): ObjectForm {
    let form: ObjectForm = {
      properties: objectOf(schema['properties']),
      required: listOf(schema['required']),
    };
    for (const part of [...refersTo(schema), ...objectsOf(schema['allOf'])]) {
      form = joined(form, partOf(part), false);
    }
    for (const name of UNIONS) {
      const branches = schema[name];
      if (branches === undefined) continue;
      const forms = objectsOf(branches).filter(allowsObject).map(partOf);
      const [first, ...others] = forms;
      if (!first) return parameters.at(name).refuse('must allow an object');
      cases.push(`Use one of these forms: ${forms.map(shown).join(' or ')}.`);
      const union = others.reduce((all, other) => joined(all, other, true), first);
      form = joined(form, union, false);
    }
    return form;
  }

  function partOf(schema: JsonObject): ObjectForm {
    path.push(schema);
    const form = formOf(schema);
    path.pop();
    return form;
  }

  /** The definition that a schema refers to, if any. */
  function refersTo({ $ref }: JsonObject): JsonObject[] {
    if ($ref === undefined) return [];
    const target = definition(root, $ref);
    if (!target || path.includes(target)) {
      return parameters.refuse('its $ref must name a non-recursive definition');
    }
    return [target];
  }

  const { properties, required } = formOf(root);
  parameters.note('rewritten', 'sent as one object');
  const { anyOf: _any, oneOf: _one, allOf: _all, $ref: _ref, ...rest } = root;
  const description = [stringOf(root['description']), ...cases].join('\n\n').trim();
  return {
    ...rest,
    type: 'object',
    ...(description && { description }),
    properties,
    ...(required[0] !== undefined && { required }),
  };
}

function allowsObject({ type }: JsonObject): boolean {
  return type === undefined || listOf(type).includes('object');
}

/** The form of objects that satisfy both, or one of the two. */
function joined(a: ObjectForm, b: ObjectForm, isUnion: boolean): ObjectForm {
  const properties = new Map(Object.entries(a.properties));
  for (const [name, schema] of Object.entries(b.properties)) {
    const other = properties.get(name);
    const isNew = other === undefined || JSON.stringify(other) === JSON.stringify(schema);
    properties.set(name, isNew ? schema : { [isUnion ? 'anyOf' : 'allOf']: [other, schema] });
  }
  return {
    properties: Object.fromEntries(properties),
    required: isUnion
      ? a.required.filter((name) => b.required.includes(name))
      : [...new Set([...a.required, ...b.required])],
  };
}

/** A form for the model: `{kind: "circle", radius, label?}`. */
function shown({ properties, required }: ObjectForm): string {
  const names = [...new Set([...Object.keys(properties), ...required.map(stringOf)])];
  const members = names.map((name) => {
    const { const: only } = objectOf(properties[name]);
    const value = only === undefined ? '' : `: ${JSON.stringify(only)}`;
    return `${name}${required.includes(name) ? '' : '?'}${value}`;
  });
  return `{${members.join(', ')}}`;
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : value === undefined ? [] : [value];
}
