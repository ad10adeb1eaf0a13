/** Who changed what, the newest first. */

import { FilterForm, emptyText } from '../shared/controls/filter-form.js';
import type { Sent } from '../shared/api/gateway-types.js';
import { PagedTable } from '../shared/controls/paged-table.js';
import type { Column } from '../shared/controls/paged-table.js';
import { Facts } from '../shared/controls/parts.js';
import type { Fact } from '../shared/controls/parts.js';
import { pageLimit, usePages } from '../shared/api/pages.js';
import { route } from '../shared/api/router.js';
import { AccountLink, KeyName, nameOrId } from './account-link.js';
import { nameOf, namedField } from './names.js';
import { call } from './session.js';
import { sentenceOf } from './trail-sentence.js';

type Entry = Sent<'trailEntry'>;

const COLUMNS: readonly Column<Entry>[] = [
  { label: 'Time', kind: 'time', value: (entry) => entry.created_at },
  {
    label: 'What',
    value: (entry) => sentenceOf(entry, (id) => nameOrId(id) ?? id),
    cell: (entry, sentence) => (
      <>
        <strong class="what">{sentence}</strong>
        <span class="when">{entry.action}</span>
      </>
    ),
  },
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
  {
    label: 'Account',
    value: (entry) => nameOrId(entry.account_id),
    cell: (entry, shown) =>
      entry.account_id === null ? shown : <AccountLink id={entry.account_id} />,
  },
  { label: 'Key', value: (entry) => nameOrId(entry.key_id), isOnlyInFiles: true },
  { label: 'Action', value: (entry) => entry.action, isOnlyInFiles: true },
  { label: 'Details', value: ({ details }) => JSON.stringify(details), isOnlyInFiles: true },
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
      details={(entry) => () => <Facts facts={factsOf(entry)} />}
      detailsOf="entry"
      file="trail"
    />
  );
}

/** Each value as it is stored. */
function factsOf({ key_id: key, details, personal }: Entry): readonly Fact[] {
  const texts = typeof personal === 'string' ? { personal } : personal;
  return [
    ['key', key === null ? null : <KeyName id={key} />],
    ...Object.entries({ ...details, ...texts }).map(([name, value]): Fact => [
      name,
      typeof value === 'string' ? value : JSON.stringify(value),
    ]),
  ];
}
