/** The rows of a list that a person has chosen, for an action on all of them. */

import { useState } from 'preact/hooks';

export interface Selection<Item> {
  readonly chosen: readonly Item[];
  readonly mayChoose: (item: Item) => boolean;
  readonly nameOf: (item: Item) => string;
  readonly has: (item: Item) => boolean;
  readonly hasAll: (items: readonly Item[]) => boolean;
  readonly toggle: (item: Item) => void;
  readonly toggleAll: (items: readonly Item[]) => void;
  readonly clear: () => void;
}

/** @param items - What is loaded: a row that left the list is not chosen any more. */
export function useSelection<Item extends { readonly id: string; readonly name: string }>(
  items: readonly Item[] | undefined,
  mayChoose: (item: Item) => boolean,
): Selection<Item> {
  const [ids, setIds] = useState<ReadonlySet<string>>(new Set());
  const open = (among: readonly Item[]) => among.filter(mayChoose);
  const hasAll = (among: readonly Item[]) =>
    open(among).length > 0 && open(among).every(({ id }) => ids.has(id));
  return {
    chosen: open(items ?? []).filter(({ id }) => ids.has(id)),
    mayChoose,
    nameOf: ({ name }) => name,
    has: ({ id }) => ids.has(id),
    hasAll,
    toggle: ({ id }) => {
      const next = new Set(ids);
      if (!next.delete(id)) next.add(id);
      setIds(next);
    },
    toggleAll: (among) => {
      setIds(hasAll(among) ? new Set() : new Set(open(among).map(({ id }) => id)));
    },
    clear: () => {
      setIds(new Set());
    },
  };
}
