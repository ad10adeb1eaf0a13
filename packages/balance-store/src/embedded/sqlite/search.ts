/** Conditions of a search, put together from what is given. */

import type { Metadata } from '../../metadata.js';

type Value = string | number | bigint;

export interface Search {
  readonly where: string;
  readonly values: readonly Value[];
}

/** @param conditions - Each with its value; those without one are left out. */
export function matching(
  ...conditions: readonly (readonly [sql: string, ...values: readonly (Value | undefined)[]])[]
): Search {
  const given = conditions.filter(([, ...values]) => values.every((value) => value !== undefined));
  return {
    where: given.length === 0 ? '' : `WHERE ${given.map(([sql]) => sql).join(' AND ')}`,
    values: given.flatMap(([, ...values]) => values as readonly Value[]),
  };
}

/** A pattern of LIKE for texts that contain this one, with `\` as its escape. */
export function containing(text: string | undefined): string | undefined {
  return text === undefined ? undefined : `%${text.replace(/[\\%_]/g, '\\$&')}%`;
}

/** One condition for each pair. */
export function metadataConditions(
  column: string,
  metadata: Metadata = {},
): readonly (readonly [sql: string, name: string, value: string])[] {
  return Object.entries(metadata).map(([name, value]) => [
    `EXISTS (SELECT 1 FROM json_each(${column}) AS pair WHERE pair.key = ? AND pair.value = ?)`,
    name,
    value,
  ]);
}
