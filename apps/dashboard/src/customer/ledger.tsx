/**
 * The charges of the key or of all keys, and the credits and corrections of the account, where the
 * page shows its money.
 */

import { useState } from 'preact/hooks';
import { BOOKING_NAMES, BookingText, OpenedCharge, negated } from '../shared/money/charge.js';
import { FilterForm, emptyText, kindText } from '../shared/controls/filter-form.js';
import type { Sent } from '../shared/api/gateway-types.js';
import { PagedTable } from '../shared/controls/paged-table.js';
import type { Column } from '../shared/controls/paged-table.js';
import { pageLimit, usePages } from '../shared/api/pages.js';
import { ExactMoney, Loaded, Segments, TextField, optionOf } from '../shared/controls/parts.js';
import { useResource } from '../shared/api/resource.js';
import { SaveCsv } from '../shared/controls/save-csv.js';
import { changeQuery, route, to } from '../shared/api/router.js';
import { dayAfter } from '../shared/text/times.js';
import { showsAccount } from './limits.js';
import { call } from './session.js';
import { KeyName, useKeyNames } from './use-key-names.js';

type Entry = Sent<'usage'> | Sent<'credit'>;
type Overview = Sent<'accountOverview'>;

const KINDS = [
  ['all', 'Everything'],
  ['charge', 'Charges'],
  ['credit', 'Credits and corrections'],
] as const;

export const OWNERS = [
  ['account', 'All keys'],
  ['key', 'This key'],
] as const;

const DAYS = [
  { name: 'from', label: 'First day (UTC)', type: 'date' },
  { name: 'until', label: 'Last day (UTC)', type: 'date' },
] as const;

export function Ledger({ overview }: { readonly overview: Overview }) {
  const { may_see_account: seesAccount, is_shared: isShared } = overview;
  const { model = '', from = '', until = '' } = route.value.query;
  const ofAccount = showsAccount(overview);
  const kind = ofAccount ? optionOf(KINDS, route.value.query['kind']) : 'charge';
  const of = seesAccount ? optionOf(OWNERS, route.value.query['of']) : 'key';
  const query = { kind, model, from, until: until && dayAfter(until), of };
  const list = usePages(JSON.stringify(query), (cursor, signal) =>
    call('GET /v1/dashboard/usage', {
      query: { ...query, limit: pageLimit(cursor), cursor },
      signal,
    }),
  );
  const prices = useResource('models', (signal) => call('GET /v1/dashboard/prices', { signal }));
  const offers = (prices.value?.data ?? []).map((price) => price.model);
  const names = useKeyNames(overview, of === 'account');
  // The balance is that of the account, so it changes by what stands in the list only if the list
  // leaves nothing out.
  const hasBalance = of === 'account' && kind === 'all' && model === '';
  return (
    <section class="card" aria-label="Ledger">
      <div class="row spread">
        <h2>Ledger</h2>
        {seesAccount && (
          <Segments
            label="Whose charges"
            value={of}
            options={OWNERS}
            onValue={(value) => {
              changeQuery({ of: value });
            }}
          />
        )}
      </div>
      {of === 'key' && isShared && (
        <p class="quiet">
          These are the charges of this key{ofAccount && ', and the credits of the account'}.
          Charges of the other keys of the account are not shown.
        </p>
      )}
      <FilterForm
        fields={[...DAYS, { name: 'model', label: 'Model', offers }]}
        button="Filter"
        {...(ofAccount ? { kinds: KINDS } : {})}
      />
      <FindRequest of={seesAccount ? 'account' : 'key'} />
      <div class="row no-print">
        <SaveCsv
          fileName="ledger"
          read={() => call('GET /v1/dashboard/usage', { query: { ...query, format: 'csv' } })}
        />
      </div>
      <PagedTable
        list={list}
        what="the ledger"
        columns={columnsOf({ hasKeys: of === 'account', hasBalance, names })}
        empty={emptyText(
          {
            '': ofAccount ? kindText(KINDS, kind) : '',
            'the model': model,
            'the first day': from,
            'the last day': until,
          },
          'Nothing here yet.',
        )}
        idOf={idOf}
        rowName="data-entry"
        details={(entry) =>
          entry.object === 'usage'
            ? () => (
                <OpenedCharge
                  charge={entry}
                  requestId={entry.request_id}
                  more={[
                    [
                      "Account's balance after it",
                      ofAccount ? <ExactMoney usd={entry.balance_after_usd} /> : null,
                    ],
                  ]}
                />
              )
            : undefined
        }
        detailsOf="charge"
      />
    </section>
  );
}

function columnsOf(shown: {
  readonly hasKeys: boolean;
  readonly hasBalance: boolean;
  readonly names: ReadonlyMap<string, string>;
}): readonly Column<Entry>[] {
  const { hasKeys, hasBalance, names } = shown;
  const keyOf = (entry: Entry) => (entry.object === 'usage' ? entry.key_id : null);
  return [
    {
      label: 'What',
      value: (entry) => (entry.object === 'usage' ? entry.model : BOOKING_NAMES[entry.kind]),
      cell: (entry, model) => (entry.object === 'usage' ? model : <BookingText booking={entry} />),
    },
    { label: 'Time', kind: 'time', value: (entry) => entry.created_at },
    ...column(hasKeys, {
      label: 'Key',
      value: (entry) => names.get(keyOf(entry) ?? '') ?? keyOf(entry),
      cell: (entry) => <KeyName id={keyOf(entry)} names={names} />,
    }),
    {
      label: 'Amount',
      kind: 'usd',
      value: (entry) => (entry.object === 'usage' ? negated(entry.charge_usd) : entry.amount_usd),
    },
    ...column(hasBalance, {
      label: 'Balance after',
      kind: 'usd',
      value: (entry) => entry.balance_after_usd,
    }),
  ];
}

function column(isShown: boolean, of: Column<Entry>): readonly Column<Entry>[] {
  return isShown ? [of] : [];
}

/** Opens one charge by the id of its request, which is in the address. */
function FindRequest({ of }: { readonly of: 'key' | 'account' }) {
  const { request_id: asked = '' } = route.value.query;
  const [text, setText] = useState(asked);
  return (
    <div class="stack">
      <form
        class="row"
        onSubmit={(event) => {
          event.preventDefault();
          changeQuery({ request_id: text.trim() });
        }}
      >
        <TextField label="Request or message id" value={text} onValue={setText} />
        <button type="submit">Find</button>
      </form>
      {asked !== '' && <FoundCharge id={asked} of={of} />}
    </div>
  );
}

/** @param props.of - Whether the charge may be one of another key of the account. */
export function FoundCharge(props: {
  readonly id: string;
  readonly of: 'key' | 'account';
  /** Whether a link leads to the request. */
  readonly leads?: boolean;
}) {
  const { id, of, leads = false } = props;
  const found = useResource(`charge ${of} ${id}`, (signal) =>
    call('GET /v1/dashboard/usage/:request_id', {
      path: { request_id: id },
      query: { of },
      signal,
    }),
  );
  return (
    <Loaded of={found} what="the charge">
      {(charge) => (
        <>
          <OpenedCharge charge={charge} requestId={charge.request_id} />
          {leads && <a href={to(['requests'], { id: charge.request_id })}>Show the request</a>}
        </>
      )}
    </Loaded>
  );
}

function idOf(entry: Entry): string {
  return entry.object === 'usage' ? entry.request_id : entry.id;
}
