/** The operator's console: the sign-in form, or the tabs. */

import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { Failure } from '../shared/api/api.js';
import { Freshness } from '../shared/api/freshness.js';
import {
  Badge,
  DigitsSwitch,
  FailureNote,
  SimulatorNote,
  SkipLink,
} from '../shared/controls/parts.js';
import { Restoring } from '../shared/controls/restoring.js';
import { route } from '../shared/api/router.js';
import { Search } from '../shared/controls/search.js';
import { Tabs } from '../shared/controls/tabs.js';
import { AccountMembers } from './account-members.js';
import { AccountPage } from './account.js';
import { Accounts } from './accounts.js';
import { Audit } from './audit.js';
import { Books } from './books.js';
import { Dispute } from './dispute.js';
import { Events } from './events.js';
import { Home } from './home.js';
import { Keys } from './keys.js';
import { Ledger } from './ledger.js';
import { PaymentPages } from './payments.js';
import { Prices } from './prices.js';
import { ProviderBill } from './provider-bill.js';
import { OperatorRequests } from './requests.js';
import { find } from './search.js';
import { restoreSession, session, signOut } from './session.js';
import { Settings } from './settings.js';
import { SignIn } from './sign-in.js';
import { Today } from './today.js';
import { Trail } from './trail.js';
import { UsageCard } from './usage-card.js';

/** A session ends after half an hour without a request, so the page must not make them for ever. */
const IDLE_MS = 10 * 60_000;

export function App() {
  const state = session.value;
  const [failure, setFailure] = useState<Failure>();
  async function leave() {
    setFailure(undefined);
    setFailure(await signOut());
  }
  return (
    <>
      <SkipLink />
      <header class="top">
        <div class="wrap">
          <div class="brand">
            <img src="./icon.svg" alt="" />
            <strong>Farthing console</strong>
          </div>
          {state.name === 'signed in' && (
            <div class="row middle">
              <span>
                <span class="quiet wide-only">Signed in as</span> {state.operator.name}{' '}
                {!state.operator.may.includes('change') && (
                  <Badge tone="plain">
                    {state.operator.may.includes('credit') ? 'read and credit' : 'read only'}
                  </Badge>
                )}
              </span>
              <Freshness idleMs={IDLE_MS} />
              <DigitsSwitch />
              <button type="button" onClick={() => void leave()}>
                Sign out
              </button>
            </div>
          )}
        </div>
      </header>
      <main id="main" class="wrap" tabIndex={-1}>
        {failure !== undefined && <FailureNote failure={failure} what="signing you out" />}
        {state.name === 'unknown' && <Restoring restore={restoreSession} />}
        {state.name === 'signed out' && <SignIn message={state.message} />}
        {state.name === 'signed in' && state.operator.simulated && <SimulatorNote />}
        {state.name === 'signed in' && <SignedIn />}
      </main>
    </>
  );
}

interface Tab {
  readonly path: string;
  readonly label: string;
  /** @param rest - The parts of the address that follow `path`. */
  readonly content: (rest: readonly string[]) => ComponentChildren;
}

const TABS: readonly Tab[] = [
  { path: 'home', label: 'Home', content: () => <Home /> },
  { path: 'today', label: 'Today', content: () => <Today /> },
  { path: 'usage', label: 'Usage', content: () => <UsageCard /> },
  {
    path: 'accounts',
    label: 'Accounts',
    content: ([id, part]) =>
      id === undefined ? (
        <Accounts />
      ) : part === 'members' ? (
        <AccountMembers key={id} id={id} />
      ) : (
        <AccountPage key={id} id={id} />
      ),
  },
  { path: 'keys', label: 'Keys', content: () => <Keys /> },
  { path: 'requests', label: 'Requests', content: () => <OperatorRequests /> },
  { path: 'ledger', label: 'Ledger', content: () => <Ledger /> },
  { path: 'books', label: 'Books', content: () => <Books /> },
  { path: 'payments', label: 'Payments', content: ([part]) => <PaymentPages part={part} /> },
  { path: 'dispute', label: 'Dispute', content: () => <Dispute /> },
  { path: 'prices', label: 'Prices', content: () => <Prices /> },
  { path: 'events', label: 'Notifications', content: () => <Events /> },
  { path: 'trail', label: 'Trail', content: () => <Trail /> },
  { path: 'audit', label: 'Audit', content: () => <Audit /> },
  { path: 'bill', label: "Provider's bill", content: () => <ProviderBill /> },
  { path: 'settings', label: 'Settings', content: () => <Settings /> },
];

function SignedIn() {
  const [first = 'home', ...rest] = route.value.path;
  const current = TABS.find(({ path }) => path === first) ?? TABS[0];
  return (
    <>
      <h1 class="hidden">Farthing console</h1>
      <Tabs
        label="Parts of the console"
        tabs={TABS}
        current={current}
        page="Farthing console"
        end={<Search what="accounts, keys, requests, payments" tabs={TABS} find={find} />}
      />
      {current?.content(rest)}
    </>
  );
}
