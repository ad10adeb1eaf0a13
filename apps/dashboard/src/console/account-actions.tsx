/** Dialogs that change an account or its balance. */

import { useState } from 'preact/hooks';
import { ActionDialog } from '../shared/actions.js';
import type { DialogCallbacks } from '../shared/actions.js';
import { AmountField, Choice, Money, TextField } from '../shared/parts.js';
import { isoOfLocal } from '../shared/times.js';
import { commaProblem, formatUsd, parseUsd, readTypedUsd } from '../shared/usd.js';
import { call } from './session.js';
import type { Sent } from './session.js';

interface Props extends DialogCallbacks {
  readonly account: Sent<'Account'>;
}

const SOURCES = [
  ['paid', 'Paid'],
  ['promotional', 'Promotional'],
] as const;

export function Credit({ account, ...callbacks }: Props) {
  const [text, setText] = useState('');
  const [source, setSource] = useState<(typeof SOURCES)[number][0]>('paid');
  const [reference, setReference] = useState('');
  const [note, setNote] = useState('');
  const [expiry, setExpiry] = useState('');
  const amount = positive(text);
  return (
    <ActionDialog
      title={`Credit ${account.name}`}
      fields={
        <>
          <AmountField value={text} onValue={setText} />
          <Choice label="Source" value={source} options={SOURCES} onValue={setSource} />
          <TextField
            label="Reference"
            value={reference}
            onValue={setReference}
            hint="For example, the number of an invoice. The customer sees it. May be empty."
          />
          <TextField
            label="Note"
            value={note}
            onValue={setNote}
            hint="For operators only. May be empty."
          />
          <TextField
            label="Expires"
            type="datetime-local"
            value={expiry}
            onValue={setExpiry}
            hint="In your time zone. Empty: never."
          />
        </>
      }
      problem={amountProblem(text)}
      changes={() => [balanceChange(account, amount ?? '0')]}
      confirm={`Credit ${amount ?? ''} USD`}
      run={(actionId) =>
        call('POST', '/admin/accounts/{account_id}/top-ups', {
          path: { account_id: account.id },
          body: {
            top_up_id: actionId,
            amount_usd: amount ?? '',
            source,
            reference: given(reference),
            note: given(note),
            expires_at: expiry === '' ? undefined : isoOfLocal(expiry),
          },
        })
      }
      done={(booked) => <BalanceNow of={booked} />}
      {...callbacks}
    />
  );
}

const REASONS = [
  ['refund', 'Refund'],
  ['chargeback', 'Chargeback'],
  ['correction', 'Correction'],
  ['goodwill', 'Goodwill'],
  ['write_off', 'Write-off'],
] as const;

export function Adjust({ account, ...callbacks }: Props) {
  const [text, setText] = useState('');
  const [reason, setReason] = useState<(typeof REASONS)[number][0]>('correction');
  const [reference, setReference] = useState('');
  const [note, setNote] = useState('');
  const typed = readTypedUsd(text);
  const amount = typed === undefined || parseUsd(typed) === 0n ? undefined : typed;
  return (
    <ActionDialog
      title={`Adjust the balance of ${account.name}`}
      fields={
        <>
          <TextField
            label="Amount, USD"
            required
            value={text}
            onValue={setText}
            hint="To take money away, type a minus sign, such as -5."
          />
          <Choice label="Reason" value={reason} options={REASONS} onValue={setReason} />
          <TextField
            label="Reference"
            value={reference}
            onValue={setReference}
            hint="The customer sees it. May be empty."
          />
          <TextField
            label="Note"
            value={note}
            onValue={setNote}
            hint="For operators only. May be empty."
          />
        </>
      }
      problem={
        amount === undefined
          ? (commaProblem(text) ?? 'Amount: must be a number other than 0, such as -5.')
          : undefined
      }
      changes={() => [balanceChange(account, amount ?? '0')]}
      confirm="Adjust the balance"
      isDangerous={amount?.startsWith('-') ?? false}
      run={(actionId) =>
        call('POST', '/admin/accounts/{account_id}/adjustments', {
          path: { account_id: account.id },
          body: {
            adjustment_id: actionId,
            amount_usd: amount ?? '',
            reason,
            reference: given(reference),
            note: given(note),
          },
        })
      }
      done={(booked) => <BalanceNow of={booked} />}
      {...callbacks}
    />
  );
}

