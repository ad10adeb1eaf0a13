/** Reads a JSON Schema: its types, the schemas inside it, and the targets of its references. */

import { asArray, asObject, isObject } from '../message/message.js';
import type { JsonObject } from '../message/message.js';

/** The names in `type`: one, several or none. */
export function declaredTypes({ type }: JsonObject): readonly string[] {
  return typeof type === 'string' ? [type] : asArray(type).map(String);
}

/**
 * The schema itself and every schema inside it, in keywords that the API accepts. References are
 * not followed.
 */
export function* schemasWithin(schema: unknown): Generator<unknown> {
  yield schema;
  for (const child of childrenOf(asObject(schema))) yield* schemasWithin(child);
}

function childrenOf(schema: JsonObject): unknown[] {
  const named = ['properties', '$defs', 'definitions'].map((name) => asObject(schema[name]));
  const listed = ['anyOf', 'allOf'].map((name) => asArray(schema[name]));
  const { items } = schema;
  return [
    ...named.flatMap((schemas) => Object.values(schemas)),
    ...listed.flat(),
    ...(isObject(items) ? [items] : []),
  ];
}

/**
 * The target of a `$ref` such as `#/$defs/name`.
 *
 * @returns `undefined` for a reference without a target, or with one outside the document.
 */
export function resolveReference(root: JsonObject, reference: string): unknown {
  const [start, ...names] = reference.split('/').map(unescaped);
  if (start !== '#') return undefined;
  return names.reduce<unknown>((at, name) => {
    if (Array.isArray(at)) return (at as readonly unknown[])[Number(name)];
    return isObject(at) && Object.hasOwn(at, name) ? at[name] : undefined;
  }, root);
}

/** One name of a JSON pointer: https://www.rfc-editor.org/rfc/rfc6901#section-6 */
function unescaped(name: string): string {
  return decoded(name).replaceAll('~1', '/').replaceAll('~0', '~');
}

function decoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}
