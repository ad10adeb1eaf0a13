/** An account in a list, by its name if it is known, as a link to its page. */

import { Id } from '../shared/ids.js';
import { to } from '../shared/router.js';

export function AccountLink(props: {
  readonly id: string | null;
  readonly name?: string | undefined;
}) {
  const { id, name } = props;
  return id === null ? (
    <span class="quiet">unknown</span>
  ) : (
    <a href={to(['accounts', id])}>{name ?? <Id of={id} />}</a>
  );
}
