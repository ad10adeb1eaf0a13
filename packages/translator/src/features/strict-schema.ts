/**
 * Rewrites a JSON schema so that the upstream can guarantee it, as `output_config.format` or for a
 * strict tool.
 *
 * The upstream guarantees types, members, enumerations, unions, definitions and some formats and
 * patterns, and refuses other keywords. A constraint that it refuses goes into the description,
 * where the model reads it; beside `enum` or `$ref` it is left out. Every object is closed: it
 * allows no other members. A schema whose meaning cannot be kept is not accepted: members of any
 * name, tuples, definitions that contain themselves, and schemas that allow any value.
 * https://platform.claude.com/docs/en/build-with-claude/structured-outputs
 */

import { isJsonObject, type JsonObject, objectOf, objectsOf, stringOf } from '../wire/raw-json.js';
import { definition } from '../reading/schema-definition.js';
import type { StrictSchema } from '../reading/strict-schema-reading.js';

class UnacceptableSchema extends Error {
  readonly path: string;

  constructor(path: string, complaint: string) {
    super(complaint);
    this.path = path;
  }
}

const NO_DEFINITION = 'refers to a definition that is missing';
const TYPES = /^(object|array|string|integer|number|boolean|null)$/;
/** Keywords that are sent as they are. */
const KEPT = /^(type|title|description|default|enum|const|required)$/;
/** Keywords that are rewritten below, or that do not constrain the value. */
const HANDLED =
  /^(properties|items|anyOf|oneOf|allOf|\$ref|\$defs|definitions|additionalProperties|unevaluatedProperties|discriminator|nullable|examples?|\$schema|\$id|\$comment|deprecated|readOnly|writeOnly|contentMediaType)$/;
