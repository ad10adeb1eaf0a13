/** The operator's console: the sign-in form, or the places. */

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
import { Places, placeOf } from '../shared/controls/places.js';
import type { Place, Section } from '../shared/controls/places.js';
import { ThemeSwitch } from '../shared/controls/theme.js';
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
              <ThemeSwitch />
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
        {state.name === 'signed in' && <SignedIn isSimulated={state.operator.simulated} />}
      </main>
    </>
  );
}

interface Part extends Section {
  /** @param rest - The parts of the address that follow `path`. */
  readonly content: (rest: readonly string[]) => ComponentChildren;
}

const PLACES: readonly Place<Part>[] = [
  {
    label: 'Today',
    icon: 'today',
    sections: [
      { path: 'home', label: 'Overview', content: () => <Home /> },
      { path: 'today', label: 'Traffic', content: () => <Today /> },
    ],
  },
  {
    label: 'Customers',
    icon: 'customers',
    sections: [
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
    ],
  },
  {
    label: 'Activity',
    icon: 'activity',
    sections: [
      { path: 'usage', label: 'Usage', content: () => <UsageCard /> },
      { path: 'requests', label: 'Requests', content: () => <OperatorRequests /> },
      { path: 'ledger', label: 'Ledger', content: () => <Ledger /> },
      { path: 'dispute', label: 'Dispute', content: () => <Dispute /> },
    ],
  },
  {
    label: 'Money',
    icon: 'money',
    sections: [
      { path: 'books', label: 'Books', content: () => <Books /> },
      { path: 'payments', label: 'Payments', content: ([part]) => <PaymentPages part={part} /> },
      { path: 'bill', label: "Provider's bill", content: () => <ProviderBill /> },
      { path: 'prices', label: 'Prices', content: () => <Prices /> },
    ],
  },
  {
    label: 'System',
    icon: 'system',
    sections: [
      { path: 'events', label: 'Notifications', content: () => <Events /> },
      { path: 'trail', label: 'Trail', content: () => <Trail /> },
      { path: 'audit', label: 'Audit', content: () => <Audit /> },
      { path: 'settings', label: 'Settings', content: () => <Settings /> },
    ],
  },
];

const SECTIONS = PLACES.flatMap(({ sections }) => sections);

function SignedIn({ isSimulated }: { readonly isSimulated: boolean }) {
  const [first = 'home', ...rest] = route.value.path;
  const current = placeOf(PLACES, first);
  return (
    <>
      <h1 class="hidden">Farthing console</h1>
      <Places
        label="Places of the console"
        places={PLACES}
        current={current}
        page="Farthing console"
        search={<Search what="accounts, keys, requests, payments" tabs={SECTIONS} find={find} />}
      >
        {isSimulated && <SimulatorNote />}
        {current?.section.content(rest)}
      </Places>
    </>
  );
}
