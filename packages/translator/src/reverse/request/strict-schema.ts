/**
 * Whether the upstream takes a schema as a strict one. A native schema may have optional members
 * and other keywords even if it is strict.
 * https://platform.openai.com/docs/guides/structured-outputs#supported-schemas
 */

import { append } from '../../wire/lists.js';
import { isJsonObject, type JsonObject, objectOf, stringOf } from '../../wire/raw-json.js';

export const NOT_STRICT =
  'not strict: the upstream takes as strict only closed objects that require all members, and few keywords';

/**
 * The keywords of the guide. Others are refused (`'default' is not permitted`), among them `oneOf`,
 * `allOf`, `not`, `if`, `patternProperties`, `prefixItems`, `uniqueItems` and `minLength`. OpenAI's
 * own SDK sends `$schema` and `title`.
 */
const KEYWORDS = new Set([
  '$schema',
  'title',
  'description',
  'type',
  'enum',
  'const',
  'anyOf',
  '$ref',
  '$defs',
  'definitions',
  'properties',
  'required',
  'additionalProperties',
  'items',
  'minItems',
  'maxItems',
  'pattern',
  'format',
  'multipleOf',
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
]);
const FORMATS = new Set([
  'date-time',
  'time',
  'date',
  'duration',
  'email',
  'hostname',
  'ipv4',
  'ipv6',
  'uuid',
]);

/** What the guide limits in one schema. */
interface Size {
  /** Members of objects. */
  properties: number;
  /** Characters of the names of members and definitions, and of values of `enum` and `const`. */
  characters: number;
  enumValues: number;
}

const MOST: Size = { properties: 5000, characters: 120_000, enumValues: 1000 };
/** Levels of nested objects. */
const MAX_LEVELS = 10;
/** An `enum` with more values than this may have only so many characters. */
const LONG_ENUM = { values: 250, characters: 15_000 };

/** The root must be an object, and not a union of objects. */
export function isStrictSchema(value: unknown): boolean {
  const root = objectOf(value);
  if (root['type'] !== 'object' || root['anyOf'] !== undefined) return false;
  const size: Size = { properties: 0, characters: 0, enumValues: 0 };
  return (
    isAccepted(root, 1, size) &&
    size.properties <= MOST.properties &&
    size.characters <= MOST.characters &&
    size.enumValues <= MOST.enumValues
  );
}

/** @param size - Grows by the size of the schema. */
function isAccepted(schema: unknown, level: number, size: Size): boolean {
  // A schema may also be `true` or `false`, but not here.
  if (!isJsonObject(schema)) return false;
  const keywords = Object.keys(schema);
  if (!keywords.every((name) => KEYWORDS.has(name))) return false;
  if (schema['$ref'] !== undefined) return keywords.length === 1;

  const { type, anyOf, format } = schema;
  const types: readonly unknown[] = Array.isArray(type) ? type : [type];
  // A type is required even beside `enum` and `const`.
  if (type === undefined && !Array.isArray(anyOf)) return false;
  if (format !== undefined && !FORMATS.has(stringOf(format))) return false;
  const isObject = schema['properties'] !== undefined || types.includes('object');
  if (isObject && (level > MAX_LEVELS || !isClosed(schema))) return false;
  if (!addEnum(schema, size)) return false;

  const inner = isObject ? level + 1 : level;
  const properties = objectOf(schema['properties']);
  size.properties += Object.keys(properties).length;
  const named = [properties, objectOf(schema['$defs']), objectOf(schema['definitions'])];
  for (const name of named.flatMap((schemas) => Object.keys(schemas))) {
    size.characters += name.length;
  }
  const parts = named.flatMap((schemas) => Object.values(schemas));
  append(parts, listOf(anyOf));
  if (schema['items'] !== undefined || types.includes('array')) parts.push(schema['items']);
  return parts.every((part) => isAccepted(part, inner, size));
}

/** Whether an object allows no other members than its own, and requires all of these. */
function isClosed({ properties, additionalProperties, required }: JsonObject): boolean {
  const names = Object.keys(objectOf(properties));
  const wanted = new Set(listOf(required));
  return (
    additionalProperties === false &&
    wanted.size === names.length &&
    names.every((name) => wanted.has(name))
  );
}

/** @returns false if the `enum` is too long */
function addEnum({ enum: values, const: only }: JsonObject, size: Size): boolean {
  const listed = listOf(values);
  const characters = listed.reduce((sum: number, each) => sum + stringOf(each).length, 0);
  size.enumValues += listed.length;
  size.characters += characters + stringOf(only).length;
  return listed.length <= LONG_ENUM.values || characters <= LONG_ENUM.characters;
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
