/** Payments, refunds and disputes that the provider reported and the ledger could not book. */

import { useState } from 'preact/hooks';
import { isNotConfigured } from '../shared/api/api.js';
import type { Sent } from '../shared/api/gateway-types.js';
import { PagedTable } from '../shared/controls/paged-table.js';
import type { Column } from '../shared/controls/paged-table.js';
import { usePages } from '../shared/api/pages.js';
import { Money } from '../shared/controls/parts.js';
import { usdOfCents } from '../shared/text/usd.js';
import { AccountLink, nameOrId } from './account-link.js';
import { NotConfigured } from './payment-list.js';
import { CreditUnbooked } from './credit-unbooked.js';
import { call, may } from './session.js';

type Entry = Sent<'unbookedPayment'>;

const COLUMNS: readonly Column<Entry>[] = [
  { label: 'What', value: ({ fact }) => fact },
  { label: 'Time', kind: 'time', value: (entry) => entry.created_at },
  {
    label: 'Amount',
    kind: 'number',
    value: (entry) => entry.amount_cents,
    cell: (entry) => <Cents of={entry} />,
  },
  { label: 'Why', value: ({ reason }) => reason.replaceAll('_', ' ') },
  {
    label: 'Account',
    value: (entry) => nameOrId(entry.account_id),
    cell: (entry) => <AccountLink id={entry.account_id} />,
  },
  {
    label: "Provider's id",
    value: ({ reference }) => reference,
    cell: (_, id) => <span class="id">{id}</span>,
  },
];

export function Unbooked() {
  const list = usePages('unbooked', (cursor, signal) =>
    call('GET /admin/payments/unbooked', { query: { limit: 50, cursor }, signal }),
  );
  const [crediting, setCrediting] = useState<Entry>();
  if (isNotConfigured(list.failure)) return <NotConfigured />;
  return (
    <>
      <p>
        Payments, refunds and disputes that the ledger could not book; “Why” names the reason. Pay a
        payment back in the provider's dashboard or, if it is in USD, credit it here. A credit made
        here has the payment's own id, so the payment is credited only once, and a later comparison
        finds it booked. A payment leaves this list when it is credited or paid back.
      </p>
      <PagedTable
        list={list}
        what="the unbooked payments"
        columns={COLUMNS}
        empty="Everything is booked."
        idOf={({ id }) => id}
        actions={
          may('credit')
            ? (entry) =>
                entry.fact === 'paid' &&
                entry.currency === 'usd' && (
                  <button
                    type="button"
                    class="small"
                    aria-label={`Credit ${entry.reference}`}
                    onClick={() => {
                      setCrediting(entry);
                    }}
                  >
                    Credit
                  </button>
                )
            : undefined
        }
      />
      {crediting !== undefined && (
        <CreditUnbooked
          of={crediting}
          onDone={list.reload}
          onClose={() => {
            setCrediting(undefined);
          }}
        />
      )}
    </>
  );
}

/** An amount. The ledger has only USD, so an amount in another currency is shown as reported. */
export function Cents({
  of,
}: {
  readonly of: { readonly amount_cents: number; readonly currency: string };
}) {
  return of.currency === 'usd' ? (
    <Money usd={usdOfCents(of.amount_cents)} />
  ) : (
    <>
      {String(of.amount_cents)} {of.currency}, smallest unit
    </>
  );
}
