/** Unlike `push(...items)`, not limited by the size of the stack. */
export function append<Item>(list: Item[], items: readonly Item[]): void {
  for (const item of items) list.push(item);
}
