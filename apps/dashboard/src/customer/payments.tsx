/** Payments of the account, and the order to pay by itself. */

import { useEffect, useState } from 'preact/hooks';
import type { Failure, Page } from '../shared/api.js';
import { PagedTable } from '../shared/paged-table.js';
import { usePages } from '../shared/pages.js';
import { FailureNote, Money, Time } from '../shared/parts.js';
import { PAYER_NAMES, PaymentState } from '../shared/payment-parts.js';
import { AutoTopUpCard } from './auto-top-up.js';
import { get } from './session.js';
import { failureText } from './top-up.js';
import type { Payment } from './types.js';
import type { Payments as Known } from './use-payments.js';

const COLUMNS = [
  { label: 'Payment' },
  { label: 'Amount', isNumber: true },
  { label: 'State' },
  { label: 'Receipt' },
] as const;

export function Payments({ known }: { readonly known: Known }) {
  const list = usePages<Payment>('top-ups', (cursor, signal) =>
    get<Page<Payment>>('top-ups', { query: { limit: 50, cursor }, signal }),
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
          row={(payment) => <Row key={payment.id} of={payment} />}
        />
      </section>
      <AutoTopUpCard limits={known.limits} />
    </div>
  );
}

function Row({ of }: { readonly of: Payment }) {
  return (
    <tr data-payment={of.id}>
      <td>
        {PAYER_NAMES[of.by]}
        <span class="when">
          <Time iso={of.created_at} />
        </span>
      </td>
      <td class="n">
        <Money usd={of.amount_usd} />
      </td>
      <td>
        <PaymentState state={of.state} />
        {of.state === 'failed' && (
          <span class="when">{failureText(of.failure_code).replace(': ', '')}</span>
        )}
      </td>
      <td>
        {of.state === 'paid' && <Receipt of={of} />}
        {of.state === 'open' && of.url !== null && <a href={of.url}>Pay</a>}
      </td>
    </tr>
  );
}

/** The provider is asked for the address only when somebody wants it. */
function Receipt({ of }: { readonly of: Payment }) {
  const [url, setUrl] = useState<string>();
  const [failure, setFailure] = useState<Failure>();
  const [isLoading, setIsLoading] = useState(false);
  async function find() {
    setIsLoading(true);
    const answer = await get<{ readonly url: string }>(`top-ups/${of.id}/receipt`);
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
