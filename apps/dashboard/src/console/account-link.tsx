/** An account or a key in a list: its name, with the id as a detail. */

import { Id } from '../shared/text/ids.js';
import { to } from '../shared/api/router.js';
import { nameOf } from './names.js';

export function AccountLink({ id }: { readonly id: string | null }) {
  return id === null ? (
    <span class="quiet">unknown</span>
  ) : (
    <a href={to(['accounts', id])} title={id}>
      {nameOf(id) ?? <Id of={id} />}
    </a>
  );
}

export function KeyName({ id }: { readonly id: string }) {
  return <span title={id}>{nameOf(id) ?? <Id of={id} />}</span>;
}

/** The name of an account or a key for sorting and for files; its id if it has none. */
export function nameOrId(id: string | null): string | null {
  return id === null ? null : (nameOf(id) ?? id);
}
