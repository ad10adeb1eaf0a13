/** All accounts: what is left, how long it lasts, and what each brought in thirty days. */

import { useMemo, useState } from 'preact/hooks';
import { ActionDialog } from '../shared/controls/actions.js';
import type { DialogCallbacks } from '../shared/controls/actions.js';
import { columnsOf } from '../shared/controls/columns.js';
import { emptyText } from '../shared/controls/filter-form.js';
import type { Sent } from '../shared/api/gateway-types.js';
import { NewCredential, hasCredential } from '../shared/keys/key-actions.js';
import { readCaps, useCapFields } from '../shared/keys/key-parts.js';
import { PagedTable } from '../shared/controls/paged-table.js';
import type { Column } from '../shared/controls/paged-table.js';
import { pageLimit, usePages } from '../shared/api/pages.js';
import {
  AmountField,
  Badge,
  Choice,
  Count,
  DateOf,
  FailureNote,
  Money,
  Signed,
  TextField,
} from '../shared/controls/parts.js';
import { Sparkline } from '../shared/plots/sparkline.js';
import { route, to } from '../shared/api/router.js';
import { formatUsd, parseUsd, readTypedUsd, separatorProblem } from '../shared/text/usd.js';
import { daysLeft, useAccountFigures } from './account-figures.js';
import type { FiguresOfAccounts } from './account-figures.js';
import { FindKey } from './find-key.js';
import { NameFilter, changeOrder, orderNow } from './list-filters.js';
import { learn } from './names.js';
import { call, may } from './session.js';
import { typedText } from '../shared/text/numbers.js';
import { GIVEN_FOR, NO_REASON, REASON_PROBLEM } from './account-actions.js';

const COLUMNS: readonly Column<Sent<'account'>>[] = columnsOf('accounts', {
  name: {
    label: 'Account',
    cell: (account) => (
      <>
        <a href={to(['accounts', account.id])} title={account.id}>
          {account.name}
        </a>{' '}
        {account.state !== 'active' && <Badge tone="warning">{account.state}</Badge>}
        {account.external_id !== null && <span class="when id">{account.external_id}</span>}
      </>
    ),
  },
  balance_usd: {
    cell: (account, balance) => (
      <>
        {balance}
        {parseUsd(account.balance_usd) <= 0n && (
          <span class="when">
            <Badge tone="bad">empty</Badge>
          </span>
        )}
      </>
    ),
    order: { name: 'balance', isRising: true },
  },
  spent_usd: { order: { name: 'spent' } },
  last_charged_at: {
    order: { name: 'last_charged' },
    cell: ({ last_charged_at: at }) => <Day iso={at} />,
  },
  usable_keys: { isOnlyInFiles: true },
  created_at: { isOnlyInFiles: true },
});

/** The names of the columns that stand before the figures of thirty days. */
const FIRST = 2;

/** With what each account brought in thirty days, and how long its balance lasts. */
function columnsWith(figures: FiguresOfAccounts | undefined): readonly Column<Sent<'account'>>[] {
  const of = ({ id }: Sent<'account'>) => figures?.of(id);
  const now = Date.now();
  return [
    ...COLUMNS.slice(0, FIRST),
    {
      label: 'Days left',
      kind: 'number',
      value: (account) => {
        const its = of(account);
        return (its && daysLeft(account, its, now)) ?? null;
      },
      cell: (account) => {
        const its = of(account);
        const days = its && daysLeft(account, its, now);
        if (days === undefined) return <span class="quiet">–</span>;
        const count = <Count of={days} />;
        return days <= FEW_DAYS ? <strong class="loss">{count}</strong> : count;
      },
    },
    {
      label: '30 days',
      value: (account) => of(account)?.days.map(formatUsd).join(' ') ?? null,
      cell: (account) => {
        const its = of(account);
        return its && <Sparkline values={its.days} label={`Charges per day of ${account.name}`} />;
      },
    },
    { label: 'Revenue', kind: 'usd', value: (account) => of(account)?.revenue ?? null },
    {
      label: 'Margin',
      kind: 'usd',
      value: (account) => of(account)?.margin ?? null,
      cell: (account, shown) => {
        const margin = of(account)?.margin;
        return margin?.startsWith('-') === true ? <Signed usd={margin} /> : shown;
      },
    },
    {
      label: 'Failed',
      kind: 'count',
      value: (account) => of(account)?.failed ?? null,
      cell: (account, shown) => {
        const { failed = 0, requests = 0 } = of(account) ?? {};
        const isMost = failed * 2 > requests;
        return (
          <>
            {isMost ? <strong class="loss">{shown}</strong> : shown}
            {requests > 0 && (
              <span class="when">
                of <Count of={requests} />
              </span>
            )}
          </>
        );
      },
    },
    ...COLUMNS.slice(FIRST),
  ];
}

/** A balance that lasts no longer is red. */
const FEW_DAYS = 3;

