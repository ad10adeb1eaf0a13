/** Payments of the account, and the automatic top-up. */

import { useEffect, useState } from 'preact/hooks';
import type { Failure } from '../shared/api/api.js';
import { columnsOf } from '../shared/controls/columns.js';
import type { Sent } from '../shared/api/gateway-types.js';
import { PagedTable } from '../shared/controls/paged-table.js';
import type { Column } from '../shared/controls/paged-table.js';
import { usePages } from '../shared/api/pages.js';
import { FailureNote, Money } from '../shared/controls/parts.js';
import { PAYMENT_ORIGINS, PaymentState } from '../shared/money/payment-parts.js';
import { AutoTopUpCard } from './auto-top-up.js';
import { call } from './session.js';
import { failureText } from './top-up.js';
import type { Payments as Known } from './use-payments.js';

const COLUMNS: readonly Column<Sent<'payment'>>[] = columnsOf('payments', {
  by: { label: 'Payment', value: (of) => PAYMENT_ORIGINS[of.by] },
  state: {
    cell: (of) => (
      <>
        <PaymentState state={of.state} />
        {of.state === 'failed' && (
          <span class="when">{failureText(of.failure_code).replace(': ', '')}</span>
        )}
      </>
    ),
  },
  // Most gateways state no tax: their column stays empty.
  tax_usd: {
    cell: ({ tax_usd: tax }) => (Number(tax) === 0 ? '' : <Money usd={tax ?? '0'} />),
  },
  account_id: false,
});

export function Payments({ known }: { readonly known: Known }) {
  const list = usePages('top-ups', (cursor, signal) =>
    call('GET /v1/dashboard/top-ups', { query: { limit: 50, cursor }, signal }),
  );
  const states = known.latest.map(({ id, state }) => `${id} ${state}`).join();
  const [shown, setShown] = useState(states);
  useEffect(() => {
    if (states === shown) return;
    setShown(states);
    list.reload();
  }, [states]);
  return (
    <div class="stack">
      <section class="card" aria-label="Payments">
        <h2>Payments</h2>
        <PagedTable
          list={list}
          what="the payments"
          columns={COLUMNS}
          empty="No payment yet."
          idOf={({ id }) => id}
          rowName="data-payment"
          actions={(payment) => (
            <>
              {payment.state === 'paid' && <Receipt of={payment} />}
              {payment.state === 'open' && payment.url !== null && <a href={payment.url}>Pay</a>}
            </>
          )}
          file="payments"
        />
      </section>
      <AutoTopUpCard limits={known.limits} />
    </div>
  );
}

/** Asks the provider for the receipt's address only when the button is pressed. */
function Receipt({ of }: { readonly of: Sent<'payment'> }) {
  const [url, setUrl] = useState<string>();
  const [failure, setFailure] = useState<Failure>();
  const [isLoading, setIsLoading] = useState(false);
  async function find() {
    setIsLoading(true);
    const answer = await call('GET /v1/dashboard/top-ups/:payment_id/receipt', {
      path: { payment_id: of.id },
    });
    setIsLoading(false);
    setFailure(answer.ok ? undefined : answer.failure);
    if (answer.ok) setUrl(answer.value.url);
  }
  if (url !== undefined) {
    return (
      <a href={url} target="_blank" rel="noreferrer">
        Open the receipt
      </a>
    );
  }
  return (
    <>
      {failure !== undefined && <FailureNote failure={failure} what="the receipt" />}
      <button type="button" class="small" disabled={isLoading} onClick={() => void find()}>
        Find the receipt
      </button>
    </>
  );
}
