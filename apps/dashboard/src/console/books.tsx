/** The books of a month: each account's money from the opening to the closing balance. */

import { Amount, Figure } from '../shared/controls/figures.js';
import type { Sent } from '../shared/api/gateway-types.js';
import { PagedTable } from '../shared/controls/paged-table.js';
import type { Column } from '../shared/controls/paged-table.js';
import { pageLimit, usePages } from '../shared/api/pages.js';
import { Choice, Loaded, Signed } from '../shared/controls/parts.js';
import { useResource } from '../shared/api/resource.js';
import { changeQuery, route } from '../shared/api/router.js';
import { SaveCsv } from '../shared/controls/save-csv.js';
import { monthStart, utcDay } from '../shared/text/times.js';
import { sumUsd } from '../shared/text/usd.js';
import { AccountLink } from './account-link.js';
import { call } from './session.js';

type Of = Sent<'books'>['data'][number];

const adjusted = ({ adjusted_usd: of }: Pick<Of, 'adjusted_usd'>) => sumUsd(Object.values(of));

const COLUMNS: readonly Column<Of>[] = [
  {
    label: 'Account',
    value: ({ name, account_id: id }) => (name === '' ? id : name),
    cell: ({ account_id: id }) => <AccountLink id={id} />,
  },
  { label: 'Opening', kind: 'usd', value: (of) => of.opening_balance_usd },
  { label: 'Paid', kind: 'usd', value: (of) => of.paid_usd },
  { label: 'Promotional', kind: 'usd', value: (of) => of.promotional_usd },
  { label: 'Adjusted', kind: 'usd', value: adjusted },
  { label: 'Expired', kind: 'usd', value: (of) => of.expired_usd },
  { label: 'Charged', kind: 'usd', value: (of) => of.charged_usd },
  { label: 'Closing', kind: 'usd', value: (of) => of.closing_balance_usd },
];

/** So many months back can be chosen. */
const MONTHS = 24;

export function Books() {
  const months = Array.from({ length: MONTHS }, (_, back) => {
    const month = utcDay(monthStart(Date.now(), back)).slice(0, 7);
    return [month, back === 0 ? `${month}, so far` : month] as const;
  });
  const { month: asked = '' } = route.value.query;
  const month = months.some(([name]) => name === asked) ? asked : (months[0]?.[0] ?? '');
  const total = useResource(`books ${month}`, (signal) =>
    call('GET /admin/books', { query: { month, limit: 1 }, signal }),
  );
  const list = usePages(`books ${month}`, (cursor, signal) =>
    call('GET /admin/books', { query: { month, limit: pageLimit(cursor), cursor }, signal }),
  );
  return (
    <section class="card" aria-label="Books">
      <h2>Books of {month}</h2>
      <div class="row no-print">
        <Choice
          label="Month (UTC)"
          value={month}
          options={months}
          onValue={(value) => {
            changeQuery({ month: value });
          }}
        />
        <SaveCsv
          fileName={`books-${month}`}
          read={() => call('GET /admin/books', { query: { month, format: 'csv' } })}
        />
      </div>
      <Loaded of={total} what="the sums of the month">
        {({ total: of }) => (
          <dl class="grid" id="books-total">
            <Amount name="Opening balances" usd={of.opening_balance_usd} />
            <Amount name="Paid" usd={of.paid_usd} />
            <Amount name="Promotional" usd={of.promotional_usd} />
            <Amount name="Adjusted" usd={adjusted(of)} />
            <Amount name="Expired" usd={of.expired_usd} />
            <Amount name="Charged" usd={of.charged_usd} />
            <Amount name="Closing balances" usd={of.closing_balance_usd} />
            {of.cost_usd !== undefined && <Amount name="Cost" usd={of.cost_usd} />}
            {of.cost_usd !== undefined && (
              <Figure name="Margin">
                {of.margin_usd === undefined ? 'unknown' : <Signed usd={of.margin_usd} />}
              </Figure>
            )}
          </dl>
        )}
      </Loaded>
      <PagedTable
        list={list}
        what="the books by account"
        columns={COLUMNS}
        empty={
          list.hasMore ? 'None of the first accounts has a balance.' : 'No account has a balance.'
        }
        comesBy="their account"
        idOf={({ account_id: id }) => id}
        rowName="data-books"
      />
    </section>
  );
}
