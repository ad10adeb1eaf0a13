/**
 * Credits a payment that the gateway could not book. The credit has the id that the gateway would
 * have used for the payment, so it is booked only once.
 */

import { useState } from 'preact/hooks';
import { ActionDialog } from '../shared/controls/actions.js';
import type { Sent } from '../shared/api/gateway-types.js';
import { Money, TextField } from '../shared/controls/parts.js';
import { usdOfCents, usdText } from '../shared/text/usd.js';
import { call } from './session.js';

export function CreditUnbooked(props: {
  readonly of: Sent<'unbookedPayment'>;
  readonly onDone: () => void;
  readonly onClose: () => void;
}) {
  const { of, ...callbacks } = props;
  const [account, setAccount] = useState(of.account_id ?? '');
  const amount = usdOfCents(of.amount_cents);
  return (
    <ActionDialog
      title={`Credit ${of.reference}`}
      fields={
        <TextField
          label="Account id"
          required
          placeholder="acct_…"
          value={account}
          onValue={setAccount}
          hint="The account that the money is for. If you are not sure, look the payment up in the provider's dashboard."
        />
      }
      problem={
        /^acct_[\w-]+$/.test(account.trim())
          ? undefined
          : 'Account: the id of an account, which begins with acct_.'
      }
      changes={() => [
        {
          what: `Payment ${of.reference}`,
          before: 'not in the ledger',
          after: (
            <>
              <Money usd={amount} /> for {account.trim()}
            </>
          ),
        },
      ]}
      warning="Do not pay it back in the provider's dashboard as well."
      confirm={`Credit ${usdText(amount)}`}
      run={() =>
        call('POST /admin/accounts/:account_id/top-ups', {
          path: { account_id: account.trim() },
          body: {
            top_up_id: `stripe:${of.reference}`,
            amount_usd: amount,
            source: 'paid',
            reference: of.reference,
          },
        })
      }
      done={({ balance_usd, replayed }) => (
        <p>
          {replayed ? 'It was credited before, and is not credited again. ' : ''}
          The balance is now <Money usd={balance_usd} />.
        </p>
      )}
      {...callbacks}
    />
  );
}
