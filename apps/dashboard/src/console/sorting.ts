/** Sorts what is loaded, by a column that the person chose. */

import { parseUsd } from '../shared/usd.js';

export type Order = 'newest' | 'spent' | 'balance' | 'used';

export const ORDERS = [
  ['newest', 'As listed'],
  ['spent', 'Most spent'],
  ['balance', 'Lowest balance'],
  ['used', 'Last used'],
] as const satisfies readonly (readonly [Order, string])[];

interface Sortable {
  readonly spent_usd: string;
  readonly balance_usd: string;
  readonly last_charged_at: string | null;
}

export function sorted<Item extends Sortable>(
  items: readonly Item[],
  order: Order,
): readonly Item[] {
  switch (order) {
    case 'newest':
      return items;
    case 'spent':
      return items.toSorted((a, b) => compare(parseUsd(b.spent_usd), parseUsd(a.spent_usd)));
    case 'balance':
      return items.toSorted((a, b) => compare(parseUsd(a.balance_usd), parseUsd(b.balance_usd)));
    case 'used':
      return items.toSorted((a, b) => compare(b.last_charged_at ?? '', a.last_charged_at ?? ''));
  }
}

function compare<Value extends bigint | string>(a: Value, b: Value): number {
  return a < b ? -1 : Number(a > b);
}