/** The day of a time, which the title has. */
function Day({ iso }: { readonly iso: string | null }) {
  return iso === null ? <span class="quiet">never</span> : <DateOf iso={iso} />;
}

export function Accounts() {
  const { name = '', external_id = '' } = route.value.query;
  const [isCreating, setIsCreating] = useState(false);
  const query = { name, external_id, order: orderNow() };
  const list = usePages(JSON.stringify(query), (after, signal) =>
    call('GET /admin/accounts', { query: { ...query, limit: pageLimit(after), after }, signal }),
  );
  learn(list.items ?? []);
  const figures = useAccountFigures();
  const columns = useMemo(() => columnsWith(figures.value), [figures.value]);
  return (
    <div class="stack">
      <section
        class="card"
        aria-label="Accounts"
        aria-busy={figures.value === undefined && figures.failure === undefined}
      >
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
        <NameFilter />
        {figures.failure !== undefined && (
          <FailureNote
            failure={figures.failure}
            what="the figures of thirty days"
            retry={figures.reload}
          />
        )}
        <PagedTable
          // The decimals of the figures align when they have come.
          key={String(figures.value === undefined)}
          list={list}
          what="the accounts"
          columns={columns}
          empty={emptyText(
            { 'the name': name, 'the external id': external_id },
            'There is no account yet. Create the first one.',
          )}
          idOf={({ id }) => id}
          rowName="data-account"
          order={{ name: orderNow(), change: changeOrder }}
          file="accounts"
        />
      </section>
      <FindKey />
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

/** Makes an account, with its first credit and its first key if they are wanted. */
function CreateAccount(callbacks: DialogCallbacks) {
  const [name, setName] = useState('');
  const [externalId, setExternalId] = useState('');
  const [balance, setBalance] = useState('');
  const [keyName, setKeyName] = useState('');
  const [source, setSource] = useState<'paid' | 'promotional' | ''>('');
  const caps = useCapFields(undefined);
  const amount = readTypedUsd(balance);
  const hasCredit = balance.trim() !== '';
  const isAmount = !hasCredit || (amount !== undefined && parseUsd(amount) > 0n);
  const hasKey = keyName.trim() !== '';
  const credit = source === '' || !hasCredit ? {} : { balance_usd: amount, credit_source: source };
  const external = externalId.trim() === '' ? undefined : externalId.trim();
  const problem =
    name.trim() === ''
      ? 'Name: say whose account it is.'
      : !isAmount
        ? (separatorProblem(balance) ??
          `First credit: an amount such as 25 or ${typedText('0.5')}.`)
        : hasCredit && source === ''
          ? REASON_PROBLEM
          : hasKey
            ? caps.problem
            : undefined;
  return (
    <ActionDialog<Made>
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
          <AmountField
            label="First credit"
            required={false}
            value={balance}
            onValue={setBalance}
            hint="May be empty."
          />
          {hasCredit && (
            <Choice
              label="Reason"
              value={source}
              options={[NO_REASON, GIVEN_FOR[0], GIVEN_FOR[1]]}
              onValue={setSource}
            />
          )}
          <TextField
            label="Name of its first key"
            maxLength={200}
            value={keyName}
            onValue={setKeyName}
            hint="Empty: no key yet."
          />
          {hasKey && caps.fields}
        </>
      }
      problem={problem}
      changes={
        hasCredit
          ? () => [
              {
                what: `Balance of "${name.trim()}"`,
                before: 'no account',
                after: <Money usd={amount ?? '0'} />,
              },
            ]
          : undefined
      }
      facts={[['First key', hasKey ? keyName.trim() : null]]}
      confirm={hasKey ? 'Create the account and the key' : 'Create the account'}
      run={(actionId) => {
        const headers = { 'Idempotency-Key': actionId };
        return hasKey
          ? call('POST /admin/keys', {
              headers,
              body: {
                name: keyName.trim(),
                account_name: name.trim(),
                account_external_id: external,
                ...credit,
                ...readCaps(undefined, caps.texts),
              },
            })
          : call('POST /admin/accounts', {
              headers,
              body: { name: name.trim(), external_id: external, ...credit },
            });
      }}
      done={(made) => <MadeAccount of={made} />}
      isSecret={(made) => made.object === 'api_key' && hasCredential(made)}
      {...callbacks}
    />
  );
}

type Made = Sent<'newAccount'> | Sent<'newKey'>;

function MadeAccount({ of }: { readonly of: Made }) {
  if (of.object === 'api_key') {
    // The name is not a link, because leaving this page would lose the credential that it shows.
    return (
      <>
        <p>
          {of.account.name} has <Money usd={of.account.balance_usd} />.
        </p>
        <NewCredential of={of} />
      </>
    );
  }
  return (
    <p>
      <a href={to(['accounts', of.id])}>{of.name}</a> has <Money usd={of.balance_usd} />. Create a
      key to use it.
    </p>
  );
}