export function Transfer({ account, ...callbacks }: Props) {
  const [text, setText] = useState('');
  const [target, setTarget] = useState('');
  const [note, setNote] = useState('');
  const amount = positive(text);
  const isAccount = /^acct_[\w-]+$/.test(target.trim()) && target.trim() !== account.id;
  return (
    <ActionDialog
      title={`Transfer from ${account.name}`}
      fields={
        <>
          <TextField
            label="To the account with the id"
            required
            placeholder="acct_…"
            value={target}
            onValue={setTarget}
          />
          <AmountField value={text} onValue={setText} />
          <TextField
            label="Note"
            value={note}
            onValue={setNote}
            hint="For operators only. May be empty."
          />
        </>
      }
      problem={
        isAccount
          ? amountProblem(text)
          : 'Account: the id of another account, which begins with acct_.'
      }
      changes={() => [balanceChange(account, `-${amount ?? '0'}`)]}
      warning={`${amount ?? ''} USD go to ${target.trim()}.`}
      confirm={`Transfer ${amount ?? ''} USD`}
      run={(actionId) =>
        call('POST', '/admin/accounts/{account_id}/transfers', {
          path: { account_id: account.id },
          body: {
            to_account_id: target.trim(),
            transfer_id: actionId,
            amount_usd: amount ?? '',
            note: given(note),
          },
        })
      }
      done={(booked) => (
        <>
          <BalanceNow of={booked} />
          <p>
            The other account now has <Money usd={booked.to_balance_usd} />.
          </p>
        </>
      )}
      {...callbacks}
    />
  );
}

export function EditAccount({ account, ...callbacks }: Props) {
  const [name, setName] = useState(account.name);
  const [externalId, setExternalId] = useState(account.external_id ?? '');
  const [low, setLow] = useState(account.low_balance_usd ?? '');
  const lowUsd = low.trim() === '' ? null : positive(low);
  const changes = [
    ...(name.trim() === account.name
      ? []
      : [{ what: 'Name', before: account.name, after: name.trim() }]),
    ...(externalId.trim() === (account.external_id ?? '')
      ? []
      : [
          {
            what: 'External id',
            before: account.external_id ?? 'none',
            after: externalId.trim() === '' ? 'none' : externalId.trim(),
          },
        ]),
    ...(lowUsd === account.low_balance_usd
      ? []
      : [
          {
            what: 'Low-balance notice at',
            before: account.low_balance_usd ?? 'none',
            after: lowUsd ?? 'none',
          },
        ]),
  ];
  const problem =
    name.trim() === ''
      ? 'Name: must not be empty.'
      : lowUsd === undefined
        ? (commaProblem(low) ?? 'Low-balance notice: an amount such as 5, or empty.')
        : changes.length === 0
          ? 'Nothing is changed yet.'
          : undefined;
  return (
    <ActionDialog
      title={`Edit ${account.name}`}
      fields={
        <>
          <TextField label="Name" required maxLength={200} value={name} onValue={setName} />
          <TextField label="External id" value={externalId} onValue={setExternalId} />
          <TextField
            label="Low-balance notice at, USD"
            inputMode="decimal"
            value={low}
            onValue={setLow}
            hint="A notification is sent when the balance falls to this amount. Empty: none."
          />
        </>
      }
      problem={problem}
      changes={() => changes}
      confirm="Change the account"
      run={() =>
        call('PATCH', '/admin/accounts/{account_id}', {
          path: { account_id: account.id },
          body: {
            name: name.trim(),
            external_id: externalId.trim() === '' ? null : externalId.trim(),
            low_balance_usd: lowUsd,
          },
        })
      }
      done={(changed) => <p>{changed.name} is changed.</p>}
      {...callbacks}
    />
  );
}

/** Suspends the account with all its keys, or resumes it. */
export function ChangeAccountState({ account, ...callbacks }: Props) {
  const isActive = account.state === 'active';
  return (
    <ActionDialog
      title={`${isActive ? 'Suspend' : 'Resume'} ${account.name}`}
      changes={() => [
        {
          what: 'State',
          before: account.state,
          after: isActive
            ? 'suspended: requests of all its keys are refused, also of new ones'
            : 'active: each key is again what it was',
        },
      ]}
      confirm={`${isActive ? 'Suspend' : 'Resume'} the account`}
      isDangerous={isActive}
      run={() =>
        call('POST', `/admin/accounts/{account_id}/${isActive ? 'suspend' : 'resume'}`, {
          path: { account_id: account.id },
        })
      }
      done={(changed) => (
        <p>
          {changed.name} is now {changed.state}.
        </p>
      )}
      {...callbacks}
    />
  );
}

/** @param text - The amount as typed. */
export function amountProblem(text: string): string | undefined {
  if (positive(text) !== undefined) return undefined;
  return commaProblem(text) ?? 'Amount: a number above 0, such as 25 or 0.5.';
}

export function positive(text: string): string | undefined {
  const amount = readTypedUsd(text);
  return amount !== undefined && parseUsd(amount) > 0n ? amount : undefined;
}

/** @returns `undefined` for a field that was left empty */
function given(text: string): string | undefined {
  return text.trim() === '' ? undefined : text.trim();
}

export function balanceChange(
  { balance_usd: balance }: Pick<Sent<'Account'>, 'balance_usd'>,
  amount: string,
) {
  return {
    what: 'Balance',
    before: <Money usd={balance} />,
    after: <Money usd={formatUsd(parseUsd(balance) + parseUsd(amount))} />,
  };
}

function BalanceNow({ of }: { readonly of: Pick<Sent<'TopUp'>, 'balance_usd' | 'replayed'> }) {
  return (
    <p>
      {of.replayed ? 'This was booked before. It is not booked again.' : 'Done.'} The balance is now{' '}
      <Money usd={of.balance_usd} />.
    </p>
  );
}
