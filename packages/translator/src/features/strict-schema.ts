/**
 * Rewrites a JSON schema so that the upstream can guarantee it, as `output_config.format` or for a
 * strict tool.
 *
 * The upstream guarantees types, members, enumerations, unions, definitions and some formats and
 * patterns, and refuses other keywords. A constraint that it refuses goes into the description,
 * where the model reads it; beside `enum`, or beside a `$ref` that is sent as such, it is left out.
 * Every object is closed: it allows no other members. A schema whose meaning cannot be kept is not
 * accepted: members of any name, tuples, definitions that contain themselves, and schemas that
 * allow any value. Neither is a schema that takes too much work: if each of a few definitions
 * refers to the next one twice within `allOf`, where references are replaced, the result doubles
 * with each of them.
 * https://platform.claude.com/docs/en/build-with-claude/structured-outputs
 */

import { append } from '../wire/lists.js';
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

/** Characters of a path in a complaint. */
const MAX_PATH = 300;
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
/**
 * Keywords that are joined with a union or a reference beside them, because a value must satisfy
 * both.
 */
const SHAPE =
  /^(properties|required|additionalProperties|unevaluatedProperties|items|anyOf|oneOf)$/;
/**
 * How deep schemas may be nested, after `joined` has replaced references by their definitions. A
 * definition that is sent under `$defs` counts as nested in the schema that first refers to it.
 */
const MAX_DEPTH = 200;
/** What each schema takes from the {@link WorkLimit}, whatever its length. */
const SCHEMA_WORK = 200;

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

/** The work that the schemas of one request may still take, in characters of JSON text. */
export interface WorkLimit {
  left: number;
}

/**
 * Leaves `root` as it is. Throws nothing if `root` has at most 200 levels; the readers of requests
 * refuse deeper bodies before.
 */
export function strictSchema(root: JsonObject, limit: WorkLimit): SchemaReading {
  return new SchemaRewriter(root, limit).read();
}

class SchemaRewriter {
  readonly #root: JsonObject;
  readonly #limit: WorkLimit;
  readonly #definitions = new Map<string, JsonObject>();
  /** The name under which each definition is sent. */
  readonly #names = new Map<JsonObject, string>();
  /**
   * Definitions that are being rewritten. A definition that is reached again while it is open
   * contains itself.
   */
  readonly #open = new Set<JsonObject>();
  #depth = 0;
  #isLoosened = false;
  #optional = 0;
  #unions = 0;

  constructor(root: JsonObject, limit: WorkLimit) {
    this.#root = root;
    this.#limit = limit;
  }

  read(): SchemaReading {
    try {
      const schema = this.#rewritten(this.#root, '');
      const defs =
        this.#definitions.size > 0 ? { $defs: Object.fromEntries(this.#definitions) } : {};
      return {
        outcome: 'accepted',
        schema: { ...schema, ...defs },
        isLoosened: this.#isLoosened,
        optional: this.#optional,
        unions: this.#unions,
      };
    } catch (error) {
      if (!(error instanceof UnacceptableSchema)) throw error;
      return {
        outcome: 'unacceptable',
        complaint: `schema${error.path.slice(0, MAX_PATH)} ${error.message}`,
      };
    }
  }

  #rewritten(value: unknown, path: string): JsonObject {
    if (this.#depth > MAX_DEPTH)
      throw new UnacceptableSchema(path, 'contains itself or is too deep');
    this.#depth += 1;
    const result = this.#rewrittenSchema(this.#joined(objectOf(value), path), path);
    this.#depth -= 1;
    return result;
  }

  #rewrittenSchema(schema: JsonObject, path: string): JsonObject {
    const { $ref, type } = schema;
    if ($ref !== undefined) return this.#reference($ref, path);
    if (schema['anyOf'] !== undefined) return this.#union(schema, 'anyOf', path);
    if (schema['oneOf'] !== undefined) return this.#union(schema, 'oneOf', path);

