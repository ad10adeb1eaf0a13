/**
 * Makes a value for a JSON Schema, always the same for the same schema. Objects have only their
 * required members, in the order of `properties` as the API writes them. An array has as many items
 * as the schema demands. If it demands none, a tuple has all of its items, and an array one item if
 * the schema describes it. If no value that the schema accepts is found, texts in the value may not
 * match their patterns.
 */

import { withDescribedKeywords } from './described-keywords.js';
import { resolveReference } from './json-schema.js';
import { asArray, isObject } from '../message/message.js';
import type { JsonObject } from '../message/message.js';
import { sampleNumber, sampleTexts } from './scalar-sample.js';
import {
  commonLiterals,
  commonTypes,
  isPossible,
  itemSchema,
  memberSchema,
  requiredNames,
  tupleOf,
} from './schema-facets.js';

/** Bounds the search, because nested alternatives multiply. */
const MAX_STEPS = 20_000;
const MAX_ITEMS = 1000;

/**
 * The aims of a search, tried in this order. `described`: satisfy the schemas and the keywords in
 * their descriptions. `fitting`: satisfy the schemas. `closest`: satisfy the schemas except their
 * patterns, some of which have no known sample.
 */
const AIMS = ['described', 'fitting', 'closest'] as const;
type Aim = (typeof AIMS)[number];

/** @returns `undefined` if no such value was found. */
export function sampleOf(schema: JsonObject): unknown {
  for (const aim of AIMS) {
    const value = new Sampler(schema, aim).fit([{ schema, followed: new Set() }]);
    if (value !== undefined) return value;
  }
  return undefined;
}

/** A schema that the value must satisfy. */
interface Part<Schema = unknown> {
  readonly schema: Schema;
  /**
   * The references that led here. The search does not follow any of them again, so that it ends. It
   * misses no schema that has a value: such a schema also has a value without recursion.
   */
  readonly followed: ReadonlySet<string>;
}

/** Alternatives: the value must satisfy one of these schemas. */
interface Choice {
  readonly options: readonly unknown[];
  readonly followed: ReadonlySet<string>;
}

class Sampler {
  readonly #root: JsonObject;
  readonly #aim: Aim;
  #stepsLeft = MAX_STEPS;

  constructor(root: JsonObject, aim: Aim) {
    this.#root = root;
    this.#aim = aim;
  }

  /** A value that satisfies all the parts, or `undefined`. */
  fit(parts: readonly Part[]): unknown {
    for (const facets of this.#alternatives(parts, [])) {
      const value = this.#valueOf(facets);
      if (value !== undefined) return value;
    }
    return undefined;
  }

  /** The ways to satisfy all pending parts, each as schemas without references and alternatives. */
  *#alternatives(
    pending: readonly (Part | Choice)[],
    facets: readonly Part<JsonObject>[],
  ): Generator<readonly Part<JsonObject>[]> {
    this.#stepsLeft -= 1;
    if (this.#stepsLeft < 0) return;
    const [next, ...rest] = pending;
    if (next === undefined) {
      yield facets;
    } else if ('options' in next) {
      for (const schema of next.options) {
        yield* this.#alternatives([{ schema, followed: next.followed }, ...rest], facets);
      }
    } else if (isObject(next.schema)) {
      const { $ref, allOf, anyOf, oneOf, ...plain } = next.schema;
      const schema = this.#aim === 'described' ? withDescribedKeywords(plain) : plain;
      const { followed } = next;
      const known = [...facets, { schema, followed }];
      if (!isPossible(known.map((facet) => facet.schema))) return;
      if (typeof $ref === 'string' && followed.has($ref)) return;
      const all = asArray(allOf).map((each) => ({ schema: each, followed }));
      const choices = [anyOf, oneOf]
        .filter(Array.isArray)
        .map((options) => ({ options, followed }));
      // Alternatives come last, so that all other schemas can first rule out some of them.
      yield* this.#alternatives(
        [...this.#follow($ref, followed), ...all, ...rest, ...choices],
        known,
      );
    } else if (next.schema !== false) {
      yield* this.#alternatives(rest, facets);
    }
  }

  #follow(reference: unknown, followed: ReadonlySet<string>): Part[] {
    if (typeof reference !== 'string') return [];
    const schema = resolveReference(this.#root, reference);
    return [{ schema, followed: new Set([...followed, reference]) }];
  }

  #valueOf(facets: readonly Part<JsonObject>[]): unknown {
    const schemas = facets.map(({ schema }) => schema);
    const literals = commonLiterals(schemas);
    if (literals !== undefined) return literals[0];
    for (const type of commonTypes(schemas)) {
      const value = this.#ofType(type, facets);
      if (value !== undefined) return value;
    }
    return undefined;
  }

  #ofType(type: string, facets: readonly Part<JsonObject>[]): unknown {
    const schemas = facets.map(({ schema }) => schema);
    switch (type) {
      case 'null':
        return null;
      case 'boolean':
        return true;
      case 'integer':
      case 'number':
        return sampleNumber(schemas, type);
      case 'array':
        return this.#arrayOf(facets);
      case 'object':
        return this.#objectOf(facets);
      default:
        return sampleTexts(schemas)[this.#aim === 'closest' ? 'closest' : 'fitting'];
    }
  }

  #objectOf(facets: readonly Part<JsonObject>[]): JsonObject | undefined {
    const members: [name: string, value: unknown][] = [];
    for (const name of requiredNames(facets.map(({ schema }) => schema))) {
      const value = this.fit(
        facets.map(({ schema, followed }) => ({ schema: memberSchema(schema, name), followed })),
      );
      if (value === undefined) return undefined;
      members.push([name, value]);
    }
    return Object.fromEntries(members);
  }

  #arrayOf(facets: readonly Part<JsonObject>[]): unknown[] | undefined {
    const counts = (name: string): number[] =>
      facets.map(({ schema }) => schema[name]).filter((count) => typeof count === 'number');
    const least = Math.min(MAX_ITEMS, Math.max(0, ...counts('minItems')));
    // A tuple gets all of its items: schemas of tuples seldom say how many are required.
    const wanted = facets.map(({ schema }) => tupleOf(schema).length || (schema['items'] ? 1 : 0));
    const length = Math.min(Math.max(least, ...wanted), ...counts('maxItems'));
    const items: unknown[] = [];
    while (items.length < length) {
      const value = this.fit(
        facets.map(({ schema, followed }) => ({
          schema: itemSchema(schema, items.length),
          followed,
        })),
      );
      if (value === undefined) return items.length < least ? undefined : items;
      items.push(value);
    }
    return items;
  }
}
