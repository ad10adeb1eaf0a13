/** Combines the conditions of a search, without those that have an `undefined` value. */

export type Value = string | number | bigint;

/** SQL with a `?` for each of its values. */
export type Condition = readonly [sql: string, ...values: readonly (Value | undefined)[]];

export interface Search {
  readonly where: string;
  readonly values: readonly Value[];
}

/** @param conditions - Each with its values. Those with an `undefined` value are left out. */
export function matching(...conditions: readonly Condition[]): Search {
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
