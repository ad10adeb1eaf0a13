/** The charges of the key, and the credits and corrections of its account, the newest first. */

import { BookingText, OpenedCharge, negated } from '../shared/charge.js';
import { ExpandableRow } from '../shared/expandable-row.js';
import { FilterForm } from '../shared/filter-form.js';
import { PagedTable } from '../shared/paged-table.js';
import { usePages } from '../shared/pages.js';
import { Money, Time, optionOf } from '../shared/parts.js';
import { route } from '../shared/router.js';
import { call } from './session.js';
import type { Sent } from './session.js';

type Entry = Sent<'Usage'> | Sent<'Credit'>;

const KINDS = [
  ['all', 'Everything'],
  ['charge', 'Charges'],
  ['credit', 'Credits and corrections'],
] as const;

const COLUMNS = [
  { label: 'What' },
  { label: 'Amount', isNumber: true },
  { label: 'Balance after', isNumber: true },
  { label: 'Details' },
] as const;

const FILTERS = [
  { name: 'from', label: 'First day (UTC)', type: 'date' },
  { name: 'until', label: 'Last day (UTC)', type: 'date' },
  { name: 'model', label: 'Model' },
] as const;

export function Ledger() {
  const { model = '', from = '', until = '' } = route.value.query;
  const kind = optionOf(KINDS, route.value.query['kind']);
  const query = { kind, model, from, until, limit: 50 };
  const list = usePages(JSON.stringify(query), (cursor, signal) =>
    call('GET', '/v1/dashboard/usage', { query: { ...query, cursor }, signal }),
  );
  return (
    <section class="card" aria-label="Ledger">
      <h2>Ledger</h2>
      <FilterForm fields={FILTERS} button="Filter" kinds={KINDS} />
      <PagedTable
        list={list}
        what="the ledger"
        columns={COLUMNS}
        empty="Nothing here yet, or nothing that fits these filters."
        row={(entry) => <Row key={idOf(entry)} entry={entry} />}
      />
    </section>
  );
}

function idOf(entry: Entry): string {
  return entry.object === 'usage' ? entry.request_id : entry.id;
}

function Row({ entry }: { readonly entry: Entry }) {
  const isCharge = entry.object === 'usage';
  return (
    <ExpandableRow
      data={{ 'data-entry': idOf(entry) }}
      what={`charge ${idOf(entry)}`}
      columns={COLUMNS.length}
      details={
        isCharge ? () => <OpenedCharge charge={entry} requestId={entry.request_id} /> : undefined
      }
    >
      <td>
        {isCharge ? entry.model : <BookingText booking={entry} />}
        <span class="when">
          <Time iso={entry.created_at} />
        </span>
      </td>
      <td class="n">
        <Money usd={isCharge ? negated(entry.charge_usd) : entry.amount_usd} />
      </td>
      <td class="n">
        <Money usd={entry.balance_after_usd} />
      </td>
    </ExpandableRow>
  );
}
