/**
 * The open part of the page and its filters, kept in the fragment of the address:
 * `#/ledger?kind=charge`. A fragment is not sent to any server, and going back restores filters.
 */

import { computed, signal } from '@preact/signals';
import { withQuery } from './api.js';

export interface Route {
  /** Parts of the path: `#/accounts/acct_1` is `['accounts', 'acct_1']`. */
  readonly path: readonly string[];
  readonly query: Readonly<Record<string, string>>;
}

const fragment = signal(location.hash);
addEventListener('hashchange', () => {
  fragment.value = location.hash;
});

export const route = computed<Route>(() => {
  const [path = '', search = ''] = fragment.value.replace(/^#\/?/, '').split('?', 2);
  return {
    path: path.split('/').filter(Boolean).map(decoded),
    query: Object.fromEntries(new URLSearchParams(search)),
  };
});

/** The address of a place on this page. */
export function to(path: readonly string[], query: Route['query'] = {}): string {
  return withQuery(`#/${path.map(encodeURIComponent).join('/')}`, query);
}

/** A filter of the address: an empty one is none. */
export function given(text: string | undefined): string | undefined {
  return text === '' ? undefined : text;
}

/** Changes filters. Going back in the browser undoes each change. */
export function changeQuery(change: Route['query']): void {
  const { path, query } = route.peek();
  location.hash = to(path, { ...query, ...change });
  // The event of this change comes later: a second change before it must not undo the first one.
  fragment.value = location.hash;
}

/** Takes the query out of the address. Going back does not bring it again. */
export function forgetQuery(): void {
  history.replaceState(null, '', to(route.peek().path));
  fragment.value = location.hash;
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
