/** The ledger of all accounts. Its filters are in the address, so a view can be shared. */

import { BOOKING_NAMES, OpenedCharge } from '../shared/charge.js';
import { ExpandableRow } from '../shared/expandable-row.js';
import { FilterForm, emptyText, kindText } from '../shared/filter-form.js';
import type { Sent } from '../shared/gateway-types.js';
import { PagedTable } from '../shared/paged-table.js';
import { usePages } from '../shared/pages.js';
import { Facts, Money, Time, optionOf } from '../shared/parts.js';
import { useResource } from '../shared/resource.js';
import { SaveCsv } from '../shared/save-csv.js';
import { route } from '../shared/router.js';
import { dayAfter } from '../shared/times.js';
import { AccountLink } from './account-link.js';
import { call } from './session.js';

type Entry = Sent<'chargeEntry'> | Sent<'bookingEntry'>;

const KINDS = [
  ['all', 'Everything'],
  ['charge', 'Charges'],
  ['top_up', 'Credits'],
  ['adjustment', 'Corrections'],
  ['expiry', 'Expired credits'],
] as const;

const COLUMNS = [
  { label: 'What' },
  { label: 'Amount', isNumber: true },
  { label: 'Balance after', isNumber: true },
  { label: 'Account' },
  { label: 'Details' },
] as const;

const FILTERS = [
  { name: 'from', label: 'First day (UTC)', type: 'date' },
  { name: 'until', label: 'Last day (UTC)', type: 'date' },
  { name: 'account_id', label: 'Account id' },
  { name: 'key_id', label: 'Key id' },
] as const;

export function Ledger() {
  const models = useResource('models', (signal) => call('GET /admin/models', { signal }));
  const offers = (models.value?.data ?? []).map(({ id }) => id);
  return (
    <section class="card" aria-label="Ledger">
      <h2>Ledger</h2>
      <FilterForm
        fields={[...FILTERS, { name: 'model', label: 'Model', offers }]}
        button="Filter"
        kinds={KINDS}
      />
      <EntryList filters={route.value.query} />
    </section>
  );
}

export interface EntryFilters {
  readonly kind?: string;
  /** Days in UTC, both included. */
  readonly from?: string;
  readonly until?: string;
  readonly account_id?: string;
  readonly key_id?: string;
  readonly model?: string;
}

/** @param props.isOfOne - Whether all entries are of one account; its column is then left out. */
export function EntryList(props: { readonly filters: EntryFilters; readonly isOfOne?: boolean }) {
  const { filters, isOfOne = false } = props;
  const { from = '', until = '', account_id, key_id, model } = filters;
  const kind = optionOf(KINDS, filters.kind);
  const query = {
    kind: kind === 'all' ? undefined : kind,
    account_id,
    key_id,
    model,
    from: from === '' ? undefined : `${from}T00:00:00Z`,
    until: until === '' ? undefined : `${dayAfter(until)}T00:00:00Z`,
    limit: 50,
  };
  const list = usePages(JSON.stringify(query), (cursor, signal) =>
    call('GET /admin/ledger', { query: { ...query, cursor }, signal }),
  );
  // A balance changes by what stands in the list only if all of it belongs to one account and
  // nothing is left out.
  const hasBalance =
    given(account_id) && !given(key_id) && !given(model) && query.kind === undefined;
  const columns = COLUMNS.filter(
    ({ label }) => !(isOfOne && label === 'Account') && (hasBalance || label !== 'Balance after'),
  );
  return (
    <>
      <SaveCsv
        fileName="ledger"
        read={(cursor) =>
          call('GET /admin/ledger', { query: { ...query, limit: 1_000, format: 'csv', cursor } })
        }
      />
      <PagedTable
        list={list}
        what="the ledger"
        columns={columns}
        empty={emptyText(
          {
            '': kindText(KINDS, kind),
            ...(isOfOne ? {} : { 'the account id': account_id }),
            'the key id': key_id,
            'the model': model,
            'the first day': from,
            'the last day': until,
          },
          'No entry yet.',
        )}
        row={(entry) => (
          <Row
            key={entry.id + entry.account_id}
            entry={entry}
            columns={columns.map(({ label }) => label)}
          />
        )}
      />
    </>
  );
}

function given(text: string | undefined): boolean {
  return text !== undefined && text !== '';
}

function Row(props: {
  readonly entry: Entry;
  /** The labels of the columns that are shown. */
  readonly columns: readonly string[];
}) {
  const { entry, columns } = props;
  return (
    <ExpandableRow
      data={{ 'data-entry': entry.id }}
      what={`entry ${entry.id}`}
      columns={columns.length}
      details={() => <EntryDetails entry={entry} />}
    >
      <td>
        {entry.kind === 'charge' ? entry.model : BOOKING_NAMES[entry.kind]}
        <span class="when">
          <Time iso={entry.created_at} />
        </span>
      </td>
      <td class="n">
        <Money usd={entry.amount_usd} />
      </td>
      {columns.includes('Balance after') && (
        <td class="n">
          <Money usd={entry.balance_after_usd} />
        </td>
      )}
      {columns.includes('Account') && (
        <td>
          <AccountLink id={entry.account_id} />
        </td>
      )}
    </ExpandableRow>
  );
}

export function EntryDetails({ entry }: { readonly entry: Entry }) {
  if (entry.kind === 'charge') {
    const more = [
      ['Upstream account', entry.upstream_account],
      ['Key', entry.key_id],
      ['Cost to you', entry.cost_usd === undefined ? null : `${entry.cost_usd} USD`],
      ['Margin', entry.margin_usd === undefined ? null : `${entry.margin_usd} USD`],
      ["Account's balance after it", `${entry.balance_after_usd} USD`],
    ] as const;
    return <OpenedCharge charge={entry} requestId={entry.id} more={more} />;
  }
  const facts = [
    ['Id', entry.id],
    ["Account's balance after it", `${entry.balance_after_usd} USD`],
    ['Source', entry.source],
    ['Reason', entry.reason],
    ['Reference', entry.reference],
    ['Note', entry.note],
    ['By', entry.actor],
    ['Expires', entry.expires_at],
  ] as const;
  return <Facts facts={facts} />;
}
