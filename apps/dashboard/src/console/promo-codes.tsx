/** Codes that customers redeem for credit, each once per account. */

import { useState } from 'preact/hooks';
import { ActionDialog } from '../shared/controls/actions.js';
import type { DialogCallbacks } from '../shared/controls/actions.js';
import type { Sent } from '../shared/api/gateway-types.js';
import { PagedTable } from '../shared/controls/paged-table.js';
import type { Column } from '../shared/controls/paged-table.js';
import { usePages } from '../shared/api/pages.js';
import { AmountField, Count, Empty, Money, TextField } from '../shared/controls/parts.js';
import { isoOfLocal } from '../shared/text/times.js';
import { formatUsd, parseUsd, positive } from '../shared/text/usd.js';
import { amountProblem } from './account-actions.js';
import { call, may } from './session.js';
import { OWN_STYLE } from '../shared/text/numbers.js';

const COLUMNS: readonly Column<Sent<'promoCode'>>[] = [
  { label: 'Code', value: ({ code }) => code, cell: (_, code) => <span class="id">{code}</span> },
  { label: 'Amount', kind: 'usd', value: (code) => code.amount_usd },
  {
    label: 'Redeemed',
    kind: 'count',
    value: (code) => code.redemptions,
    cell: (code, count) => (
      <>
        {count} of <Count of={code.max_redemptions} />
      </>
    ),
  },
  { label: 'Until', kind: 'time', value: (code) => code.expires_at },
  { label: 'Credit expires', kind: 'time', value: (code) => code.credit_expires_at },
];

export function PromoCodes() {
  return may('credit') ? (
    <List />
  ) : (
    <Empty>A token that may only read cannot see promo codes.</Empty>
  );
}

function List() {
  const list = usePages('codes', (cursor, signal) =>
    call('GET /admin/promo-codes', { query: { limit: 50, cursor }, signal }),
  );
  const [isCreating, setIsCreating] = useState(false);
  return (
    <>
      <div class="row">
        <button
          type="button"
          class="main"
          onClick={() => {
            setIsCreating(true);
          }}
        >
          Create a code
        </button>
      </div>
      <PagedTable
        list={list}
        what="the promo codes"
        columns={COLUMNS}
        empty="There are no codes."
        idOf={({ code }) => code}
        rowName="data-code"
        file="promo-codes"
      />
      {isCreating && (
        <CreateCode
          onDone={list.reload}
          onClose={() => {
            setIsCreating(false);
          }}
        />
      )}
    </>
  );
}

const CODE = /^[A-Z0-9-]{8,40}$/;

function CreateCode(callbacks: DialogCallbacks) {
  const [code, setCode] = useState('');
  const [text, setText] = useState('');
  const [times, setTimes] = useState('1');
  const [expiry, setExpiry] = useState('');
  const [creditExpiry, setCreditExpiry] = useState('');
  const name = code.trim().toUpperCase();
  const amount = positive(text);
  const count = Number(times);
  const isCount = /^[1-9]\d{0,8}$/.test(times.trim());
  const problem = CODE.test(name)
    ? (amountProblem(text) ??
      (isCount
        ? undefined
        : `Number of accounts: a whole number from 1 to ${OWN_STYLE.whole(999_999_999)}.`))
    : 'Code: 8 to 40 letters, digits and hyphens.';
  return (
    <ActionDialog
      title="Create a code"
      fields={
        <>
          <TextField
            label="Code"
            required
            value={code}
            onValue={setCode}
            hint="8 to 40 letters, digits and hyphens. Anyone who knows it can redeem it."
          />
          <AmountField value={text} onValue={setText} />
          <TextField
            label="Number of accounts that can redeem it"
            required
            inputMode="numeric"
            value={times}
            onValue={setTimes}
          />
          <TextField
            label="Can be redeemed until"
            type="datetime-local"
            value={expiry}
            onValue={setExpiry}
            hint="In your time zone. Empty: no end."
          />
          <TextField
            label="The credit expires"
            type="datetime-local"
            value={creditExpiry}
            onValue={setCreditExpiry}
            hint="In your time zone. Empty: never."
          />
        </>
      }
      problem={problem}
      changes={() => [
        {
          what: `Promotional credit by ${name}`,
          before: 'none',
          after: (
            <>
              at most{' '}
              <Money usd={formatUsd(parseUsd(amount ?? '0') * BigInt(isCount ? count : 0))} />
            </>
          ),
        },
      ]}
      confirm="Create the code"
      run={() =>
        call('POST /admin/promo-codes', {
          body: {
            code: name,
            amount_usd: amount ?? '',
            max_redemptions: count,
            expires_at: expiry === '' ? undefined : isoOfLocal(expiry),
            credit_expires_at: creditExpiry === '' ? undefined : isoOfLocal(creditExpiry),
          },
        })
      }
      done={(created) => (
        <p>
          <span class="id">{created.code}</span> can be redeemed now.
        </p>
      )}
      {...callbacks}
    />
  );
}
