/** Lists in pages, as both APIs send them. */

import { listCursorOf } from '@gateway/balance-store';
import type { ListOrder } from '@gateway/balance-store';

export function list<Item>(data: readonly Item[], next: string | undefined) {
  return {
    object: 'list' as const,
    data,
    has_more: next !== undefined,
    next_cursor: next ?? null,
  };
}

/** The cursor of the next page of a list in the order of ids. */
export function lastOf(
  records: readonly { readonly id: string }[],
  { limit }: { readonly limit: number },
): string | undefined {
  return records.length < limit ? undefined : records.at(-1)?.id;
}

/**
 * The cursor of the page after these records.
 *
 * @returns `undefined` if the page is not full, so that no other can follow
 */
export function cursorAfter(
  records: readonly Parameters<typeof listCursorOf>[1][],
  { limit, order }: { readonly limit: number; readonly order: ListOrder },
): string | undefined {
  const last = records.at(-1);
  return last === undefined || records.length < limit ? undefined : listCursorOf(order, last);
}
