/** One account: its balance, its usage, its keys, and all actions on it. */

import { useEffect, useState } from 'preact/hooks';
import { Amount, Figure } from '../shared/controls/figures.js';
import type { Sent } from '../shared/api/gateway-types.js';
import {
  Badge,
  Count,
  DateOf,
  Loaded,
  Money,
  Segments,
  TableFrame,
  Time,
} from '../shared/controls/parts.js';
import { useResource } from '../shared/api/resource.js';
import type { Resource } from '../shared/api/resource.js';
import { forgetQuery, route, to } from '../shared/api/router.js';
import { Statement } from '../shared/money/statement.js';
import {
  ChangeAccountState,
  EditAccount,
  GiveCredit,
  TakeBack,
  Transfer,
} from './account-actions.js';
import { ACCOUNT_SETTINGS } from './account-settings.js';
import { AccountKeys } from './account-keys.js';
import { membersOf } from './account-members.js';
import { CustomersView } from './customers-view.js';
import { EntryList } from './ledger.js';
import { SendPaymentLink } from './payment-actions.js';
import { PaymentList } from './payment-list.js';
import { call, may } from './session.js';
import { TrailList } from './trail.js';
import { UsageCard } from './usage-card.js';

type Acting = 'give' | 'take' | 'transfer' | 'edit' | 'state' | 'link';

const PARTS = [
  ['ledger', 'Ledger'],
  ['statement', 'Statement'],
  ['payments', 'Payments'],
  ['trail', 'Trail'],
] as const;
type Part = (typeof PARTS)[number][0];

export function AccountPage({ id }: { readonly id: string }) {
  const account = useResource(`account ${id}`, (signal) =>
    call('GET /admin/accounts/:account_id', { path: { account_id: id }, signal }),
  );
  const [part, setPart] = useState<Part>('ledger');
  // A change may add an entry to one of the lists below, so each change loads them again.
  const [changes, setChanges] = useState(0);
  const changed = () => {
    setChanges(changes + 1);
    account.reload();
  };
  return (
    <div class="stack">
      <section class="card" aria-label="Account">
        <Loaded of={account} what="the account">
          {(value) => <Head account={value} all={account} changed={changed} />}
        </Loaded>
      </section>
      {account.value !== undefined && (
        <>
          <UsageCard accountId={id} />
          <AccountKeys key={account.value.state} account={account.value} changed={changed} />
          <section class="card" aria-label="History">
            <div class="row spread no-print">
              <h2>History</h2>
              <Segments label="History" value={part} options={PARTS} onValue={setPart} />
            </div>
            {part === 'ledger' && (
              <>
                <p>
                  <a href={to(['ledger'], { account_id: id })}>Open in the ledger, with filters</a>
                </p>
                <EntryList key={changes} filters={{ account_id: id }} changed={changed} />
              </>
            )}
            {part === 'statement' && <StatementOf id={id} key={changes} />}
            {part === 'payments' && <PaymentList key={changes} accountId={id} changed={changed} />}
            {part === 'trail' && <TrailList key={changes} accountId={id} />}
          </section>
        </>
      )}
    </div>
  );
}

function StatementOf({ id }: { readonly id: string }) {
  return (
    <Statement
      fileName={`statement-${id}`}
      read={(query, signal) =>
        call('GET /admin/accounts/:account_id/statement', {
          path: { account_id: id },
          query,
          signal,
        })
      }
    />
  );
}

