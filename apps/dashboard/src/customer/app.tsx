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
import { Tabs } from '../shared/controls/tabs.js';
import { CheckUsage } from './check.js';
import { Connect } from './connect.js';
import { Home } from './home.js';
import { KeyLinkCard } from './key-link.js';
import { Keys } from './keys.js';
import { Ledger } from './ledger.js';
import { showsAccount } from './limits.js';
import { CustomerMembers } from './members.js';
import { Notices } from './notices.js';
import { Payments } from './payments.js';
import { Prices } from './prices.js';
import { CustomerRequests } from './requests.js';
import { findFor } from './search.js';
import { call, describeGateway, isLink, restoreSession, session, signOut } from './session.js';
import { SignIn } from './sign-in.js';
import { StandingCard } from './standing.js';
import { Usage } from './usage.js';
import { usePayments } from './use-payments.js';

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

/** On a phone, a part begins on the first screen. */
const WIDE = matchMedia('(min-width: 40rem)');

interface Tab {
  readonly path: string;
  readonly label: string;
  readonly content: (overview: Sent<'accountOverview'>) => ComponentChildren;
  /** Whether the key may see the part. Absent: every key may. */
  readonly isFor?: (overview: Sent<'accountOverview'>) => boolean;
}

const TABS: readonly Tab[] = [
  {
    path: 'home',
    label: 'Home',
    content: (overview) => (
      <div class="stack">
        <Home overview={overview} />
        <Usage overview={overview} />
      </div>
    ),
  },
  {
    path: 'usage',
    label: 'Usage',
    content: (overview) => <Usage overview={overview} />,
  },
  {
    path: 'requests',
    label: 'Requests',
    content: (overview) => <CustomerRequests overview={overview} />,
  },
  {
    path: 'ledger',
    label: 'Ledger',
    content: (overview) => <Ledger overview={overview} />,
  },
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
    path: 'prices',
    label: 'Prices',
    content: (overview) => (
      <Prices allowance={showsAccount(overview) ? overview.allowance : null} />
    ),
  },
  { path: 'check', label: 'Check my usage', content: () => <CheckUsage /> },
  { path: 'connect', label: 'Connect', content: () => <Connect /> },
  {
    path: 'notices',
    label: 'Notices',
    isFor: ({ may_see_account: seesAccount }) => seesAccount && !isLink.peek(),
    content: () => <Notices />,
  },
  {
    path: 'keys',
    label: 'Keys',
    // A read-only link may not read the list of keys.
    isFor: ({ key }) => key.scope === 'manage' && !isLink.peek(),
    content: ({ key }) => <Keys ownId={key.id} />,
  },
  {
    path: 'members',
    label: 'Members and budgets',
    isFor: ({ key }) => key.scope === 'manage' && !isLink.peek(),
    content: () => <CustomerMembers />,
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
  const tabs = [
    ...TABS.filter(({ isFor }) => isFor?.(value) ?? true),
    ...(known === undefined
      ? []
      : [{ path: 'payments', label: 'Payments', content: () => <Payments known={known} /> }]),
  ];
  const current = tabs.find(({ path }) => path === first) ?? tabs[0];
  return (
    <>
      <h1 class="hidden">Usage and balance</h1>
      {gateway.value?.simulated === true && <SimulatorNote />}
      <StandingCard
        overview={overview}
        payments={payments}
        topUpUrl={gateway.value?.top_up_url}
        hasLimits={current?.path === 'home' || WIDE.matches}
        isOpen={current?.path === 'home' && WIDE.matches}
      />
      <Tabs
        label="Parts of this page"
        tabs={tabs}
        current={current}
        page="Farthing"
        end={<Search what="keys, requests, payments, models" tabs={tabs} find={findFor(value)} />}
      />
      {current?.content(value)}
    </>
  );
}