    const types = Array.isArray(type) ? type : [type ?? impliedType(schema)];
    const result: Record<string, unknown> = {};
    const described: string[] = [];
    for (const [name, constraint] of Object.entries(schema)) {
      if (!HANDLED.test(name)) this.#spend(textOf(constraint).length, path);
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
      // The upstream refuses an enum value that is not of the declared type. If several types are
      // declared, it refuses every enum value.
      delete result['type'];
      return result;
    }
    if (types.includes('array')) Object.assign(result, this.#arrayMembers(schema, path));
    if (types.includes('object')) Object.assign(result, this.#objectMembers(schema, path));
    if (described.length > 0) {
      this.#isLoosened = true;
      const text = `{${described.join(', ')}}`;
      result['description'] = [stringOf(schema['description']), text].filter(Boolean).join('\n\n');
    }
    return result;
  }

  #reference(name: unknown, path: string): JsonObject {
    const target = this.#targetOf(name, path);
    let key = this.#names.get(target);
    if (key === undefined) {
      key = stringOf(name)
        .replace(/^.*\//, '')
        .replaceAll(/[^\w.-]/g, '_');
      while (this.#definitions.has(key)) key += `_${this.#definitions.size}`;
      this.#names.set(target, key);
      this.#definitions.set(key, {});
      this.#open.add(target);
      const at = `.${stringOf(name).slice(2).replaceAll('/', '.')}`;
      this.#definitions.set(key, this.#rewritten(target, at));
      this.#open.delete(target);
    }
    return { $ref: `#/$defs/${key}` };
  }

  #targetOf(name: unknown, path: string): JsonObject {
    const target = definition(this.#root, name);
    if (target && !this.#open.has(target)) return target;
    throw new UnacceptableSchema(path, target ? 'contains itself' : NO_DEFINITION);
  }

  /** The upstream accepts no constraints beside `anyOf`, so they are copied into each case. */
  #union(schema: JsonObject, keyword: 'anyOf' | 'oneOf', path: string): JsonObject {
    const { title, description, [keyword]: branches, ...shared } = schema;
    if (!Array.isArray(branches) || branches.length === 0) {
      throw new UnacceptableSchema(path, 'has a union without cases');
    }
    const constraints = Object.entries(shared).filter(
      ([name]) => SHAPE.test(name) || !HANDLED.test(name),
    );
    const own = Object.fromEntries(constraints.filter(([name]) => name !== 'default'));
    const hasOwn = Object.keys(own).length > 0;
    this.#spend(textOf([title, description]).length, path);
    return {
      ...(typeof title === 'string' && { title }),
      ...(typeof description === 'string' && { description }),
      anyOf: branches.map((branch: unknown, index) =>
        this.#rewritten(hasOwn ? { allOf: [own, branch] } : branch, `${path}.${keyword}[${index}]`),
      ),
    };
  }

  /**
   * Joins the parts of `allOf`, with the definitions that they refer to, to one schema. A reference
   * with `allOf` or a keyword of {@link SHAPE} beside it is joined with all its siblings in the
   * same way. What stands beside any other reference is left out.
   */
  #joined(schema: JsonObject, path: string): JsonObject {
    this.#spend(SCHEMA_WORK, path);
    const isPlain =
      schema['$ref'] === undefined || !Object.keys(schema).some((name) => SHAPE.test(name));
    if (schema['allOf'] === undefined && isPlain) return schema;
    const result: Record<string, unknown> = {};
    const members = new Map<string, Set<unknown>>();
    const required = new Set<unknown>();
    /** A definition is added once. */
    const parts = new Set<JsonObject>();
    const pending = [schema];
    for (let next = pending.pop(); next; next = pending.pop()) {
      if (parts.has(next)) continue;
      parts.add(next);
      this.#spend(SCHEMA_WORK, path);
      const { $ref, allOf, ...part } = next;
      this.#spend(listOf(allOf).length, path);
      append(pending, objectsOf(allOf).reverse());
      if ($ref !== undefined) pending.push(this.#targetOf($ref, path));
      for (const [name, value] of Object.entries(part)) {
        const other = result[name];
        if (name === 'properties') {
          result[name] ??= {};
          for (const [member, memberSchema] of Object.entries(objectOf(value))) {
            this.#spend(member.length, path);
            members.set(member, (members.get(member) ?? new Set()).add(memberSchema));
          }
        } else if (name === 'required') {
          result[name] ??= [];
          this.#spend(listOf(value).length, path);
          for (const each of listOf(value)) required.add(each);
        } else if (other === undefined || this.#isEqual(other, value, path)) {
          result[name] = value;
        } else if (name === 'additionalProperties') {
          result[name] = other !== false && value;
        } else if (name !== 'title' && name !== 'description' && !name.startsWith('$')) {
          throw new UnacceptableSchema(path, `gives two values for ${name}`);
        }
      }
    }
    const properties = [...members].map(([name, schemas]) => {
      const [first] = schemas;
      return [name, schemas.size > 1 ? { allOf: [...schemas] } : first];
    });
    return {
      ...result,
      ...(result['properties'] !== undefined && { properties: Object.fromEntries(properties) }),
      ...(result['required'] !== undefined && { required: [...required] }),
    };
  }

  #isEqual(a: unknown, b: unknown, path: string): boolean {
    if (a === b) return true;
    const [text, other] = [textOf(a), textOf(b)];
    this.#spend(text.length + other.length, path);
    return text === other;
  }

  #spend(work: number, path: string): void {
    this.#limit.left -= work;
    if (this.#limit.left < 0) throw new UnacceptableSchema(path, 'is too complex');
  }

  #arrayMembers({ items, prefixItems, minItems }: JsonObject, path: string): JsonObject {
    if (Array.isArray(items) || prefixItems !== undefined) {
      throw new UnacceptableSchema(path, 'is a tuple');
    }
    return {
      items: this.#rewritten(items, `${path}.items`),
      ...((minItems === 0 || minItems === 1) && { minItems }),
    };
  }

  #objectMembers(schema: JsonObject, path: string): JsonObject {
    const { additionalProperties: others = schema['unevaluatedProperties'] } = schema;
    const properties = objectOf(schema['properties']);
    const names = Object.keys(properties);
    const isOpen = others !== false && (names.length === 0 || isJsonObject(others));
    if (isOpen || schema['patternProperties'] !== undefined) {
      throw new UnacceptableSchema(path, 'allows members of any name');
    }
    const wanted = listOf(schema['required']);
    this.#spend(wanted.length, path);
    const required = new Set(wanted);
    const known = new Set<unknown>(names);
    if (![...required].every((name) => known.has(name))) {
      throw new UnacceptableSchema(path, 'requires a member that it does not describe');
    }
    const members = names.map((name) => {
      const member = this.#rewritten(properties[name], `${path}.properties.${name.slice(0, 64)}`);
      if (!required.has(name)) this.#optional += 1;
      if (Array.isArray(member['type']) || member['anyOf']) this.#unions += 1;
      return [name, member];
    });
    return { properties: Object.fromEntries(members), additionalProperties: false };
  }
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null;
}

function impliedType(schema: JsonObject): string | undefined {
  if (schema['properties'] !== undefined) return 'object';
  return schema['items'] === undefined ? undefined : 'array';
}

/** Whether the upstream takes only some values of this keyword, and this value is one of them. */
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

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** The JSON text of a value; empty for undefined. */
function textOf(value: unknown): string {
  return JSON.stringify(value) ?? '';
}
