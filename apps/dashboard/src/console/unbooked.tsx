/** Money that the provider reported and the ledger could not take. */

import { useState } from 'preact/hooks';
import type { Page } from '../shared/api.js';
import { PagedTable } from '../shared/paged-table.js';
import { usePages } from '../shared/pages.js';
import { Money, Time } from '../shared/parts.js';
import { to } from '../shared/router.js';
import { usdOfCents } from '../shared/usd.js';
import { NotConfigured, isNotConfigured } from './payment-list.js';
import { CreditUnbooked } from './credit-unbooked.js';
import { call, may } from './session.js';
import type { UnbookedPayment } from './types.js';

const COLUMNS = [
  { label: 'What' },
  { label: 'Amount', isNumber: true },
  { label: 'Why' },
  { label: 'Account' },
  { label: "Provider's id" },
  { label: 'Actions' },
] as const;

export function Unbooked() {
  const list = usePages<UnbookedPayment>('unbooked', (cursor, signal) =>
    call<Page<UnbookedPayment>>('payments/unbooked', { query: { limit: 50, cursor }, signal }),
  );
  const [crediting, setCrediting] = useState<UnbookedPayment>();
  if (isNotConfigured(list)) return <NotConfigured />;
  return (
    <>
      <p>
        Money that the provider has and the ledger has not, because it differs from what was
        started. Pay it back in the provider's dashboard, or credit it here: under its own id, so
        that it is credited once, and a later comparison finds it booked.
      </p>
      <PagedTable
        list={list}
        what="the unbooked payments"
        columns={COLUMNS}
        empty="Everything is booked."
        row={(entry) => (
          <tr key={entry.id}>
            <td>
              {entry.fact}
              <span class="when">
                <Time iso={entry.created_at} />
              </span>
            </td>
            <td class="n">
              <Cents of={entry} />
            </td>
            <td>{entry.reason.replaceAll('_', ' ')}</td>
            <td>
              <AccountLink id={entry.account_id} />
            </td>
            <td class="id">{entry.reference}</td>
            <td>
              {may('credit') && entry.fact === 'paid' && entry.currency === 'usd' && (
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
              )}
            </td>
          </tr>
        )}
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

/** Another currency than USD has no place in the ledger, and is shown as it was reported. */
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

export function AccountLink({ id }: { readonly id: string | null }) {
  return id === null ? (
    <span class="quiet">unknown</span>
  ) : (
    <a class="id" href={to(['accounts', id])}>
      {id}
    </a>
  );
}
