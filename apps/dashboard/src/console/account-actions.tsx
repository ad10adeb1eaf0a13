/** Dialogs that change an account or its balance. */

import { useState } from 'preact/hooks';
import { ActionDialog } from '../shared/controls/actions.js';
import type { DialogCallbacks } from '../shared/controls/actions.js';
import type { Sent } from '../shared/api/gateway-types.js';
import { AmountField, Choice, Money, TextField } from '../shared/controls/parts.js';
import { isoOfLocal } from '../shared/text/times.js';
import { formatUsd, parseUsd, positive, separatorProblem, usdText } from '../shared/text/usd.js';
import { ACCOUNT_SETTINGS } from './account-settings.js';
import type { AccountChange } from './account-settings.js';
import { call, may } from './session.js';
import { typedText } from '../shared/text/numbers.js';

interface Props extends DialogCallbacks {
  readonly account: Sent<'account'>;
  /** The amount that was typed into the search. */
  readonly asked?: string | undefined;
}

/** The first option of a reason: none is presumed, because the books go by it. */
export const NO_REASON = ['', 'Choose a reason'] as const;
export const REASON_PROBLEM = 'Reason: choose one. The books of the month go by it.';

/** Why an operator gives credit. The first two are credits, the others corrections. */
export const GIVEN_FOR = [
  ['paid', 'The customer paid it'],
  ['promotional', 'Promotional'],
  ['goodwill', 'Goodwill'],
  ['correction', 'Correction'],
  ['write_off', 'Write-off of a debt'],
] as const;
/** Only a token that may change accounts may correct a balance. */
const GIVEN_BY_CREDIT = [NO_REASON, GIVEN_FOR[0], GIVEN_FOR[1]] as const;

/** Why an operator takes money from a balance. */
const TAKEN_FOR = [
  ['refund', 'Paid out to the customer elsewhere (refund)'],
  ['chargeback', 'Taken back by the bank (chargeback)'],
  ['correction', 'Correction'],
] as const;

type Booked = Pick<Sent<'topUp'>, 'balance_usd' | 'replayed'>;

export function GiveCredit({ account, asked, ...callbacks }: Props) {
  const [text, setText] = useState(typedText(asked ?? ''));
  const [reason, setReason] = useState<(typeof GIVEN_FOR)[number][0] | ''>('');
  const [expiry, setExpiry] = useState('');
  const words = useWords();
  const amount = positive(text);
  const isUnusable = account.usable_keys === 0;
  const isCredit = reason === 'paid' || reason === 'promotional';
  const expires = isCredit && expiry !== '' ? isoOfLocal(expiry) : undefined;
  return (
    <ActionDialog<Booked>
      title={`Give credit to ${account.name}`}
      fields={
        <>
          <AmountField value={text} onValue={setText} />
          <Choice
            label="Reason"
            value={reason}
            options={may('change') ? [NO_REASON, ...GIVEN_FOR] : GIVEN_BY_CREDIT}
            onValue={setReason}
          />
          {words.fields}
          {isCredit && (
            <TextField
              label="Expires"
              type="datetime-local"
              value={expiry}
              onValue={setExpiry}
              hint="In your time zone. Empty: never."
            />
          )}
        </>
      }
      problem={amountProblem(text) ?? (reason === '' ? REASON_PROBLEM : undefined)}
      changes={() => [balanceChange(account, amount ?? '0')]}
      facts={[['Reason', labelIn(GIVEN_FOR, reason)], ...words.facts, ['Expires', expires ?? null]]}
      warning={isUnusable ? 'No key of this account can be used: nobody can spend it.' : undefined}
      confirm={`Give ${usdText(amount ?? '0')}`}
      run={(actionId) =>
        isCredit
          ? call('POST /admin/accounts/:account_id/top-ups', {
              path: { account_id: account.id },
              body: {
                top_up_id: actionId,
                amount_usd: amount ?? '',
                source: reason,
                anyway: isUnusable,
                ...words.given,
                expires_at: expires,
              },
            })
          : adjust(account, { id: actionId, amount: amount ?? '', reason, ...words.given })
      }
      done={(booked) => <BalanceNow of={booked} />}
      {...callbacks}
    />
  );
}

