/** The id of an account in a list, as a link to its page. */

import { Id } from '../shared/ids.js';
import { to } from '../shared/router.js';

export function AccountLink({ id }: { readonly id: string | null }) {
  return id === null ? (
    <span class="quiet">unknown</span>
  ) : (
    <a href={to(['accounts', id])}>
      <Id of={id} />
    </a>
  );
}