const FORMATS = /^(date-time|time|date|duration|email|hostname|uri|ipv4|ipv6|uuid)$/;
/** Look-around, named groups, back-references and word boundaries are refused. */
const REFUSED_IN_PATTERN = /\(\?[^:]|\\[1-9bBk]/;
/** Keywords that decide which members an object may have. */
const SHAPE = ['properties', 'required', 'additionalProperties', 'type'];

export type SchemaReading =
  | {
      readonly outcome: 'accepted';
      readonly schema: StrictSchema;
      /** Whether constraints were moved to descriptions. */
      readonly isLoosened: boolean;
      /** How many members are not required, and how many are unions. */
      readonly optional: number;
      readonly unions: number;
    }
  /** A sentence about the schema, such as `schema.properties.a is a tuple`. */
  | { readonly outcome: 'unacceptable'; readonly complaint: string };

/** Does not throw on any schema of at most 200 levels, and does not change it. */
export function strictSchema(root: JsonObject): SchemaReading {
  const definitions: Record<string, unknown> = {};
  /**
   * Definitions that are being rewritten. A definition that is reached again while it is open
   * contains itself.
   */
  const open = new Set<string>();
  let isLoosened = false;
  let optional = 0;
  let unions = 0;

  function rewritten(value: unknown, path: string): JsonObject {
    const schema = isJsonObject(value) ? withoutAllOf(value, path) : {};
    const { $ref, type } = schema;
    if ($ref !== undefined) return reference($ref, path);
    const branches = schema['anyOf'] ?? schema['oneOf'];
    if (branches !== undefined) return union(schema, branches, path);

    const types = Array.isArray(type) ? type : [type ?? impliedType(schema)];
    const result: Record<string, unknown> = {};
    const described: string[] = [];
    for (const [name, constraint] of Object.entries(schema)) {
      if (KEPT.test(name) || isGuaranteed(name, constraint)) result[name] = constraint;
      else if (!HANDLED.test(name)) described.push(`${name}: ${JSON.stringify(constraint)}`);
    }
    if (type === undefined && types[0]) result['type'] = types[0];
    const { enum: values } = schema;
    if (values === undefined && schema['const'] === undefined && !types[0]) {
      throw new UnacceptableSchema(path, 'allows values of any type');
    }
    if (types.some((each) => each !== undefined && !TYPES.test(stringOf(each)))) {
      throw new UnacceptableSchema(path, 'has an unknown type');
    }
    if (values !== undefined) {
      if (listOf(values).length === 0 || listOf(values).some((each) => isObject(each))) {
        throw new UnacceptableSchema(path, 'has an empty enum, or objects in it');
      }
      // The upstream refuses values that do not have the one declared type.
      delete result['type'];
      return result;
    }
    if (types.includes('array')) Object.assign(result, arrayMembers(schema, path));
    if (types.includes('object')) Object.assign(result, objectMembers(schema, path));
    if (described.length > 0) {
      isLoosened = true;
      const text = `{${described.join(', ')}}`;
      result['description'] = [stringOf(schema['description']), text].filter(Boolean).join('\n\n');
    }
    return result;
  }

  function reference(name: unknown, path: string): JsonObject {
    const target = definition(root, name);
    const key = stringOf(name).split('/').at(-1) ?? '';
    if (!target || open.has(key)) {
      throw new UnacceptableSchema(path, target ? 'contains itself' : NO_DEFINITION);
    }
    if (!Object.hasOwn(definitions, key)) {
      open.add(key);
      const schema = rewritten(target, `.${stringOf(name).slice(2).replaceAll('/', '.')}`);
      open.delete(key);
      definitions[key] = schema;
    }
    return { $ref: `#/$defs/${key}` };
  }

  /** The upstream accepts no constraints beside `anyOf`, so they are copied into each case. */
  function union(schema: JsonObject, branches: unknown, path: string): JsonObject {
    const { anyOf: _any, oneOf: _one, title, description, ...shared } = schema;
    if (!Array.isArray(branches) || branches.length === 0) {
      throw new UnacceptableSchema(path, 'has a union without cases');
    }
    const constraints = Object.entries(shared).filter(
      ([name]) => SHAPE.includes(name) || !HANDLED.test(name),
    );
    const own = Object.fromEntries(constraints.filter(([name]) => name !== 'default'));
    const hasOwn = Object.keys(own).length > 0;
    return {
      ...(typeof title === 'string' && { title }),
      ...(typeof description === 'string' && { description }),
      anyOf: branches.map((branch: unknown, index) =>
        rewritten(hasOwn ? { allOf: [own, branch] } : branch, `${path}.anyOf[${index}]`),
      ),
    };
  }

  /** Joins the parts of `allOf`, with the definitions that they refer to, to one schema. */
  function withoutAllOf(schema: JsonObject, path: string, depth = 0): JsonObject {
    const { allOf, ...rest } = schema;
    if (allOf === undefined) return schema;
    if (depth > 20) throw new UnacceptableSchema(path, 'contains itself');
    let joined: JsonObject = rest;
    for (const part of objectsOf(allOf)) {
      const target = part['$ref'] === undefined ? part : definition(root, part['$ref']);
      if (!target) throw new UnacceptableSchema(path, NO_DEFINITION);
      joined = joinedSchemas(joined, withoutAllOf(target, path, depth + 1), path);
    }
    return joined;
  }

  function arrayMembers({ items, minItems }: JsonObject, path: string): JsonObject {
    if (Array.isArray(items)) throw new UnacceptableSchema(path, 'is a tuple');
    return {
      ...(items !== undefined && { items: rewritten(items, `${path}.items`) }),
      ...((minItems === 0 || minItems === 1) && { minItems }),
    };
  }

  function objectMembers(schema: JsonObject, path: string): JsonObject {
    const { additionalProperties: others = schema['unevaluatedProperties'] } = schema;
    const properties = objectOf(schema['properties']);
    const names = Object.keys(properties);
    const isOpen = others !== false && (names.length === 0 || isJsonObject(others));
    if (isOpen || schema['patternProperties'] !== undefined) {
      throw new UnacceptableSchema(path, 'allows members of any name');
    }
    const required = listOf(schema['required']);
    if (!required.every((name) => names.some((known) => known === name))) {
      throw new UnacceptableSchema(path, 'requires a member that it does not describe');
    }
    const members = names.map((name) => {
      const member = rewritten(properties[name], `${path}.properties.${name.slice(0, 64)}`);
      if (!required.includes(name)) optional += 1;
      if (Array.isArray(member['type']) || member['anyOf']) unions += 1;
      return [name, member];
    });
    return { properties: Object.fromEntries(members), additionalProperties: false };
  }

  try {
    const schema = rewritten(root, '');
    const defs = Object.keys(definitions).length > 0 ? { $defs: definitions } : {};
    return { outcome: 'accepted', schema: { ...schema, ...defs }, isLoosened, optional, unions };
  } catch (error) {
    if (!(error instanceof UnacceptableSchema)) throw error;
    return { outcome: 'unacceptable', complaint: `schema${error.path} ${error.message}` };
  }
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null;
}

function impliedType(schema: JsonObject): string | undefined {
  if (schema['properties'] !== undefined) return 'object';
  return schema['items'] === undefined ? undefined : 'array';
}

/** Whether the upstream takes a keyword with some of its values, and takes this value. */
function isGuaranteed(name: string, value: unknown): boolean {
  switch (name) {
    case 'format':
      return FORMATS.test(stringOf(value));
    case 'pattern':
      return !REFUSED_IN_PATTERN.test(stringOf(value).replaceAll('\\\\', ''));
    case 'minItems':
      return value === 0 || value === 1;
    default:
      return false;
  }
}

/** One schema with the constraints of both. */
function joinedSchemas(a: JsonObject, b: JsonObject, path: string): JsonObject {
  const joined: Record<string, unknown> = { ...a };
  for (const [name, value] of Object.entries(b)) {
    const other = joined[name];
    if (other === undefined || JSON.stringify(other) === JSON.stringify(value)) {
      joined[name] = value;
    } else if (name === 'properties') {
      const members = { ...objectOf(other) };
      for (const [member, schema] of Object.entries(objectOf(value))) {
        const earlier = members[member];
        members[member] = earlier === undefined ? schema : { allOf: [earlier, schema] };
      }
      joined[name] = members;
    } else if (name === 'required') {
      joined[name] = [...new Set([...listOf(other), ...listOf(value)])];
    } else if (name === 'additionalProperties') {
      joined[name] = other === false || value === false ? false : value;
    } else if (name !== 'title' && name !== 'description' && !name.startsWith('$')) {
      throw new UnacceptableSchema(path, `gives two values for ${name}`);
    }
  }
  return joined;
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
