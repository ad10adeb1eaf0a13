/** Appends items. Unlike `push(...items)`, it is not limited by the size of the stack. */
export function append<Item>(list: Item[], items: readonly Item[]): void {
  for (const item of items) list.push(item);
}

/** The list, or undefined when it is empty, so that `JSON.stringify` leaves the member out. */
export function listed<Item>(items: Item[]): Item[] | undefined {
  return items.length > 0 ? items : undefined;
}

/** A list of one item, or an empty list for undefined. */
export function listOf<Item>(item: Item | undefined): Item[] {
  return item === undefined ? [] : [item];
}
