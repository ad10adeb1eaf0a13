/** Work on a long list in turns of the event loop, so that other requests go on in between. */

import { setImmediate } from 'node:timers/promises';

/** Items of a turn. Converting so many sums of usage takes about a millisecond. */
export const ITEMS_PER_TURN = 200;

/** @returns what `make` makes of each part of the list, in order */
export async function inTurns<Item, Made>(
  items: readonly Item[],
  make: (part: readonly Item[]) => Made,
): Promise<readonly Made[]> {
  const made: Made[] = [];
  for (let from = 0; from < items.length; from += ITEMS_PER_TURN) {
    if (from > 0) await setImmediate();
    made.push(make(items.slice(from, from + ITEMS_PER_TURN)));
  }
  return made;
}
