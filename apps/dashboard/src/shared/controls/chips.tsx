/** The filters in force, each with a button that removes it. */

import { changeQuery, given } from '../api/router.js';
import type { Route } from '../api/router.js';

export interface Chip {
  /** Such as `Model: claude-opus-5`. */
  readonly text: string;
  /** What removes the filter from the address. */
  readonly change: Route['query'];
}

/** The chip of one filter; none if the address does not have it. */
export function chipOf(
  query: Route['query'],
  name: string,
  textOf: (value: string) => string,
): readonly Chip[] {
  const value = given(query[name]);
  return value === undefined ? [] : [{ text: textOf(value), change: { [name]: '' } }];
}

export function Chips({ of }: { readonly of: readonly Chip[] }) {
  if (of.length === 0) return null;
  return (
    <p class="row no-print">
      {of.map(({ text, change }) => (
        <button
          key={text}
          type="button"
          class="small chip"
          onClick={() => {
            changeQuery(change);
          }}
        >
          {text} <span aria-hidden="true">×</span>
          <span class="hidden">, remove this filter</span>
        </button>
      ))}
    </p>
  );
}
