/** Unlike `push(...items)`, not limited by the size of the stack. */
export function append<Item>(list: Item[], items: readonly Item[]): void {
  for (const item of items) list.push(item);
}

/** The list, unless it is empty: a member that is undefined is not written. */
export function listed<Item>(items: Item[]): Item[] | undefined {
  return items.length > 0 ? items : undefined;
}

/** Of one item, or of none. */
export function listOf<Item>(item: Item | undefined): Item[] {
  return item === undefined ? [] : [item];
}
