/** The customer's page: the header, and below it the sign-in form or the open part. */

import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { Failure } from '../shared/api/api.js';
import { Freshness } from '../shared/api/freshness.js';
import type { Sent } from '../shared/api/gateway-types.js';
import { DigitsSwitch, FailureNote, SimulatorNote, SkipLink } from '../shared/controls/parts.js';
import { useResource } from '../shared/api/resource.js';
import { Restoring } from '../shared/controls/restoring.js';
import { route } from '../shared/api/router.js';
import { Search } from '../shared/controls/search.js';
import { Statement } from '../shared/money/statement.js';
import { Places, placeOf } from '../shared/controls/places.js';
import type { Place, Section } from '../shared/controls/places.js';
import { ThemeSwitch } from '../shared/controls/theme.js';
import { CheckUsage } from './check.js';
import { Connect } from './connect.js';
import { Home } from './home.js';
import { KeyLinkCard } from './key-link.js';
import { Keys } from './keys.js';
import { Ledger } from './ledger.js';
import { showsAccount } from './limits.js';
import { CustomerMembers } from './members.js';
import { Notices } from './notices.js';
import { Payments as PaymentsOf } from './payments.js';
import { Prices } from './prices.js';
import { CustomerRequests } from './requests.js';
import { findFor } from './search.js';
import { call, describeGateway, isLink, restoreSession, session, signOut } from './session.js';
import { SignIn } from './sign-in.js';
import { StandingCard } from './standing.js';
import { Usage } from './usage.js';
import { usePayments } from './use-payments.js';
import type { Payments } from './use-payments.js';

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
            <strong>Farthing</strong>
          </div>
          {state.name === 'signed in' && (
            <div class="row middle">
              <Freshness />
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
        {state.name === 'key link' && <KeyLinkCard link={state.link} />}
        {state.name === 'signed in' && <SignedIn key={state.keyId} />}
      </main>
    </>
  );
}

interface Part extends Section {
  readonly content: (overview: Sent<'accountOverview'>, more: More) => ComponentChildren;
  /** Whether the key may see the part. Absent: every key may. */
  readonly isFor?: (overview: Sent<'accountOverview'>, more: More) => boolean;
}

interface More {
  /** `undefined` if the gateway takes no payments, or the key may not see them. */
  readonly known: Payments | undefined;
  readonly reload: () => void;
}

const PLACES: readonly Place<Part>[] = [
  {
    label: 'Home',
    icon: 'home',
    sections: [
      {
        path: 'home',
        label: 'Home',
        content: (overview, { reload }) => <Home overview={overview} reload={reload} />,
      },
    ],
  },
  {
    label: 'Activity',
    icon: 'activity',
    sections: [
      { path: 'usage', label: 'Usage', content: (overview) => <Usage overview={overview} /> },
      {
        path: 'requests',
        label: 'Requests',
        content: (overview) => <CustomerRequests overview={overview} />,
      },
      { path: 'ledger', label: 'Ledger', content: (overview) => <Ledger overview={overview} /> },
      { path: 'check', label: 'Check my usage', content: () => <CheckUsage /> },
    ],
  },
  {
    label: 'Keys and budgets',
    short: 'Keys',
    icon: 'keys',
    // A read-only link may not read the list of keys.
    sections: [
      {
        path: 'keys',
        label: 'Keys',
        isFor: ({ key }) => key.scope === 'manage' && !isLink.peek(),
        content: ({ key }) => <Keys ownId={key.id} />,
      },
      {
        path: 'members',
        label: 'Members and budgets',
        isFor: ({ key }) => key.scope === 'manage' && !isLink.peek(),
        content: () => <CustomerMembers />,
      },
    ],
  },
  {
    label: 'Billing',
    icon: 'billing',
    sections: [
      {
        path: 'statement',
        label: 'Statement',
        isFor: ({ may_see_account: seesAccount }) => seesAccount,
        content: () => (
          <section class="card" aria-label="Statement">
            <Statement
              fileName="statement"
              read={(query, signal) => call('GET /v1/dashboard/statement', { query, signal })}
            />
          </section>
        ),
      },
      {
        path: 'payments',
        label: 'Payments',
        isFor: (_, { known }) => known !== undefined,
        content: (_, { known }) => known && <PaymentsOf known={known} />,
      },
      {
        path: 'prices',
        label: 'Prices',
        content: (overview) => (
          <Prices allowance={showsAccount(overview) ? overview.allowance : null} />
        ),
      },
      {
        path: 'notices',
        label: 'Notices',
        isFor: ({ may_see_account: seesAccount }) => seesAccount && !isLink.peek(),
        content: () => <Notices />,
      },
    ],
  },
  {
    label: 'Connect',
    icon: 'connect',
    isButton: true,
    sections: [{ path: 'connect', label: 'Connect', content: () => <Connect /> }],
  },
];

function SignedIn() {
  const overview = useResource('account', (signal) =>
    call('GET /v1/dashboard/account', { signal }),
  );
  const gateway = useResource('gateway', describeGateway);
  const [first = 'home'] = route.value.path;
  const payments = usePayments();
  const known = payments.value?.limits === undefined ? undefined : payments.value;
  // What the key may see decides which parts there are, and what they show first.
  const { value, failure, reload } = overview;
  if (value === undefined) {
    return failure === undefined ? (
      <p class="loading" role="status">
        Loading…
      </p>
    ) : (
      <FailureNote failure={failure} what="your account" retry={reload} />
    );
  }
  const more = { known, reload };
  const places = PLACES.map((place) => ({
    ...place,
    sections: place.sections.filter(({ isFor }) => isFor?.(value, more) ?? true),
  })).filter(({ sections }) => sections.length > 0);
  const current = placeOf(places, first);
  const sections = places.flatMap((place) => place.sections);
  return (
    <>
      <h1 class="hidden">Usage and balance</h1>
      <Places
        label="Places of this page"
        places={places}
        current={current}
        page="Farthing"
        search={
          <Search what="keys, requests, payments, models" tabs={sections} find={findFor(value)} />
        }
      >
        {gateway.value?.simulated === true && <SimulatorNote />}
        <StandingCard
          overview={overview}
          payments={payments}
          topUpUrl={gateway.value?.top_up_url}
          isLine={current?.section.path !== 'home'}
        />
        {current?.section.content(value, more)}
      </Places>
    </>
  );
}
