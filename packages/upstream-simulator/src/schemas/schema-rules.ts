/**
 * The API's refusals of schemas for structured outputs, in its own words. The texts come from
 * refusals that users have published. A keyword that appears in none of them is accepted.
 */

import { declaredTypes, resolveReference, schemasWithin } from './json-schema.js';
import { asArray, asObject, isObject } from '../message/message.js';
import type { JsonObject } from '../message/message.js';
import { compilePattern } from './pattern-sample.js';
import { hasType } from './schema-facets.js';

const TYPES = new Set(['object', 'array', 'string', 'integer', 'number', 'boolean', 'null']);
const BOUNDS = ['exclusiveMaximum', 'exclusiveMinimum', 'maximum', 'minimum', 'multipleOf'];
const REFUSED: Readonly<Record<string, readonly string[]>> = {
  integer: BOUNDS,
  number: BOUNDS,
  array: ['contains', 'maxItems', 'prefixItems', 'uniqueItems'],
  object: ['dependentRequired', 'if', 'propertyNames', 'unevaluatedProperties'],
};
/** Keywords that the API refuses beside `anyOf` or `allOf`. */
const REFUSED_BESIDE = [
  '$ref',
  'additionalProperties',
  'discriminator',
  'properties',
  'required',
  'type',
];
/** Look-around, named groups, back-references, word boundaries. */
const REFUSED_IN_PATTERN = /\(\?[^:]|\\[1-9bBk]/;
const ANNOTATIONS = new Set([
  'title',
  'description',
  'default',
  '$schema',
  '$id',
  '$defs',
  'definitions',
]);
const EMPTY = 'Empty schema ({}) that accepts any JSON value is not supported.';

/** @returns the first problem of the schema or of a schema inside it. */
export function schemaProblem(root: JsonObject): string | undefined {
  for (const schema of schemasWithin(root)) {
    const problem = isObject(schema) ? problemOf(schema, root) : EMPTY;
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function problemOf(schema: JsonObject, root: JsonObject): string | undefined {
  return (
    combinationProblem(schema) ??
    referenceProblem(schema, root) ??
    literalProblem(schema) ??
    missingTypeProblem(schema) ??
    typesProblem(schema)
  );
}

function combinationProblem(schema: JsonObject): string | undefined {
  if (schema['oneOf'] !== undefined) return "Schema type 'oneOf' is not supported";
  if (schema['not'] !== undefined) return "Schema keyword 'not' is not supported";
  if (schema['anyOf'] === undefined && schema['allOf'] === undefined) return undefined;
  const beside = presentIn(schema, REFUSED_BESIDE);
  // The API writes `anyOf` in the message for both keywords.
  if (beside.length > 0) return `For 'anyOf', '${beside.join(', ')}' is not supported`;
  return asArray(schema['allOf']).some((part) => asObject(part)['$ref'] !== undefined)
    ? "For 'allOf', '$ref' is not supported"
    : undefined;
}

function referenceProblem({ $ref }: JsonObject, root: JsonObject): string | undefined {
  if (typeof $ref !== 'string') return undefined;
  if (!$ref.startsWith('#')) return `Invalid schema: External $ref is not supported: ${$ref}`;
  return resolveReference(root, $ref) === undefined
    ? `Invalid schema: Reference to non-existent definition: ${$ref}`
    : undefined;
}

/**
 * The API compares values with a single type. If there are several types, every value is refused.
 */
function literalProblem({ enum: values, type }: JsonObject): string | undefined {
  if (values === undefined) return undefined;
  if (!Array.isArray(values) || values.length === 0) {
    return 'Invalid schema: Enum must be a non-empty array';
  }
  if (values.some((value) => typeof value === 'object' && value !== null)) {
    return 'Invalid schema: Enum values must be strings, numbers, booleans or null';
  }
  if (type === undefined) return undefined;
  const declared = typeof type === 'string' ? type : inPython(type);
  const odd: unknown = values.find((value) => typeof type !== 'string' || !hasType(value, type));
  return odd === undefined
    ? undefined
    : `Invalid schema: Enum value ${inPython(odd)} does not match declared type '${declared}'`;
}

function missingTypeProblem(schema: JsonObject): string | undefined {
  const kinds = presentIn(schema, ['type', '$ref', 'anyOf', 'allOf', 'enum', 'const']);
  if (kinds.length > 0) return undefined;
  const isEmpty = Object.keys(schema).every((name) => ANNOTATIONS.has(name));
  return isEmpty ? EMPTY : 'Invalid schema: Schema type is missing';
}

function typesProblem(schema: JsonObject): string | undefined {
  for (const type of declaredTypes(schema)) {
    const problem = TYPES.has(type)
      ? (arrayProblem(type, schema) ??
        objectProblem(type, schema) ??
        keywordProblem(type, schema) ??
        patternProblem(type, schema))
      : `Schema type '${type}' is not supported`;
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function arrayProblem(type: string, schema: JsonObject): string | undefined {
  if (type !== 'array') return undefined;
  const { items, minItems: least, maxItems: most } = schema;
  if (Array.isArray(items)) {
    return "Invalid schema: Array types must be specified with a single object schema for 'items'.";
  }
  if (least === undefined || least === 0 || least === 1) return undefined;
  const range = `[${JSON.stringify(least)}, ${most === undefined ? '∞' : JSON.stringify(most)}]`;
  return `For 'array' type, 'minItems' values other than 0 or 1 are not supported (got: ${range})`;
}

function objectProblem(type: string, schema: JsonObject): string | undefined {
  if (type !== 'object') return undefined;
  const { additionalProperties: others } = schema;
  if (others === false) return undefined;
  return others === undefined
    ? "For 'object' type, 'additionalProperties' must be explicitly set to false"
    : `For 'object' type, 'additionalProperties: ${others === true ? 'true' : 'object'}' is not ` +
        "supported. Please set 'additionalProperties' to false";
}

function keywordProblem(type: string, schema: JsonObject): string | undefined {
  const found = presentIn(schema, REFUSED[type] ?? []);
  if (found.length === 0) return undefined;
  return found.length === 1
    ? `For '${type}' type, property '${found.join('')}' is not supported`
    : `For '${type}' type, properties ${found.join(', ')} are not supported`;
}

function patternProblem(type: string, { pattern }: JsonObject): string | undefined {
  if (type !== 'string' || typeof pattern !== 'string') return undefined;
  const isRefused = REFUSED_IN_PATTERN.test(pattern.replaceAll('\\\\', ''));
  return isRefused || compilePattern(pattern) === undefined
    ? `Invalid regex in pattern field: ${pattern}`
    : undefined;
}

function presentIn(schema: JsonObject, names: readonly string[]): readonly string[] {
  return names.filter((name) => schema[name] !== undefined);
}

/** A value as the API quotes it. */
function inPython(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(inPython).join(', ')}]`;
  if (typeof value === 'string') return `'${value}'`;
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  return value === null ? 'None' : JSON.stringify(value);
}
