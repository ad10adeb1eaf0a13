/** Lists that the gateway sends page by page. */

import { useEffect, useRef, useState } from 'preact/hooks';
import { patiently } from './api.js';
import type { Answer, Failure, Page, Success } from './api.js';
import { useLive } from './freshness.js';
import type { Resource } from './resource.js';

export interface Paged<Item> {
  readonly items: readonly Item[] | undefined;
  readonly failure: Failure | undefined;
  readonly isLoading: boolean;
  readonly hasMore: boolean;
  /** Charges before this time are in an archive, and not in the list. */
  readonly archivedUntil: string | undefined;
  readonly more: () => void;
  readonly reload: () => void;
  /** Reads the list to its end, beyond what is loaded. */
  readonly all: () => Promise<Answer<readonly Item[]>>;
  /**
   * Set by what shows the list: whether something that the person has opened would close if the
   * list had only these items. A quiet loading then leaves the list as it is.
   */
  readonly wouldLose?: { current: (items: readonly Item[]) => boolean };
}

/** A list that the gateway sends as a whole. */
export function wholeList<Value, Item>(
  { value, failure, isLoading, reload }: Resource<Value>,
  itemsOf: (value: Value) => readonly Item[],
): Paged<Item> {
  return {
    items: value === undefined ? undefined : itemsOf(value),
    failure,
    isLoading,
    hasMore: false,
    archivedUntil: undefined,
    more: reload,
    reload,
    all: () => Promise.resolve(allOf(value === undefined ? [] : itemsOf(value))),
  };
}

/** A part of what is on the screen already, whose failures are shown elsewhere. */
export function loadedList<Item>(items: readonly Item[]): Paged<Item> {
  const nothing = () => undefined;
  const state = { failure: undefined, isLoading: false, hasMore: false, archivedUntil: undefined };
  const all = () => Promise.resolve(allOf(items));
  return { ...state, items, more: nothing, reload: nothing, all };
}

function allOf<Item>(items: readonly Item[]): Success<readonly Item[]> {
  return { ok: true, value: items, text: '' };
}

/** @param from - The cursor of the first page that is missing. */
async function readRest<Item>(
  items: readonly Item[],
  from: string | undefined,
  load: (cursor: string) => Promise<Answer<Page<Item>>>,
): Promise<Answer<readonly Item[]>> {
  const all = [...items];
  for (let cursor = from; cursor !== undefined;) {
    const at = cursor;
    const page = await patiently(() => load(at));
    if (!page.ok) return page;
    all.push(...page.value.data);
    cursor = page.value.next_cursor ?? undefined;
  }
  return allOf(all);
}

interface State<Item> {
  readonly of: string;
  readonly items: readonly Item[] | undefined;
  readonly failure: Failure | undefined;
  /** The page that is loading; the first page has no cursor. `undefined` while none is loading. */
  readonly loading: { readonly cursor: string | undefined; readonly isQuiet?: true } | undefined;
  /** Whether the person has loaded more than the first page. */
  readonly hasGrown: boolean;
  readonly next: string | undefined;
  readonly archivedUntil: string | undefined;
}

/** The first page is short, so that it comes at once; who asks for more gets much more. */
export function pageLimit(cursor: string | undefined): number {
  return cursor === undefined ? 50 : 500;
}

function beginning<Item>(of: string): State<Item> {
  return {
    of,
    items: undefined,
    failure: undefined,
    loading: { cursor: undefined },
    hasGrown: false,
    next: undefined,
    archivedUntil: undefined,
  };
}

/**
 * Loads the first page, and one more with each `more`. While it is the only one, it is loaded again
 * quietly, unless `wouldLose` what the person has opened.
 *
 * @param of - A name for the list. When it changes, the list is loaded from the start.
 */
export function usePages<Item>(
  of: string,
  load: (cursor: string | undefined, signal: AbortSignal) => Promise<Answer<Page<Item>>>,
): Paged<Item> {
  const [kept, setState] = useState<State<Item>>(beginning(of));
  const state = kept.of === of ? kept : beginning<Item>(of);
  const { loading } = state;
  /** Counts reloads: a reload while the first page loads begins that page again. */
  const [turn, setTurn] = useState(0);
  const live = useLive(true);
  const wouldLose = useRef<(items: readonly Item[]) => boolean>(() => false);
  useEffect(() => {
    if (loading === undefined) return;
    const controller = new AbortController();
    live.triedAt = Date.now();
    void load(loading.cursor, controller.signal).then((answer) => {
      if (controller.signal.aborted) return;
      if (answer.ok && loading.isQuiet === true && wouldLose.current(answer.value.data)) {
        setState((before) => ({ ...before, failure: undefined, loading: undefined }));
        return;
      }
      if (answer.ok) live.loadedAt = Date.now();
      setState((before) => {
        const items = before.of === of ? before.items : undefined;
        if (!answer.ok) {
          return {
            ...state,
            items,
            failure: answer.failure,
            loading: undefined,
            next: loading.cursor,
          };
        }
        const { data, next_cursor, archived_until: archivedUntil } = answer.value;
        return {
          of,
          items: loading.cursor === undefined ? data : [...(items ?? []), ...data],
          failure: undefined,
          loading: undefined,
          hasGrown: loading.cursor !== undefined,
          next: next_cursor ?? undefined,
          archivedUntil: archivedUntil ?? undefined,
        };
      });
    });
    return () => {
      controller.abort();
    };
  }, [of, loading?.cursor, loading === undefined, turn]);
  const isLoading = loading !== undefined && loading.isQuiet !== true;
  const reload = () => {
    setTurn((before) => before + 1);
    setState((before) => ({ ...before, failure: undefined, loading: { cursor: undefined } }));
  };
  Object.assign(live, {
    isLoading: loading !== undefined,
    failure: state.failure,
    reload,
    refresh: () => {
      // Only the first page is loaded again, so rows that the person asked for would vanish.
      if (state.hasGrown || state.items === undefined) return;
      setState((before) => ({ ...before, loading: { cursor: undefined, isQuiet: true } }));
    },
  });
  return {
    items: state.items,
    failure: state.failure,
    isLoading,
    hasMore: state.next !== undefined,
    archivedUntil: state.archivedUntil,
    wouldLose,
    more: () => {
      setState({ ...state, failure: undefined, loading: { cursor: state.next } });
    },
    reload,
    all: () =>
      readRest(state.items ?? [], state.next, (at) => load(at, new AbortController().signal)),
  };
}