function Head(props: {
  readonly account: Sent<'accountWithCredits'>;
  readonly all: Resource<Sent<'accountWithCredits'>>;
  readonly changed: () => void;
}) {
  const { account, changed } = props;
  const { give, take, paid_out: paidOut } = route.value.query;
  const asked = give ?? take ?? paidOut;
  const [acting, setActing] = useState<Acting>();
  const [typed, setTyped] = useState<string>();
  const [isPaidOut, setIsPaidOut] = useState(false);
  // An action that was typed into the search. A reload must not ask again.
  useEffect(() => {
    if (asked === undefined) return;
    setTyped(asked);
    setIsPaidOut(paidOut !== undefined);
    setActing(give === undefined ? 'take' : 'give');
    forgetQuery();
  }, [asked]);
  const callbacks = {
    account,
    onDone: changed,
    onClose: () => {
      setActing(undefined);
      setTyped(undefined);
      setIsPaidOut(false);
    },
  };
  const button = (action: Acting, label: string) => (
    <button
      type="button"
      onClick={() => {
        setActing(action);
      }}
    >
      {label}
    </button>
  );
  return (
    <div class="stack">
      <div>
        <p>
          <a href={to(['accounts'])}>All accounts</a>{' '}
          <a href={to(membersOf(account.id))}>Members and budgets</a>
        </p>
        <h2>
          {account.name}{' '}
          {account.state !== 'active' && <Badge tone="warning">{account.state}</Badge>}
        </h2>
        <p class="id quiet">
          {account.id}
          {account.external_id !== null && `, ${account.external_id}`}
        </p>
        <p class="balance">
          <Money usd={account.balance_usd} />
        </p>
      </div>
      {may('credit') && account.state !== 'closed' && (
        <div class="row no-print">
          {button('give', 'Give credit')}
          {button('link', 'Send a payment link')}
          {may('change') && button('take', 'Take back')}
          {may('change') && button('transfer', 'Transfer')}
          {may('change') && button('edit', 'Edit')}
          {may('change') && button('state', account.state === 'active' ? 'Suspend' : 'Resume')}
          {may('change') && <CustomersView account={account} />}
        </div>
      )}
      <dl class="grid">
        <Amount name="Credited" usd={account.credited_usd} />
        <Amount name="Adjusted" usd={account.adjusted_usd} />
        <Amount name="Spent" usd={account.spent_usd} />
        <Amount name="Expired" usd={account.expired_usd} />
        <Amount name="Written off" usd={account.written_off_usd} />
        {ACCOUNT_SETTINGS.map(({ name, of }) => (
          <Figure key={name} name={name}>
            {of(account).shown}
          </Figure>
        ))}
        <Figure name="Usable keys">
          <Count of={account.usable_keys} />
        </Figure>
        <Figure name="Last charge">
          <Time iso={account.last_charged_at} />
        </Figure>
      </dl>
      {account.unspent.lots.length > 0 && <Lots of={account} />}
      {acting === 'give' && <GiveCredit asked={typed} {...callbacks} />}
      {acting === 'link' && <SendPaymentLink {...callbacks} />}
      {acting === 'take' && <TakeBack asked={typed} isPaidOut={isPaidOut} {...callbacks} />}
      {acting === 'transfer' && <Transfer {...callbacks} />}
      {acting === 'edit' && <EditAccount {...callbacks} />}
      {acting === 'state' && <ChangeAccountState {...callbacks} />}
    </div>
  );
}

function Lots({ of }: { readonly of: Sent<'accountWithCredits'> }) {
  return (
    <details>
      <summary>Credits that are left ({String(of.unspent.lots.length)})</summary>
      <TableFrame label="Credits that are left">
        <table>
          <thead>
            <tr>
              <th scope="col">Credit</th>
              <th scope="col">Source</th>
              <th scope="col">Expires</th>
              <th scope="col" class="n">
                Left
              </th>
            </tr>
          </thead>
          <tbody>
            {of.unspent.lots.map((lot) => (
              <tr key={lot.entry_id}>
                <td class="id">{lot.entry_id}</td>
                <td>{lot.source}</td>
                <td>{lot.expires_at === null ? 'never' : <DateOf iso={lot.expires_at} />}</td>
                <td class="n">
                  <Money usd={lot.remaining_usd} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </TableFrame>
    </details>
  );
}
