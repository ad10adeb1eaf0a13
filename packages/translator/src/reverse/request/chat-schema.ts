/**
 * Adds to a schema what OpenAI requires and JSON Schema does not: `properties` of the object at its
 * root, and `items` of each array. Without them OpenAI refuses the whole request, with
 * `invalid_function_parameters`. Tools of MCP servers often lack them. What is added allows every
 * value, so the meaning stays the same.
 */

import { emptySchema } from '../../reading/empty-schema.js';
import { closingQuote } from '../../wire/json-strings.js';
import { parseJson } from '../../wire/raw-json.js';

/** Keywords with a schema, or with a list of schemas. */
const WITH_SCHEMA = new Set([
  'items',
  'prefixItems',
  'additionalItems',
  'unevaluatedItems',
  'contains',
  'additionalProperties',
  'unevaluatedProperties',
  'propertyNames',
  'anyOf',
  'oneOf',
  'allOf',
  'not',
  'if',
  'then',
  'else',
]);
/** Keywords with an object that has a schema for each name. */
const WITH_NAMED_SCHEMAS = new Set([
  'properties',
  'patternProperties',
  'dependentSchemas',
  '$defs',
  'definitions',
]);

/** What a value in the text of a schema is. */
type Role = 'schema' | 'named schemas' | 'other';

/** By name, the text of the members of an object that has the role of a schema. */
type Members = ReadonlyMap<string, string>;

/**
 * The text of a schema with the members that it lacks. Everything else in it stays the same, such
 * as the digits of numbers and white space.
 *
 * @param json - A JSON object of at most 200 levels, without white space around it.
 * @param use - Arguments are always an object, so their schema also gets its `type`.
 */
export function chatSchema(json: string, use: 'arguments' | 'answer'): string {
  let completed = '';
  let copied = 0;
  let at = 0;

  function skipBlanks(): void {
    while (/\s/.test(json.charAt(at))) at += 1;
  }

  function readValue(role: Role): void {
    switch (json.charAt(at)) {
      case '{':
        readObject(role);
        return;
      case '[':
        readList(role);
        return;
      case '"':
        at = closingQuote(json, at) + 1;
        return;
      default:
        while (/[\w.+-]/.test(json.charAt(at))) at += 1;
    }
  }

  function readList(role: Role): void {
    const itemRole = role === 'schema' ? role : 'other';
    do {
      at += 1;
      skipBlanks();
      if (json.charAt(at) !== ']') readValue(itemRole);
      skipBlanks();
    } while (json.charAt(at) === ',');
    at += 1;
  }

  function readObject(role: Role): void {
    const isRoot = at === 0;
    const members = new Map<string, string>();
    do {
      at += 1;
      skipBlanks();
      if (json.charAt(at) === '}') break;
      const opening = at;
      at = closingQuote(json, at) + 1;
      const name = String(parseJson(json.slice(opening, at)));
      skipBlanks();
      at += 1;
      skipBlanks();
      const start = at;
      readValue(roleOf(name, role));
      if (role === 'schema') members.set(name, json.slice(start, at));
      skipBlanks();
    } while (json.charAt(at) === ',');
    if (role === 'schema') {
      const missing = [...(isRoot ? missingAtRoot(members, use) : []), ...missingItems(members)];
      const added = missing.map(([name, value]) => `"${name}":${JSON.stringify(value)}`);
      if (added.length > 0) {
        completed += json.slice(copied, at) + (members.size > 0 ? ',' : '') + added.join(',');
        copied = at;
      }
    }
    at += 1;
  }

  readValue('schema');
  return completed + json.slice(copied);
}

function roleOf(name: string, parent: Role): Role {
  if (parent === 'named schemas') return 'schema';
  if (parent === 'other') return parent;
  if (WITH_NAMED_SCHEMAS.has(name)) return 'named schemas';
  return WITH_SCHEMA.has(name) ? 'schema' : 'other';
}

type Member = readonly [name: string, value: unknown];

function missingAtRoot(members: Members, use: 'arguments' | 'answer'): Member[] {
  const type = members.get('type');
  const isObject = type === undefined ? use === 'arguments' : parseJson(type) === 'object';
  return isObject ? Object.entries(emptySchema()).filter(([name]) => !members.has(name)) : [];
}

function missingItems(members: Members): Member[] {
  const type = parseJson(members.get('type') ?? '');
  const isArray = Array.isArray(type) ? type.includes('array') : type === 'array';
  return isArray && !members.has('items') ? [['items', {}]] : [];
}
