/** The ledger of all accounts. Its filters are in the address, so a view can be shared. */

import { useState } from 'preact/hooks';
import { BOOKING_NAMES, OpenedCharge } from '../shared/money/charge.js';
import { FilterForm, emptyText, kindText } from '../shared/controls/filter-form.js';
import type { Sent } from '../shared/api/gateway-types.js';
import { PagedTable } from '../shared/controls/paged-table.js';
import type { Column } from '../shared/controls/paged-table.js';
import { pageLimit, usePages } from '../shared/api/pages.js';
import { ExactMoney, Facts, Loaded, optionOf } from '../shared/controls/parts.js';
import { useResource } from '../shared/api/resource.js';
import { SaveCsv } from '../shared/controls/save-csv.js';
import { route } from '../shared/api/router.js';
import { dayAfter } from '../shared/text/times.js';
import { ReverseEntry } from './account-actions.js';
import { AccountLink, KeyName, nameOrId } from './account-link.js';
import { nameOf, namedField } from './names.js';
import { call, may } from './session.js';

type Entry = Sent<'chargeEntry'> | Sent<'bookingEntry'>;

const KINDS = [
  ['all', 'Everything'],
  ['charge', 'Charges'],
  ['top_up', 'Credits'],
  ['adjustment', 'Corrections'],
  ['expiry', 'Expired credits'],
] as const;

const COLUMNS: readonly Column<Entry>[] = [
  {
    label: 'What',
    value: (entry) => (entry.kind === 'charge' ? entry.model : BOOKING_NAMES[entry.kind]),
  },
  { label: 'Time', kind: 'time', value: (entry) => entry.created_at },
  { label: 'Amount', kind: 'usd', value: (entry) => entry.amount_usd },
  { label: 'Balance after', kind: 'usd', value: (entry) => entry.balance_after_usd },
  {
    label: 'Account',
    value: (entry) => nameOrId(entry.account_id),
    cell: (entry) => <AccountLink id={entry.account_id} />,
  },
  {
    label: 'Key',
    value: (entry) => (entry.kind === 'charge' ? nameOrId(entry.key_id) : null),
    cell: (entry) => entry.kind === 'charge' && <KeyName id={entry.key_id} />,
  },
];

const DAYS = [
  { name: 'from', label: 'First day (UTC)', type: 'date' },
  { name: 'until', label: 'Last day (UTC)', type: 'date' },
] as const;

