/**
 * The API's limits of a schema: definitions must not use themselves, optional members and unions
 * are limited in number, and the whole must be small enough to compile. Strict tools are limited in
 * number too.
 */

import { resolveReference, schemasWithin } from './json-schema.js';
import { asArray, asObject } from '../message/message.js';
import type { JsonObject } from '../message/message.js';

const MAX_OPTIONAL = 24;
const MAX_UNIONS = 16;
const MAX_STRICT_TOOLS = 20;
/**
 * The API does not publish this limit. It is high enough not to refuse schemas that the API takes.
 */
const MAX_SCHEMAS = 5000;

export function strictToolsProblem(tools: readonly unknown[]): string | undefined {
  const count = tools.filter((tool) => asObject(tool)['strict'] === true).length;
  return count > MAX_STRICT_TOOLS
    ? `Too many strict tools (${String(count)}). The maximum number of strict tools supported is ` +
        `${String(MAX_STRICT_TOOLS)}.`
    : undefined;
}

/** Reports a definition that uses itself, with the path of references back to it. */
export function circularProblem(root: JsonObject): string | undefined {
  const settled = new Set<string>();

  function visit(references: readonly string[], path: readonly string[]): string | undefined {
    for (const reference of references) {
      if (path.includes(reference)) return circle([...path, reference]);
      if (settled.has(reference)) continue;
      const target = resolveReference(root, reference);
      const problem = visit(referencesIn(target), [...path, reference]);
      if (problem !== undefined) return problem;
      settled.add(reference);
    }
    return undefined;
  }

  return visit(referencesIn(root), []);
}

function circle(path: readonly string[]): string {
  const names = path.slice(path.indexOf(path.at(-1) ?? '')).map((at) => at.split('/').at(-1));
  return (
    `Circular reference detected in schema definitions: ${names.join(' -> ')}. ` +
    'Self-referencing or mutually-referencing definitions are not supported.'
  );
}

/**
 * Only for schemas without a {@link circularProblem}: a circular reference would overflow the
 * stack.
 */
export function complexityProblem(root: JsonObject): string | undefined {
  const members = [...schemasWithin(root)].map(asObject).flatMap(membersOf);
  const optional = members.filter(({ isRequired }) => !isRequired).length;
  if (optional > MAX_OPTIONAL) {
    return (
      `Schemas contains too many optional parameters (${String(optional)}), which would make ` +
      'grammar compilation inefficient. Reduce the number of optional parameters in your tool ' +
      `schemas (limit: ${String(MAX_OPTIONAL)}).`
    );
  }
  const unions = members.filter(({ schema }) => isUnion(schema)).length;
  if (unions > MAX_UNIONS) {
    return (
      `Schemas contains too many parameters with union types (${String(unions)} parameters with ` +
      'type arrays or anyOf). This causes exponential compilation cost. Reduce the number of ' +
      `nullable or union-typed parameters (limit: ${String(MAX_UNIONS)} parameters with unions).`
    );
  }
  return expandedSize(root) > MAX_SCHEMAS
    ? 'Schema is too complex for compilation. Try reducing the number of tools or simplifying ' +
        'tool schemas.'
    : undefined;
}

function membersOf({ properties, required }: JsonObject) {
  const names = asArray(required);
  return Object.entries(asObject(properties)).map(([name, schema]) => ({
    schema: asObject(schema),
    isRequired: names.includes(name),
  }));
}

function isUnion({ type, anyOf }: JsonObject): boolean {
  return Array.isArray(type) || anyOf !== undefined;
}

/** Number of schemas inside the root, after replacing each reference by its target. */
function expandedSize(root: JsonObject): number {
  const sizes = new Map<string, number>();

  function sizeOf(schema: unknown): number {
    const own = [...schemasWithin(schema)].length;
    return referencesIn(schema).reduce((sum, reference) => sum + referredSize(reference), own);
  }

  function referredSize(reference: string): number {
    const size = sizes.get(reference) ?? sizeOf(resolveReference(root, reference));
    sizes.set(reference, size);
    return size;
  }

  return sizeOf(root);
}

function referencesIn(schema: unknown): string[] {
  return [...schemasWithin(schema)]
    .map((each) => asObject(each)['$ref'])
    .filter((reference) => typeof reference === 'string');
}