export function TakeBack({
  account,
  asked,
  isPaidOut = false,
  ...callbacks
}: Props & {
  /** Whether the search was told so: the reason is then given, and the dialog begins by asking. */
  readonly isPaidOut?: boolean;
}) {
  const [text, setText] = useState(typedText(asked ?? ''));
  const [reason, setReason] = useState<(typeof TAKEN_FOR)[number][0] | ''>(
    isPaidOut ? 'refund' : '',
  );
  const words = useWords();
  const amount = positive(text);
  return (
    <ActionDialog
      title={`Take back from ${account.name}`}
      fields={
        <>
          <AmountField
            value={text}
            onValue={setText}
            hint="The balance falls by it. The customer gets nothing: to pay money back, refund a payment in Payments."
          />
          <Choice
            label="Reason"
            value={reason}
            options={[NO_REASON, ...TAKEN_FOR]}
            onValue={setReason}
          />
          {words.fields}
        </>
      }
      problem={amountProblem(text) ?? (reason === '' ? REASON_PROBLEM : undefined)}
      changes={() => [balanceChange(account, `-${amount ?? '0'}`)]}
      facts={[['Reason', labelIn(TAKEN_FOR, reason)], ...words.facts]}
      confirm={`Take back ${usdText(amount ?? '0')}`}
      asksAtOnce={isPaidOut}
      isDangerous
      run={(actionId) =>
        adjust(account, { id: actionId, amount: `-${amount ?? ''}`, reason, ...words.given })
      }
      done={(booked) => <BalanceNow of={booked} />}
      {...callbacks}
    />
  );
}

/** Undoes one entry exactly. The gateway refuses it if the entry was reversed before. */
export function ReverseEntry({
  account,
  entry,
  ...callbacks
}: Props & { readonly entry: Sent<'bookingEntry'> }) {
  const words = useWords();
  const { id: reverses, created_at: bookedAt, amount_usd: amount } = entry;
  return (
    <ActionDialog
      title={`Reverse ${reverses}`}
      fields={words.fields}
      changes={() => [balanceChange(account, formatUsd(-parseUsd(amount)))]}
      facts={[
        ['Reverses', reverses],
        ['Amount', usdText(amount)],
        ['Booked', bookedAt],
        ['Account', account.name],
        ...words.facts,
      ]}
      asksAtOnce
      confirm="Reverse this entry"
      isDangerous
      run={(actionId) =>
        call('POST /admin/accounts/:account_id/reversals', {
          path: { account_id: account.id },
          body: { reversal_id: actionId, reverses, ...words.given },
        })
      }
      done={(booked) => <BalanceNow of={booked} />}
      {...callbacks}
    />
  );
}

function adjust(
  account: Sent<'account'>,
  booked: {
    readonly id: string;
    /** Below zero if it is taken from the account. */
    readonly amount: string;
    readonly reason: Sent<'adjustment'>['reason'] | '';
    readonly reference: string | undefined;
    readonly note: string | undefined;
  },
) {
  const { id, amount, reason, ...why } = booked;
  // The form does not get this far without a reason.
  if (reason === '') throw new TypeError(REASON_PROBLEM);
  return call('POST /admin/accounts/:account_id/adjustments', {
    path: { account_id: account.id },
    body: { adjustment_id: id, amount_usd: amount, reason, ...why },
  });
}

function labelIn(options: readonly (readonly [string, string])[], value: string): string {
  return options.find(([each]) => each === value)?.[1] ?? value;
}

