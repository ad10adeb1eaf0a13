/** Who changed what, the newest first. */

import { emptyText } from '../shared/filter-form.js';
import { Id } from '../shared/ids.js';
import { PagedTable } from '../shared/paged-table.js';
import { usePages } from '../shared/pages.js';
import { Time } from '../shared/parts.js';
import { route } from '../shared/router.js';
import { AccountLink } from './account-link.js';
import { SearchField } from './search.js';
import { call } from './session.js';

const COLUMNS = [
  { label: 'Time' },
  { label: 'Who' },
  { label: 'Action' },
  { label: 'On' },
  { label: 'Details' },
] as const;

const NONE = 'No action yet.';

export function Trail() {
  const { account_id = '', key_id = '' } = route.value.query;
  return (
    <section class="card" aria-label="Trail">
      <h2>Trail of actions</h2>
      <div class="row">
        <SearchField name="account_id" label="Account id" />
        <SearchField name="key_id" label="Key id" />
      </div>
      <TrailList
        accountId={account_id}
        keyId={key_id}
        empty={emptyText({ 'the account id': account_id, 'the key id': key_id }, NONE)}
      />
    </section>
  );
}

export function TrailList(of: {
  readonly accountId: string;
  readonly keyId?: string;
  readonly empty?: string;
}) {
  const query = { account_id: of.accountId, key_id: of.keyId, limit: 50 };
  const list = usePages(JSON.stringify(query), (cursor, signal) =>
    call('GET /admin/trail', { query: { ...query, cursor }, signal }),
  );
  return (
    <PagedTable
      list={list}
      what="the trail"
      columns={COLUMNS}
      empty={of.empty ?? NONE}
      row={(entry) => (
        <tr key={entry.seq}>
          <td>
            <Time iso={entry.created_at} />
          </td>
          <td>
            {entry.actor}
            <span class="when">{entry.address}</span>
          </td>
          <td>{entry.action}</td>
          <td>
            {entry.account_id !== null && <AccountLink id={entry.account_id} />}
            {entry.key_id !== null && (
              <span class="when">
                <Id of={entry.key_id} />
              </span>
            )}
          </td>
          <td class="id">{detailsText(entry.details)}</td>
        </tr>
      )}
    />
  );
}

function detailsText(details: unknown): string {
  if (details === null || details === undefined) return '';
  return typeof details === 'string' ? details : JSON.stringify(details);
}
