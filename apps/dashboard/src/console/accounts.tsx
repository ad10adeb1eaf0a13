/** All accounts. */

import { useState } from 'preact/hooks';
import { ActionDialog } from '../shared/actions.js';
import type { DialogCallbacks } from '../shared/actions.js';
import { emptyText } from '../shared/filter-form.js';
import type { Sent } from '../shared/gateway-types.js';
import { Id } from '../shared/ids.js';
import { PagedTable } from '../shared/paged-table.js';
import { usePages } from '../shared/pages.js';
import { Badge, Count, Money, TextField, Time } from '../shared/parts.js';
import { route, to } from '../shared/router.js';
import { commaProblem, parseUsd, readTypedUsd } from '../shared/usd.js';
import { FindKey } from './find-key.js';
import { OrderChoice, orderNow } from './order.js';
import { SearchField } from './search.js';
import { call, may } from './session.js';

const COLUMNS = [
  { label: 'Account' },
  { label: 'Balance', isNumber: true },
  { label: 'Spent', isNumber: true },
  { label: 'Usable keys', isNumber: true },
  { label: 'Last charge' },
] as const;

export function Accounts() {
  const { name = '', external_id = '' } = route.value.query;
  const [isCreating, setIsCreating] = useState(false);
  const query = { name, external_id, order: orderNow(), limit: 200 };
  const list = usePages(JSON.stringify(query), (after, signal) =>
    call('GET /admin/accounts', { query: { ...query, after }, signal }),
  );
  return (
    <div class="stack">
      <FindKey />
      <section class="card" aria-label="Accounts">
        <div class="row spread">
          <h2>Accounts</h2>
          {may('change') && (
            <button
              type="button"
              class="main"
              onClick={() => {
                setIsCreating(true);
              }}
            >
              Create an account
            </button>
          )}
        </div>
        <div class="row">
          <SearchField name="name" label="Name contains" />
          <SearchField name="external_id" label="External id" />
          <OrderChoice />
        </div>
        <PagedTable
          list={list}
          what="the accounts"
          columns={COLUMNS}
          empty={emptyText(
            { 'the name': name, 'the external id': external_id },
            'There is no account yet. Create the first one.',
          )}
          row={(account) => <Row key={account.id} account={account} />}
        />
      </section>
      {isCreating && (
        <CreateAccount
          onDone={list.reload}
          onClose={() => {
            setIsCreating(false);
          }}
        />
      )}
    </div>
  );
}

function Row({ account }: { readonly account: Sent<'account'> }) {
  const isUsedUp = parseUsd(account.balance_usd) <= 0n;
  return (
    <tr data-account={account.id}>
      <td>
        <a href={to(['accounts', account.id])}>{account.name}</a>{' '}
        {account.state === 'suspended' && <Badge tone="warning">suspended</Badge>}
        <span class="when">
          <Id of={account.external_id ?? account.id} />
        </span>
      </td>
      <td class="n">
        <Money usd={account.balance_usd} />
        {isUsedUp && (
          <>
            <br />
            <Badge tone="bad">used up</Badge>
          </>
        )}
      </td>
      <td class="n">
        <Money usd={account.spent_usd} />
      </td>
      <td class="n">
        <Count of={account.usable_keys} />
      </td>
      <td>
        <Time iso={account.last_charged_at} />
      </td>
    </tr>
  );
}

function CreateAccount(callbacks: DialogCallbacks) {
  const [name, setName] = useState('');
  const [externalId, setExternalId] = useState('');
  const [balance, setBalance] = useState('');
  const amount = readTypedUsd(balance);
  const isAmount = balance.trim() === '' || (amount !== undefined && parseUsd(amount) > 0n);
  return (
    <ActionDialog
      title="Create an account"
      fields={
        <>
          <TextField label="Name" required maxLength={200} value={name} onValue={setName} />
          <TextField
            label="External id"
            value={externalId}
            onValue={setExternalId}
            hint="The id in your shop or CRM. May be empty."
          />
          <TextField
            label="First credit, USD"
            inputMode="decimal"
            value={balance}
            onValue={setBalance}
            hint="May be empty."
          />
        </>
      }
      problem={
        name.trim() === ''
          ? 'Name: say whose account it is.'
          : isAmount
            ? undefined
            : (commaProblem(balance) ?? 'First credit: an amount such as 25 or 0.5.')
      }
      changes={() => [
        {
          what: `Account "${name.trim()}"`,
          before: 'none',
          after: <Money usd={amount ?? '0'} />,
        },
      ]}
      confirm="Create the account"
      run={(actionId) =>
        call('POST /admin/accounts', {
          headers: { 'Idempotency-Key': actionId },
          body: {
            name: name.trim(),
            external_id: externalId.trim() === '' ? undefined : externalId.trim(),
            balance_usd: amount,
          },
        })
      }
      done={(account) => (
        <p>
          <a href={to(['accounts', account.id])}>{account.name}</a> has{' '}
          <Money usd={account.balance_usd} />. Create a key to use it.
        </p>
      )}
      {...callbacks}
    />
  );
}
