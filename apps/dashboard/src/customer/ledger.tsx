/** The charges of the key or of all keys, and the credits and corrections of the account. */

import { useState } from 'preact/hooks';
import { BookingText, OpenedCharge, negated } from '../shared/charge.js';
import { ExpandableRow } from '../shared/expandable-row.js';
import { FilterForm, emptyText, kindText } from '../shared/filter-form.js';
import type { Sent } from '../shared/gateway-types.js';
import { Id } from '../shared/ids.js';
import { PagedTable } from '../shared/paged-table.js';
import { usePages } from '../shared/pages.js';
import { Loaded, Money, Segments, TextField, Time, optionOf } from '../shared/parts.js';
import { useResource } from '../shared/resource.js';
import { SaveCsv } from '../shared/save-csv.js';
import { changeQuery, route } from '../shared/router.js';
import { dayAfter } from '../shared/times.js';
import { call } from './session.js';
import { useKeyNames } from './use-key-names.js';

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
  const kind = optionOf(KINDS, route.value.query['kind']);
  const of = seesAccount ? optionOf(OWNERS, route.value.query['of']) : 'key';
  const query = { kind, model, from, until: until && dayAfter(until), of, limit: 50 };
  const list = usePages(JSON.stringify(query), (cursor, signal) =>
    call('GET /v1/dashboard/usage', { query: { ...query, cursor }, signal }),
  );
  const prices = useResource('models', (signal) => call('GET /v1/dashboard/prices', { signal }));
  const offers = (prices.value?.data ?? []).map((price) => price.model);
  const names = useKeyNames(overview, of === 'account');
  // The balance is that of the account, so it changes by what stands in the list only if the list
  // leaves nothing out.
  const hasBalance = of === 'account' && kind === 'all' && model === '';
  const columns = [
    { label: 'What' },
    ...(of === 'account' ? [{ label: 'Key' }] : []),
    { label: 'Amount', isNumber: true },
    ...(hasBalance ? [{ label: 'Balance after', isNumber: true }] : []),
    { label: 'Details' },
  ];
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
          These are the charges of this key, and the credits of the account. Charges of the other
          keys of the account are not shown.
        </p>
      )}
      <FilterForm
        fields={[...DAYS, { name: 'model', label: 'Model', offers }]}
        button="Filter"
        kinds={KINDS}
      />
      <div class="row middle no-print">
        <FindRequest />
        <SaveCsv
          fileName="ledger"
          read={(cursor) =>
            call('GET /v1/dashboard/usage', {
              query: { ...query, limit: 1_000, format: 'csv', cursor },
            })
          }
        />
      </div>
      <PagedTable
        list={list}
        what="the ledger"
        columns={columns}
        empty={emptyText(
          {
            '': kindText(KINDS, kind),
            'the model': model,
            'the first day': from,
            'the last day': until,
          },
          'Nothing here yet.',
        )}
        row={(entry) => (
          <Row
            key={idOf(entry)}
            entry={entry}
            columns={columns.length}
            hasBalance={hasBalance}
            nameOf={of === 'account' ? (id) => names.get(id) : undefined}
          />
        )}
      />
    </section>
  );
}

/** Opens one charge by the id of its request. */
function FindRequest() {
  const [text, setText] = useState('');
  const [asked, setAsked] = useState('');
  return (
    <div class="stack">
      <form
        class="row"
        onSubmit={(event) => {
          event.preventDefault();
          setAsked(text.trim());
        }}
      >
        <TextField label="Request or message id" value={text} onValue={setText} />
        <button type="submit">Find</button>
      </form>
      {asked !== '' && <FoundCharge id={asked} of="key" />}
    </div>
  );
}

/** @param props.of - Whether the charge may be one of another key of the account. */
export function FoundCharge({ id, of }: { readonly id: string; readonly of: 'key' | 'account' }) {
  const found = useResource(`charge ${of} ${id}`, (signal) =>
    call('GET /v1/dashboard/usage/:request_id', {
      path: { request_id: id },
      query: { of },
      signal,
    }),
  );
  return (
    <Loaded of={found} what="the charge">
      {(charge) => <OpenedCharge charge={charge} requestId={charge.request_id} />}
    </Loaded>
  );
}

function idOf(entry: Entry): string {
  return entry.object === 'usage' ? entry.request_id : entry.id;
}

function Row(props: {
  readonly entry: Entry;
  readonly columns: number;
  readonly hasBalance: boolean;
  /** The name of a key, if it is known. Without this, there is no column for the key. */
  readonly nameOf: ((id: string) => string | undefined) | undefined;
}) {
  const { entry, columns, hasBalance, nameOf } = props;
  const isCharge = entry.object === 'usage';
  return (
    <ExpandableRow
      data={{ 'data-entry': idOf(entry) }}
      what={`charge ${idOf(entry)}`}
      columns={columns}
      details={
        isCharge
          ? () => (
              <OpenedCharge
                charge={entry}
                requestId={entry.request_id}
                more={[["Account's balance after it", `${entry.balance_after_usd} USD`]]}
              />
            )
          : undefined
      }
    >
      <td>
        {isCharge ? entry.model : <BookingText booking={entry} />}
        <span class="when">
          <Time iso={entry.created_at} />
        </span>
      </td>
      {nameOf !== undefined && (
        <td>{isCharge && (nameOf(entry.key_id) ?? <Id of={entry.key_id} />)}</td>
      )}
      <td class="n">
        <Money usd={isCharge ? negated(entry.charge_usd) : entry.amount_usd} />
      </td>
      {hasBalance && (
        <td class="n">
          <Money usd={entry.balance_after_usd} />
        </td>
      )}
    </ExpandableRow>
  );
}
