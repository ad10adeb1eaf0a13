/**
 * Queries of lists of accounts and keys, in any order and page by page.
 *
 * Only `newest` has an index. The other orders sort by values that each charge changes, so each
 * charge would have to change their indexes, too. Instead, such a list reads one narrow row of each
 * account or key, keeps the first ones, and reads those in full. In a trial with 100,000 accounts
 * and 200,000 keys in PostgreSQL on two busy cores, such queries took up to 0.35 seconds.
 */

import type { ListOrder } from '../../list-order.js';
import { listPositionOf } from '../../list-order.js';
import { matching } from './search.js';
import type { Condition, Value } from './search.js';

/** How a database sorts in one order: by the expressions in `by`, then by id. */
export interface Sort {
  readonly by: readonly string[];
  readonly direction: 'ASC' | 'DESC';
  /** The values of the expressions for the `place` that {@link listPositionOf} returns. */
  readonly valuesAt: (place: bigint) => readonly Value[];
}

export interface ListSource {
  /** Selects the whole rows. */
  readonly select: string;
  readonly from: string;
  readonly id: string;
  readonly sorts: Readonly<Record<Exclude<ListOrder, 'newest'>, Sort>>;
}

const NEWEST: Sort = { by: [], direction: 'DESC', valuesAt: () => [] };

export interface ListPage {
  readonly limit: number;
  readonly order?: ListOrder | undefined;
  readonly after?: string | undefined;
}

/**
 * @returns a query with a `?` for each value
 * @throws {RangeError} when the cursor was not returned for a list in this order.
 */
export function listQuery(
  { select, from, id, sorts }: ListSource,
  { limit, order = 'newest', after }: ListPage,
  conditions: readonly Condition[],
): { readonly text: string; readonly values: readonly Value[] } {
  const { by, direction, valuesAt } = order === 'newest' ? NEWEST : sorts[order];
  const keys = [...by, id];
  const orderBy = `ORDER BY ${keys.map((key) => `${key} ${direction}`).join(', ')}`;
  const isBehind = `(${keys.join(', ')}) ${direction === 'ASC' ? '>' : '<'} (${keys.map(() => '?').join(', ')})`;
  const position = after === undefined ? undefined : listPositionOf(order, after);
  const { where, values } = matching(...conditions, [
    isBehind,
    ...(position === undefined ? [undefined] : valuesAt(position.place)),
    position?.id,
  ]);
  return {
    text: `${select} WHERE ${id} IN (SELECT ${id} FROM ${from} ${where} ${orderBy} LIMIT ?) ${orderBy}`,
    values: [...values, limit],
  };
}
