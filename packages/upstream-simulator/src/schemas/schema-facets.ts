/**
 * The constraints that several JSON Schemas together put on a value. The schemas must not have
 * `$ref`, `allOf`, `anyOf` or `oneOf` themselves. The schemas of their members and items may have
 * them.
 */

import { isDeepStrictEqual } from 'node:util';
import { declaredTypes } from './json-schema.js';
import { asArray, asObject, isObject } from '../message/message.js';
import type { JsonObject } from '../message/message.js';
import { fitsPatterns } from './scalar-sample.js';

/** Whether the schemas have a type or a listed value in common. */
export function isPossible(schemas: readonly JsonObject[]): boolean {
  return (commonLiterals(schemas) ?? commonTypes(schemas)).length > 0;
}

/** The values that every schema accepts, if one of them lists values with `const` or `enum`. */
export function commonLiterals(schemas: readonly JsonObject[]): readonly unknown[] | undefined {
  const listed = schemas.map(literalsOf).find((values) => values !== undefined);
  return listed?.filter((value) => schemas.every((schema) => acceptsLiteral(schema, value)));
}

function literalsOf(schema: JsonObject): readonly unknown[] | undefined {
  if (schema['const'] !== undefined) return [schema['const']];
  return Array.isArray(schema['enum']) ? schema['enum'] : undefined;
}

function acceptsLiteral(schema: JsonObject, value: unknown): boolean {
  const literals = literalsOf(schema);
  const types = declaredTypes(schema);
  return (
    (literals === undefined || literals.some((literal) => isDeepStrictEqual(literal, value))) &&
    (types.length === 0 || types.some((type) => hasType(value, type))) &&
    (typeof value !== 'string' || fitsPatterns(value, [schema]))
  );
}

export function hasType(value: unknown, type: string): boolean {
  switch (type) {
    case 'null':
      return value === null;
    case 'integer':
      return Number.isInteger(value);
    case 'array':
      return Array.isArray(value);
    case 'object':
      return isObject(value);
    default:
      return typeof value === type;
  }
}

/** The types that every schema allows, in the order of the first schema that has `type`. */
export function commonTypes(schemas: readonly JsonObject[]): readonly string[] {
  const declared = schemas.map(declaredTypes).filter((types) => types.length > 0);
  const [first, ...others] = declared;
  if (first === undefined) return [impliedType(schemas)];
  return first
    .flatMap((type) => (type === 'number' ? [type, 'integer'] : [type]))
    .filter((type) =>
      others.every(
        (types) => types.includes(type) || (type === 'integer' && types.includes('number')),
      ),
    );
}

function impliedType(schemas: readonly JsonObject[]): string {
  const has = (...names: readonly string[]): boolean =>
    schemas.some((schema) => names.some((name) => schema[name] !== undefined));
  if (has('properties', 'required', 'additionalProperties')) return 'object';
  if (has('items', 'prefixItems', 'minItems')) return 'array';
  return has('minimum', 'maximum', 'multipleOf') ? 'number' : 'string';
}

/**
 * Names in the order of `properties`, as the API writes them. Names without a property come last.
 */
export function requiredNames(schemas: readonly JsonObject[]): readonly string[] {
  const required = new Set(schemas.flatMap((schema) => asArray(schema['required']).map(String)));
  const described = schemas.flatMap((schema) => Object.keys(asObject(schema['properties'])));
  return [...new Set([...described, ...required])].filter((name) => required.has(name));
}

export function memberSchema(schema: JsonObject, name: string): unknown {
  const properties = asObject(schema['properties']);
  return Object.hasOwn(properties, name) ? properties[name] : schema['additionalProperties'];
}

/** Schemas of older drafts have the list in `items` instead of `prefixItems`. */
export function tupleOf(schema: JsonObject): readonly unknown[] {
  return asArray(schema['prefixItems'] ?? schema['items']);
}

export function itemSchema(schema: JsonObject, index: number): unknown {
  const tuple = tupleOf(schema);
  if (index < tuple.length) return tuple[index];
  return isObject(schema['items']) ? schema['items'] : schema['additionalItems'];
}
