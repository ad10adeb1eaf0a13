/** Credits a payment that the gateway could not book, under the id that booking would have used. */

import { useState } from 'preact/hooks';
import { ActionDialog } from '../shared/actions.js';
import { Money, TextField } from '../shared/parts.js';
import { usdOfCents } from '../shared/usd.js';
import { call } from './session.js';
import type { UnbookedPayment } from './types.js';

interface Credited {
  readonly account_id: string;
  readonly balance_usd: string;
  readonly replayed: boolean;
}

export function CreditUnbooked(props: {
  readonly of: UnbookedPayment;
  readonly onDone: () => void;
  readonly onClose: () => void;
}) {
  const { of, ...ends } = props;
  const [account, setAccount] = useState(of.account_id ?? '');
  const amount = usdOfCents(of.amount_cents);
  return (
    <ActionDialog<Credited>
      title={`Credit ${of.reference}`}
      fields={
        <TextField
          label="Account id"
          required
          placeholder="acct_…"
          value={account}
          onValue={setAccount}
          hint="Whose money it is. Look the payment up in the provider's dashboard if you are not sure."
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
      confirm={`Credit ${amount} USD`}
      run={() =>
        call(`accounts/${account.trim()}/top-ups`, {
          method: 'POST',
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
          {replayed ? 'It was credited before, once. ' : ''}
          The balance is now <Money usd={balance_usd} />.
        </p>
      )}
      {...ends}
    />
  );
}
