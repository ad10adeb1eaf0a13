/** All keys. */

import { KeyCaps, KeyState } from '../shared/key-parts.js';
import { emptyText } from '../shared/filter-form.js';
import { PagedTable } from '../shared/paged-table.js';
import { usePages } from '../shared/pages.js';
import { Money, Time } from '../shared/parts.js';
import { route, to } from '../shared/router.js';
import { FindKey } from './find-key.js';
import { OrderChoice, orderNow } from './order.js';
import { SearchField } from './search.js';
import { call } from './session.js';

const COLUMNS = [
  { label: 'Key' },
  { label: 'State' },
  { label: "Account's balance", isNumber: true },
  { label: 'Spent', isNumber: true },
  { label: 'Caps' },
  { label: 'Last charge' },
] as const;

export function Keys() {
  const { name = '', external_id = '' } = route.value.query;
  const query = { name, external_id, order: orderNow(), limit: 200 };
  const list = usePages(JSON.stringify(query), (after, signal) =>
    call('GET /admin/keys', { query: { ...query, after }, signal }),
  );
  return (
    <div class="stack">
      <FindKey />
      <section class="card" aria-label="Keys">
        <h2>Keys</h2>
        <div class="row">
          <SearchField name="name" label="Name contains" />
          <SearchField name="external_id" label="External id" />
          <OrderChoice />
        </div>
        <PagedTable
          list={list}
          what="the keys"
          columns={COLUMNS}
          empty={emptyText(
            { 'the name': name, 'the external id': external_id },
            'There is no key. Keys are created on the page of their account.',
          )}
          row={(key) => (
            <tr key={key.id} data-key={key.id}>
              <td>
                <a href={to(['accounts', key.account_id])}>{key.name}</a>
                <br />
                <span class="id quiet">{key.hint}</span>
              </td>
              <td>
                <KeyState of={key} />
              </td>
              <td class="n">
                <Money usd={key.balance_usd} />
              </td>
              <td class="n">
                <Money usd={key.spent_usd} />
              </td>
              <td>
                <KeyCaps caps={key.caps} />
              </td>
              <td>
                <Time iso={key.last_charged_at} />
              </td>
            </tr>
          )}
        />
      </section>
    </div>
  );
}
