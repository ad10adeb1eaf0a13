/** The columns of a list, which follow from the gateway's tables of what its endpoints send. */

import type { PageColumns } from '../api/gateway-types.js';
import type { Column } from './paged-table.js';

/** Defined by `vite.config.ts`. */
declare const GATEWAY_COLUMNS: PageColumns;

/** What a page has instead of a part of a column. `false` leaves the column out. */
type OwnColumn<Item> = Partial<Column<Item>> | false;

/** @param own - By the names of members. A column without an entry shows its member's value. */
export function columnsOf<Item extends object, List extends keyof PageColumns>(
  list: List,
  own: { readonly [Name in PageColumns[List][number]['name']]?: OwnColumn<Item> },
): readonly Column<Item>[] {
  const columns: PageColumns[keyof PageColumns] = GATEWAY_COLUMNS[list];
  const given: Readonly<Partial<Record<string, OwnColumn<Item>>>> = own;
  return columns.flatMap(({ name, label, kind }) => {
    const part = given[name];
    if (part === false) return [];
    return [{ label, kind, value: (item: Item) => valueOf(item, name), ...part }];
  });
}

function valueOf(item: object, name: string): string | number | null {
  const value: unknown = (item as Readonly<Record<string, unknown>>)[name];
  if (value === null || typeof value === 'string' || typeof value === 'number') return value;
  return JSON.stringify(value);
}
