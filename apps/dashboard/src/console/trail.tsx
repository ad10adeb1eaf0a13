/** Who changed what, the newest first. */

import { FilterForm, emptyText } from '../shared/controls/filter-form.js';
import type { Sent } from '../shared/api/gateway-types.js';
import { PagedTable } from '../shared/controls/paged-table.js';
import type { Column } from '../shared/controls/paged-table.js';
import { pageLimit, usePages } from '../shared/api/pages.js';
import { route } from '../shared/api/router.js';
import { AccountLink, KeyName, nameOrId } from './account-link.js';
import { nameOf, namedField } from './names.js';
import { call } from './session.js';

const COLUMNS: readonly Column<Sent<'trailEntry'>>[] = [
  { label: 'Time', kind: 'time', value: (entry) => entry.created_at },
  {
    label: 'Who',
    value: (entry) => entry.actor,
    cell: (entry, who) => (
      <>
        {who}
        <span class="when">{entry.address}</span>
      </>
    ),
  },
  { label: 'Action', value: (entry) => entry.action },
  {
    label: 'On',
    value: (entry) =>
      [entry.account_id, entry.key_id].flatMap((id) => nameOrId(id) ?? []).join(', '),
    cell: (entry) => (
      <>
        {entry.account_id !== null && <AccountLink id={entry.account_id} />}
        {entry.key_id !== null && (
          <span class="when">
            key <KeyName id={entry.key_id} />
          </span>
        )}
      </>
    ),
  },
  {
    label: 'Details',
    value: ({ details }) => detailsText(details),
    cell: (_, text) => <span class="id">{text}</span>,
  },
];

const NONE = 'No action yet.';

export function Trail() {
  const { account_id = '', key_id = '' } = route.value.query;
  return (
    <section class="card" aria-label="Trail">
      <h2>Trail of actions</h2>
      <FilterForm
        fields={[namedField('account_id', 'Account'), namedField('key_id', 'Key')]}
        button="Filter"
      />
      <TrailList
        accountId={account_id}
        keyId={key_id}
        empty={emptyText(
          { 'the account': nameOf(account_id) ?? account_id, 'the key': nameOf(key_id) ?? key_id },
          NONE,
        )}
      />
    </section>
  );
}

export function TrailList(of: {
  readonly accountId: string;
  readonly keyId?: string;
  readonly empty?: string;
}) {
  const query = { account_id: of.accountId, key_id: of.keyId };
  const list = usePages(JSON.stringify(query), (cursor, signal) =>
    call('GET /admin/trail', { query: { ...query, limit: pageLimit(cursor), cursor }, signal }),
  );
  return (
    <PagedTable
      list={list}
      what="the trail"
      columns={COLUMNS}
      empty={of.empty ?? NONE}
      idOf={({ seq }) => seq}
      file="trail"
    />
  );
}

function detailsText(details: unknown): string {
  if (details === null || details === undefined) return '';
  return typeof details === 'string' ? details : JSON.stringify(details);
}
