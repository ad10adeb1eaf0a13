/** Actions on payments: make a payment link for a customer, and refund a payment. */

import { useState } from 'preact/hooks';
import { ActionDialog } from '../shared/controls/actions.js';
import type { DialogCallbacks } from '../shared/controls/actions.js';
import type { Sent } from '../shared/api/gateway-types.js';
import { AmountField, CodeBlock, Money, Time } from '../shared/controls/parts.js';
import { formatUsd, parseUsd, positive, usdText } from '../shared/text/usd.js';
import { amountProblem, balanceChange } from './account-actions.js';
import { call } from './session.js';
import { typedText } from '../shared/text/numbers.js';

export function SendPaymentLink({
  account,
  ...callbacks
}: DialogCallbacks & { readonly account: Sent<'account'> }) {
  const [text, setText] = useState('');
  const amount = positive(text);
  return (
    <ActionDialog
      title={`Payment link for ${account.name}`}
      fields={
        <AmountField
          value={text}
          onValue={setText}
          hint="In whole cents. Nothing is charged before the customer pays on the page."
        />
      }
      problem={amountProblem(text)}
      changes={() => [
        { ...balanceChange(account, amount ?? '0'), what: 'Balance, once the customer has paid' },
      ]}
      confirm="Make the link"
      run={(actionId) =>
        call('POST /admin/accounts/:account_id/payments', {
          path: { account_id: account.id },
          // A changed amount starts another payment, with a page of its own.
          body: { request_id: `${actionId}-${amount ?? ''}`, amount_usd: amount ?? '' },
        })
      }
      done={({ url, url_expires_at: until }) => (
        <>
          <p>
            Send this address to the customer. Anyone who opens it can pay, but sees nothing else.
          </p>
          <CodeBlock text={url ?? 'This payment has ended.'} what="the payment link" />
          {until !== null && (
            <p>
              It works until <Time iso={until} />.
            </p>
          )}
        </>
      )}
      {...callbacks}
    />
  );
}

export function RefundPayment(
  props: DialogCallbacks & { readonly of: Sent<'paymentMoney'>; readonly account: Sent<'account'> },
) {
  const { of, account, ...callbacks } = props;
  const [text, setText] = useState(typedText(suggested(of)));
  const amount = positive(text);
  const isTooMuch = parseUsd(amount ?? '0') > parseUsd(of.refundable_usd);
  const isSpent = parseUsd(amount ?? '0') > parseUsd(of.unspent_usd);
  return (
    <ActionDialog
      title={`Refund ${of.id}`}
      fields={
        <AmountField
          value={text}
          onValue={setText}
          hint={`At most ${usdText(of.refundable_usd)}. The account has not spent ${usdText(of.unspent_usd)} of this payment.`}
        />
      }
      problem={
        amountProblem(text) ??
        (isTooMuch ? `Amount: at most ${usdText(of.refundable_usd)}.` : undefined)
      }
      changes={() => [
        {
          what: 'Refundable',
          before: <Money usd={of.refundable_usd} />,
          after: <Money usd={formatUsd(parseUsd(of.refundable_usd) - parseUsd(amount ?? '0'))} />,
        },
        balanceChange(account, `-${amount ?? '0'}`),
      ]}
      warning={
        isSpent
          ? "Less than this amount is left of the payment. The rest is taken from the account's other credit."
          : undefined
      }
      confirm={`Refund ${usdText(amount ?? '0')}`}
      isDangerous
      run={(actionId) =>
        call('POST /admin/payments/:payment_id/refunds', {
          path: { payment_id: of.id },
          // The id does not contain the amount. If the answer to a refund was lost and the person
          // then changes the amount, the gateway refuses the second refund.
          body: { refund_id: actionId, amount_usd: amount ?? '' },
        })
      }
      done={(refund) => (
        <p>
          <Money usd={refund.amount_usd} /> are paid back as <span class="id">{refund.id}</span>.
          Still refundable: <Money usd={refund.payment.refundable_usd} />.
        </p>
      )}
      {...callbacks}
    />
  );
}

const CENT_UNITS = 10n ** 12n;

/** The unspent part of the payment that can be refunded, in whole cents. */
function suggested({ unspent_usd, refundable_usd }: Sent<'paymentMoney'>): string {
  const [unspent, refundable] = [parseUsd(unspent_usd), parseUsd(refundable_usd)];
  const least = unspent < refundable ? unspent : refundable;
  return least <= 0n ? '' : formatUsd((least / CENT_UNITS) * CENT_UNITS);
}
