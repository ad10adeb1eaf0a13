/** The filters in force, each with a button that removes it. */

import { changeQuery } from '../api/router.js';

interface Chip {
  /** The name of the filter in the address. */
  readonly name: string;
  /** Such as `Model: claude-opus-5`. */
  readonly text: string;
}

export function Chips({ of }: { readonly of: readonly Chip[] }) {
  if (of.length === 0) return null;
  return (
    <p class="row no-print">
      {of.map(({ name, text }) => (
        <button
          key={name}
          type="button"
          class="small chip"
          onClick={() => {
            changeQuery({ [name]: '' });
          }}
        >
          {text} <span aria-hidden="true">×</span>
          <span class="hidden">, remove this filter</span>
        </button>
      ))}
    </p>
  );
}