/** The reference and the note of a booking. */
function useWords() {
  const [reference, setReference] = useState('');
  const [note, setNote] = useState('');
  return {
    given: { reference: given(reference), note: given(note) },
    facts: [
      ['Reference', given(reference) ?? null],
      ['Note, for operators only', given(note) ?? null],
    ] as const,
    fields: (
      <>
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
      </>
    ),
  };
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
      warning={`${usdText(amount ?? '0')} go to ${target.trim()}.`}
      confirm={`Transfer ${usdText(amount ?? '0')}`}
      run={(actionId) =>
        call('POST /admin/accounts/:account_id/transfers', {
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

export function EditAccount({ account: now, ...callbacks }: Props) {
  // What somebody else changes meanwhile is loaded behind the dialog. It is not changed back.
  const [account] = useState(now);
  const [name, setName] = useState(account.name);
  const [externalId, setExternalId] = useState(account.external_id ?? '');
  const [typed, setTyped] = useState(ACCOUNT_SETTINGS.map(({ of }) => of(account).text));
  const settings = ACCOUNT_SETTINGS.map((setting, index) => {
    const text = typed[index] ?? '';
    return { ...setting, text, before: setting.of(account), after: setting.read(text) };
  });
  const ownId = given(externalId) ?? null;
  const changed = [
    ...(name.trim() === account.name
      ? []
      : [{ what: 'Name', before: account.name, after: name.trim(), body: { name: name.trim() } }]),
    ...(ownId === account.external_id
      ? []
      : [
          {
            what: 'External id',
            before: account.external_id ?? 'none',
            after: ownId ?? 'none',
            body: { external_id: ownId },
          },
        ]),
    ...settings.flatMap(({ name: what, before, after }) =>
      typeof after === 'string' || after.text === before.text
        ? []
        : [{ what, before: before.shown, after: after.shown, body: after.change }],
    ),
  ];
  const problem =
    name.trim() === ''
      ? 'Name: must not be empty.'
      : (settings.map(({ after }) => after).find((after) => typeof after === 'string') ??
        (changed.length === 0 ? 'Nothing is changed yet.' : undefined));
  return (
    <ActionDialog
      title={`Edit ${account.name}`}
      fields={
        <>
          <TextField label="Name" required maxLength={200} value={name} onValue={setName} />
          <TextField label="External id" value={externalId} onValue={setExternalId} />
          {settings.map(({ name: of, unit, hint, text }, index) => {
            const field = {
              value: text,
              hint,
              onValue(value: string) {
                setTyped(typed.with(index, value));
              },
            };
            return unit === 'USD' ? (
              <AmountField key={of} label={of} required={false} {...field} />
            ) : (
              <TextField key={of} label={unit === '' ? of : `${of}, ${unit}`} {...field} />
            );
          })}
        </>
      }
      problem={problem}
      changes={() => changed}
      confirm="Change the account"
      run={() =>
        call('PATCH /admin/accounts/:account_id', {
          path: { account_id: account.id },
          body: changed.reduce<AccountChange>((all, { body }) => ({ ...all, ...body }), {}),
        })
      }
      done={(changed) => <p>{changed.name} is changed.</p>}
      {...callbacks}
    />
  );
}

/** Suspends the account with all its keys, or resumes it. */
export function ChangeAccountState({ account, ...callbacks }: Props) {
  // The account is loaded again after the change, while the dialog still says what was done.
  const [state] = useState(account.state);
  const isActive = state === 'active';
  return (
    <ActionDialog
      title={`${isActive ? 'Suspend' : 'Resume'} ${account.name}`}
      changes={() => [
        {
          what: 'State',
          before: state,
          after: isActive
            ? 'suspended: requests of all its keys are refused, also of new ones'
            : 'active: each key is again what it was',
        },
      ]}
      confirm={`${isActive ? 'Suspend' : 'Resume'} the account`}
      isDangerous={isActive}
      run={() =>
        call(`POST /admin/accounts/:account_id/${isActive ? 'suspend' : 'resume'}`, {
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
  return separatorProblem(text) ?? `Amount: a number above 0, such as 25 or ${typedText('0.5')}.`;
}

/** @returns `undefined` for a field that was left empty */
function given(text: string): string | undefined {
  return text.trim() === '' ? undefined : text.trim();
}

export function balanceChange(
  { balance_usd: balance }: Pick<Sent<'account'>, 'balance_usd'>,
  amount: string,
) {
  return {
    what: 'Balance',
    before: <Money usd={balance} />,
    after: <Money usd={formatUsd(parseUsd(balance) + parseUsd(amount))} />,
  };
}

function BalanceNow({ of }: { readonly of: Booked }) {
  return (
    <p>
      {of.replayed ? 'This was booked before. It is not booked again.' : 'Done.'} The balance is now{' '}
      <Money usd={of.balance_usd} />.
    </p>
  );
}