export function Ledger() {
  const models = useResource('models', (signal) => call('GET /admin/models', { signal }));
  const offers = (models.value?.data ?? []).map(({ id }) => id);
  return (
    <section class="card" aria-label="Ledger">
      <h2>Ledger</h2>
      <FilterForm
        fields={[
          ...DAYS,
          namedField('account_id', 'Account'),
          namedField('key_id', 'Key'),
          { name: 'model', label: 'Model', offers },
        ]}
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

/** On the page of one account, which gives `changed`, the column of accounts is left out. */
export function EntryList(props: {
  readonly filters: EntryFilters;
  /** Called when a balance has changed. */
  readonly changed?: () => void;
}) {
  const { filters, changed } = props;
  const isOfOne = changed !== undefined;
  const { from = '', until = '', account_id, key_id, model } = filters;
  const kind = optionOf(KINDS, filters.kind);
  const query = {
    kind: kind === 'all' ? undefined : kind,
    account_id,
    key_id,
    model,
    from: from === '' ? undefined : `${from}T00:00:00Z`,
    until: until === '' ? undefined : `${dayAfter(until)}T00:00:00Z`,
  };
  const list = usePages(JSON.stringify(query), (cursor, signal) =>
    call('GET /admin/ledger', { query: { ...query, limit: pageLimit(cursor), cursor }, signal }),
  );
  // A balance changes by what stands in the list only if all of it belongs to one account and
  // nothing is left out.
  const hasBalance =
    given(account_id) !== null &&
    given(key_id) === null &&
    given(model) === null &&
    query.kind === undefined;
  const columns = COLUMNS.filter(
    ({ label }) => !(isOfOne && label === 'Account') && (hasBalance || label !== 'Balance after'),
  );
  return (
    <>
      <SaveCsv
        fileName="ledger"
        read={() => call('GET /admin/ledger', { query: { ...query, format: 'csv' } })}
      />
      <PagedTable
        list={list}
        what="the ledger"
        columns={columns}
        empty={emptyText(
          {
            '': kindText(KINDS, kind),
            ...(isOfOne ? {} : { 'the account': nameOrId(given(account_id)) ?? '' }),
            'the key': nameOrId(given(key_id)) ?? '',
            'the model': model,
            'the first day': from,
            'the last day': until,
          },
          'No entry yet.',
        )}
        idOf={(entry) => entry.id + entry.account_id}
        rowName="data-entry"
        details={(entry) => () => (
          <>
            <EntryDetails entry={entry} />
            {isReversible(entry) && <Reverse entry={entry} changed={changed ?? list.reload} />}
          </>
        )}
        detailsOf="entry"
      />
    </>
  );
}

function given(text: string | undefined): string | null {
  return text === undefined || text === '' ? null : text;
}

/** What a provider of payments reported is undone by a refund there. */
function isReversible(entry: Entry): entry is Sent<'bookingEntry'> {
  return (
    (entry.kind === 'top_up' || (entry.kind === 'adjustment' && entry.reason !== 'transfer')) &&
    entry.amount_usd !== '0' &&
    entry.counter !== `cash:${entry.actor}` &&
    may('change')
  );
}

function Reverse(props: { readonly entry: Sent<'bookingEntry'>; readonly changed: () => void }) {
  const { entry, changed } = props;
  const [isAsking, setIsAsking] = useState(false);
  return (
    <>
      <p>
        <button
          type="button"
          class="danger"
          onClick={() => {
            setIsAsking(true);
          }}
        >
          Reverse this entry
        </button>
      </p>
      {isAsking && (
        <ReverseDialog
          entry={entry}
          onClose={() => {
            setIsAsking(false);
            changed();
          }}
        />
      )}
    </>
  );
}

/** Its account is loaded for the balance now; the entry has only the balance after it. */
function ReverseDialog(props: {
  readonly entry: Sent<'bookingEntry'>;
  readonly onClose: () => void;
}) {
  const { entry, onClose } = props;
  const { account_id: id } = entry;
  const account = useResource(
    `account ${id}`,
    (signal) => call('GET /admin/accounts/:account_id', { path: { account_id: id }, signal }),
    { isLive: false },
  );
  return (
    <Loaded of={account} what="the account">
      {(of) => (
        <ReverseEntry account={of} entry={entry} onDone={account.reload} onClose={onClose} />
      )}
    </Loaded>
  );
}

export function EntryDetails({ entry }: { readonly entry: Entry }) {
  if (entry.kind === 'charge') {
    const more = [
      ['Upstream account', entry.upstream_account],
      ['Key', `${nameOf(entry.key_id) ?? ''} ${entry.key_id}`.trim()],
      ['Cost to you', entry.cost_usd === undefined ? null : <ExactMoney usd={entry.cost_usd} />],
      ['Margin', entry.margin_usd === undefined ? null : <ExactMoney usd={entry.margin_usd} />],
      ["Account's balance after it", <ExactMoney usd={entry.balance_after_usd} />],
    ] as const;
    return <OpenedCharge charge={entry} requestId={entry.id} more={more} />;
  }
  const facts = [
    ['Id', entry.id],
    ["Account's balance after it", <ExactMoney usd={entry.balance_after_usd} />],
    ['Source', entry.source],
    ['Reason', entry.reason],
    ['Reference', entry.reference],
    ['Note', entry.note],
    ['Reverses', entry.reverses],
    ['By', entry.actor],
    ['Expires', entry.expires_at],
  ] as const;
  return <Facts facts={facts} />;
}
