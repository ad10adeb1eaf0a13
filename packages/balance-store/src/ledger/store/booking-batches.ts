/**
 * Makes bookings of one kind that are asked for together in one transaction. Each one alone waits
 * for the disk, and the next one for it: 10,000 members took minutes, and their keys longer.
 */

import { createQueryBatcher } from '../base/query-batcher.js';

interface BatchedBooking<Item, Outcome> {
  /** Items share a transaction only if they have the same group: one owner, and one account. */
  readonly groupOf: (item: Item) => string;
  /** Books items of one group, in one transaction. @returns the outcome of each */
  readonly book: (items: readonly Item[]) => Promise<readonly Outcome[]>;
  /** What a transaction locks is locked until all of its bookings are made. */
  readonly most: number;
}

/**
 * @returns A function that makes one booking. Those of a group share a transaction if they are
 * asked for in one event-loop tick, or while others of the group are being made. Each has its own
 * outcome, but a fault is that of all of them: each was made, or none.
 */
export function batchBookings<Item, Outcome>({
  groupOf,
  book,
  most,
}: BatchedBooking<Item, Outcome>): (item: Item) => Promise<Outcome> {
  const groups = new Map<string, { readonly make: typeof makeOne; asked: number }>();
  return makeOne;

  async function makeOne(item: Item): Promise<Outcome> {
    const name = groupOf(item);
    const group = groups.get(name) ?? {
      make: createQueryBatcher(book, { maxInFlight: 1, maxSize: most }),
      asked: 0,
    };
    groups.set(name, group);
    group.asked += 1;
    try {
      return await group.make(item);
    } finally {
      group.asked -= 1;
      if (group.asked === 0) groups.delete(name);
    }
  }
}
