/** All keys. */

import { columnsOf } from '../shared/controls/columns.js';
import { emptyText } from '../shared/controls/filter-form.js';
import type { Sent } from '../shared/api/gateway-types.js';
import { CAPS_COLUMN, KeyState } from '../shared/keys/key-parts.js';
import { PagedTable } from '../shared/controls/paged-table.js';
import type { Column } from '../shared/controls/paged-table.js';
import { pageLimit, usePages } from '../shared/api/pages.js';
import { route } from '../shared/api/router.js';
import { AccountLink, nameOrId } from './account-link.js';
import { FindKey } from './find-key.js';
import { NameFilter, changeOrder, orderNow } from './list-filters.js';
import { call } from './session.js';

const COLUMNS: readonly Column<Sent<'key'>>[] = columnsOf('keys', {
  name: {
    label: 'Key',
    cell: ({ id, hint }, name) => (
      <span title={id}>
        {name}
        <span class="when id">{hint}</span>
      </span>
    ),
  },
  account_id: {
    value: (key) => nameOrId(key.account_id),
    cell: (key) => <AccountLink id={key.account_id} />,
  },
  standing: { cell: (key) => <KeyState of={key} /> },
  balance_usd: { label: "Account's balance", order: { name: 'balance', isRising: true } },
  spent_usd: { order: { name: 'spent' } },
  caps: CAPS_COLUMN,
  last_charged_at: { order: { name: 'last_charged' } },
});

export function Keys() {
  const { name = '', external_id = '' } = route.value.query;
  const query = { name, external_id, order: orderNow() };
  const list = usePages(JSON.stringify(query), (after, signal) =>
    call('GET /admin/keys', { query: { ...query, limit: pageLimit(after), after }, signal }),
  );
  return (
    <div class="stack">
      <FindKey />
      <section class="card" aria-label="Keys">
        <h2>Keys</h2>
        <NameFilter />
        <PagedTable
          list={list}
          what="the keys"
          columns={COLUMNS}
          empty={emptyText(
            { 'the name': name, 'the external id': external_id },
            'There is no key. Keys are created on the page of their account.',
          )}
          idOf={({ id }) => id}
          rowName="data-key"
          order={{ name: orderNow(), change: changeOrder }}
          file="keys"
        />
      </section>
    </div>
  );
}
