/**
 * Payments as a table. The details of a payment show how much of it was credited, taken back, is
 * refundable and is unspent.
 */

import { useState } from 'preact/hooks';
import { isNotConfigured } from '../shared/api.js';
import type { Answer } from '../shared/api.js';
import { ExpandableRow } from '../shared/expandable-row.js';
import type { Sent } from '../shared/gateway-types.js';
import { PagedTable } from '../shared/paged-table.js';
import { usePages } from '../shared/pages.js';
import { Empty, Loaded, Money, Time } from '../shared/parts.js';
import { PAYMENT_ORIGINS, PaymentState } from '../shared/payment-parts.js';
import { useResource } from '../shared/resource.js';
import { AccountLink } from './account-link.js';
import { RefundPayment } from './payment-actions.js';
import { call, may } from './session.js';

type Payment = Sent<'payment'>;

const COLUMNS = [
  { label: 'Payment' },
  { label: 'Amount', isNumber: true },
  { label: 'State' },
  { label: 'Account' },
  { label: 'Details' },
] as const;

/** On the page of one account, which gives `changed`, the column of accounts is left out. */
export function PaymentList(props: {
  readonly accountId: string | undefined;
  /** Called when the balance may have changed. */
  readonly changed?: () => void;
}) {
  const { accountId, changed } = props;
  const query = { account_id: accountId, limit: 50 };
  const list = usePages(JSON.stringify(query), (cursor, signal) =>
    call('GET /admin/payments', { query: { ...query, cursor }, signal }),
  );
  const isOfOne = changed !== undefined;
  if (isNotConfigured(list.failure)) return <NotConfigured />;
  return (
    <PagedTable
      list={list}
      what="the payments"
      columns={isOfOne ? COLUMNS.filter(({ label }) => label !== 'Account') : COLUMNS}
      empty="No payment yet."
      row={(payment) => (
        <Row
          key={payment.id}
          of={payment}
          isOfOne={isOfOne}
          changed={() => {
            list.reload();
            changed?.();
          }}
        />
      )}
    />
  );
}

export function NotConfigured() {
  return (
    <Empty>
      Payments are not configured. Set STRIPE_SECRET_KEY and STRIPE_WEBHOOK_SECRET, and restart the
      gateway.
    </Empty>
  );
}

function Row(props: {
  readonly of: Payment;
  readonly isOfOne: boolean;
  readonly changed: () => void;
}) {
  const { of, isOfOne, changed } = props;
  return (
    <ExpandableRow
      data={{ 'data-payment': of.id }}
      what={`payment ${of.id}`}
      columns={isOfOne ? COLUMNS.length - 1 : COLUMNS.length}
      details={() => <Details of={of} changed={changed} />}
    >
      <td>
        {PAYMENT_ORIGINS[of.by]}
        <span class="when">
          <Time iso={of.created_at} />
        </span>
      </td>
      <td class="n">
        <Money usd={of.amount_usd} />
      </td>
      <td>
        <PaymentState state={of.state} />
        <span class="when">{of.failure_code}</span>
      </td>
      {!isOfOne && (
        <td>
          <AccountLink id={of.account_id} />
        </td>
      )}
    </ExpandableRow>
  );
}

interface Opened {
  readonly payment: Sent<'paymentMoney'>;
  readonly account: Sent<'account'>;
}

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
            <dt>Credited</dt>
            <dd>
              <Money usd={payment.credited_usd} />
            </dd>
            <dt>Taken back</dt>
            <dd>
              <Money usd={payment.taken_back_usd} />
            </dd>
            <dt>Refundable</dt>
            <dd>
              <Money usd={payment.refundable_usd} />
            </dd>
            <dt>Not spent yet</dt>
            <dd>
              <Money usd={payment.unspent_usd} />
            </dd>
          </dl>
          {may('change') && payment.refundable_usd !== '0' && (
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
