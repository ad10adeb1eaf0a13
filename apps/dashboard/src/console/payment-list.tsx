/**
 * Payments as a table. The details of a payment show how much of it was credited, taken back, is
 * refundable and is unspent.
 */

import { Fragment } from 'preact';
import { useState } from 'preact/hooks';
import { isNotConfigured } from '../shared/api/api.js';
import type { Answer, Page } from '../shared/api/api.js';
import { columnsOf } from '../shared/controls/columns.js';
import type { Sent } from '../shared/api/gateway-types.js';
import { PagedTable } from '../shared/controls/paged-table.js';
import type { Column } from '../shared/controls/paged-table.js';
import { pageLimit, usePages } from '../shared/api/pages.js';
import { Empty, Loaded, Money } from '../shared/controls/parts.js';
import { PAYMENT_ORIGINS, PaymentState } from '../shared/money/payment-parts.js';
import { useResource } from '../shared/api/resource.js';
import { route } from '../shared/api/router.js';
import { AccountLink, nameOrId } from './account-link.js';
import { RefundPayment } from './payment-actions.js';
import { call, may } from './session.js';

type Payment = Sent<'payment'>;

const COLUMNS: readonly Column<Payment>[] = columnsOf('payments', {
  by: { label: 'Payment', value: (payment) => PAYMENT_ORIGINS[payment.by] },
  state: {
    cell: (payment) => (
      <>
        <PaymentState state={payment.state} />
        <span class="when">{payment.failure_code}</span>
      </>
    ),
  },
  account_id: {
    value: (payment) => nameOrId(payment.account_id),
    cell: (payment) => <AccountLink id={payment.account_id} />,
  },
});

/** On the page of one account, which gives `changed`, the column of accounts is left out. */
export function PaymentList(props: {
  readonly accountId: string | undefined;
  /** Called when the balance may have changed. */
  readonly changed?: () => void;
}) {
  const { accountId, changed } = props;
  const { payment_id: id = '' } = route.value.query;
  const isOfOne = changed !== undefined;
  const isFound = id !== '' && !isOfOne;
  const list = usePages(`payments of ${accountId ?? ''} ${isFound ? id : ''}`, (cursor, signal) =>
    isFound
      ? readOne(id, signal)
      : call('GET /admin/payments', {
          query: { account_id: accountId, limit: pageLimit(cursor), cursor },
          signal,
        }),
  );
  if (isNotConfigured(list.failure)) return <NotConfigured />;
  return (
    <PagedTable
      list={list}
      what="the payments"
      columns={isOfOne ? COLUMNS.filter(({ label }) => label !== 'Account') : COLUMNS}
      empty="No payment yet."
      idOf={(payment) => payment.id}
      rowName="data-payment"
      details={(payment) => () => (
        <Details
          of={payment}
          changed={() => {
            list.reload();
            changed?.();
          }}
        />
      )}
      detailsOf="payment"
      file="payments"
    />
  );
}

/** The payment that the search found, as a list. */
async function readOne(id: string, signal: AbortSignal): Promise<Answer<Page<Payment>>> {
  const answer = await call('GET /admin/payments/:payment_id', {
    path: { payment_id: id },
    signal,
  });
  return answer.ok
    ? { ...answer, value: { data: [answer.value], has_more: false, next_cursor: null } }
    : answer;
}

export function NotConfigured() {
  return (
    <Empty>
      Payments are not configured. Set STRIPE_SECRET_KEY and STRIPE_WEBHOOK_SECRET, and restart the
      gateway.
    </Empty>
  );
}

interface Opened {
  readonly payment: Sent<'paymentMoney'>;
  readonly account: Sent<'account'>;
}

/** Paid in another currency, in which only the provider refunds it. */
const isForeign = ({ paid_currency: paidIn }: Payment) => (paidIn ?? 'usd') !== 'usd';

const MONEY = [
  ['Credited', 'credited_usd'],
  ['Tax', 'tax_usd'],
  ['Taken back', 'taken_back_usd'],
  ['Tax taken back', 'tax_taken_back_usd'],
  ['Refundable', 'refundable_usd'],
  ['Not spent yet', 'unspent_usd'],
  ["Provider's fees", 'fees_usd'],
] as const;

function Details({ of, changed }: { readonly of: Payment; readonly changed: () => void }) {
  const opened = useResource(`payment ${of.id}`, (signal) => open(of, signal), {
    isLive: false,
  });
  const [isRefunding, setIsRefunding] = useState(false);
  return (
    <Loaded of={opened} what="the payment">
      {({ payment, account }) => (
        <div class="stack">
          <dl class="facts">
            <dt>Payment</dt>
            <dd class="id">{payment.id}</dd>
            <dt>Provider's id</dt>
            <dd class="id">{payment.reference ?? 'none'}</dd>
            <dt>Started by</dt>
            <dd class="id">{payment.started_by}</dd>
            {isForeign(payment) && (
              <>
                <dt>Paid</dt>
                <dd>
                  {payment.paid_amount} {payment.paid_currency?.toUpperCase()} at{' '}
                  {payment.exchange_rate ?? '1'}
                </dd>
              </>
            )}
            {MONEY.map(([label, name]) => (
              <Fragment key={name}>
                <dt>{label}</dt>
                <dd>
                  <Money usd={payment[name] ?? '0'} />
                </dd>
              </Fragment>
            ))}
          </dl>
          {may('change') && payment.refundable_usd !== '0' && !isForeign(payment) && (
            <div class="row">
              <button
                type="button"
                class="danger"
                onClick={() => {
                  setIsRefunding(true);
                }}
              >
                Refund
              </button>
            </div>
          )}
          {isRefunding && (
            <RefundPayment
              of={payment}
              account={account}
              onDone={opened.reload}
              onClose={() => {
                setIsRefunding(false);
                changed();
              }}
            />
          )}
        </div>
      )}
    </Loaded>
  );
}

async function open(of: Payment, signal: AbortSignal): Promise<Answer<Opened>> {
  const [payment, account] = await Promise.all([
    call('GET /admin/payments/:payment_id', { path: { payment_id: of.id }, signal }),
    call('GET /admin/accounts/:account_id', { path: { account_id: of.account_id }, signal }),
  ]);
  if (!payment.ok) return payment;
  if (!account.ok) return account;
  return { ...payment, value: { payment: payment.value, account: account.value } };
}
