/** The dialog that redeems a code from the operator. */

import { useState } from 'preact/hooks';
import { ActionDialog } from '../shared/controls/actions.js';
import type { Sent } from '../shared/api/gateway-types.js';
import { DateOf, Money, TextField } from '../shared/controls/parts.js';
import { call } from './session.js';
import { creditsSeen } from './use-payments.js';

const CODE = /^[A-Z0-9-]{8,40}$/;

export function PromoCode({ balanceUsd }: { readonly balanceUsd: string }) {
  const [isOpen, setIsOpen] = useState(false);
  const [text, setText] = useState('');
  const code = text.trim().toUpperCase();
  return (
    <>
      <button
        type="button"
        class="no-print"
        onClick={() => {
          setIsOpen(true);
        }}
      >
        Redeem a code
      </button>
      {isOpen && (
        <ActionDialog
          title="Redeem a code"
          fields={
            <TextField label="Promo code" required maxLength={60} value={text} onValue={setText} />
          }
          problem={CODE.test(code) ? undefined : 'Code: 8 to 40 letters, digits and hyphens.'}
          changes={() => [
            {
              what: 'Balance',
              before: <Money usd={balanceUsd} />,
              after: `higher by the amount of ${code}`,
            },
          ]}
          confirm="Redeem the code"
          run={() => call('POST /v1/dashboard/promo-codes', { body: { code } })}
          done={(redeemed) => <Redeemed of={redeemed} />}
          onDone={() => {
            creditsSeen.value += 1;
          }}
          onClose={() => {
            setIsOpen(false);
            setText('');
          }}
        />
      )}
    </>
  );
}

function Redeemed({ of }: { readonly of: Sent<'redemption'> }) {
  return (
    <>
      <p>
        {of.replayed ? 'Your account has already received this credit: ' : 'Credited: '}
        <Money usd={of.amount_usd} />. The balance is now <Money usd={of.balance_usd} />.
      </p>
      {of.credit_expires_at !== null && (
        <p>
          The unspent part of the credit expires on <DateOf iso={of.credit_expires_at} />.
        </p>
      )}
    </>
  );
}
