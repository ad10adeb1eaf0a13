/** The customer's page: the header, and below it the sign-in form or the open part. */

import type { ComponentChildren } from 'preact';
import { DigitsSwitch, FailureNote, SkipLink } from '../shared/parts.js';
import { useResource } from '../shared/resource.js';
import { route } from '../shared/router.js';
import { Statement } from '../shared/statement.js';
import { Tabs } from '../shared/tabs.js';
import { CheckUsage } from './check.js';
import { Connect } from './connect.js';
import { Keys } from './keys.js';
import { Ledger } from './ledger.js';
import { Payments } from './payments.js';
import { Prices } from './prices.js';
import { call, isLink, isSignedIn, signOut } from './session.js';
import { SignIn } from './sign-in.js';
import { StandingCard } from './standing.js';
import { Usage } from './usage.js';
import { usePayments } from './use-payments.js';

export function App() {
  return (
    <>
      <SkipLink />
      <header class="top">
        <div class="wrap">
          <div class="brand">
            <img src="./icon.svg" alt="" />
            <strong>Usage and balance</strong>
          </div>
          {isSignedIn.value && (
            <div class="row middle">
              <DigitsSwitch />
              <button
                type="button"
                onClick={() => {
                  signOut();
                }}
              >
                Sign out
              </button>
            </div>
          )}
        </div>
      </header>
      <main id="main" class="wrap" tabIndex={-1}>
        {isSignedIn.value ? <SignedIn /> : <SignIn />}
      </main>
    </>
  );
}

interface Tab {
  readonly path: string;
  readonly label: string;
  readonly content: (isManager: boolean) => ComponentChildren;
  /** Whether the part is shown only to a key that may manage the account. */
  readonly isForManagers?: boolean;
}

const TABS: readonly Tab[] = [
  { path: 'usage', label: 'Usage', content: (isManager) => <Usage isManager={isManager} /> },
  { path: 'ledger', label: 'Ledger', content: () => <Ledger /> },
  {
    path: 'statement',
    label: 'Statement',
    content: () => (
      <section class="card" aria-label="Statement">
        <Statement
          fileName="statement"
          read={(query, signal) => call('GET', '/v1/dashboard/statement', { query, signal })}
        />
      </section>
    ),
  },
  { path: 'prices', label: 'Prices', content: () => <Prices /> },
  { path: 'check', label: 'Check my usage', content: () => <CheckUsage /> },
  { path: 'connect', label: 'Connect', content: () => <Connect /> },
  { path: 'keys', label: 'Keys', content: () => <Keys />, isForManagers: true },
];

function SignedIn() {
  const { isManager, failure, reload } = useIsManager();
  const [first = 'usage'] = route.value.path;
  const payments = usePayments();
  const known = payments.value?.limits === undefined ? undefined : payments.value;
  const tabs = [
    ...TABS.filter(({ isForManagers }) => isForManagers !== true || isManager === true),
    ...(known === undefined
      ? []
      : [{ path: 'payments', label: 'Payments', content: () => <Payments known={known} /> }]),
  ];
  const current = tabs.find(({ path }) => path === first) ?? tabs[0];
  // A request finds out whether the key may manage the account. The usage that is shown first and
  // the tab for keys depend on it.
  if (isManager === undefined) {
    return failure === undefined ? (
      <p class="loading" role="status">
        Loading…
      </p>
    ) : (
      <FailureNote failure={failure} what="the rights of your key" retry={reload} />
    );
  }
  return (
    <>
      <h1 class="hidden">Usage and balance</h1>
      <StandingCard isManager={isManager} payments={payments} />
      <Tabs label="Parts of this page" tabs={tabs} current={current} page="Usage and balance" />
      {current?.content(isManager)}
    </>
  );
}

/**
 * Whether the key may manage the account; `undefined` until it is known. A read-only link never
 * may. Only status 403 says that a key may not.
 */
function useIsManager() {
  const keys = useResource('manages', (signal) =>
    isLink.peek()
      ? Promise.resolve(undefined)
      : call('GET', '/v1/dashboard/keys', { query: { limit: 1 }, signal }),
  );
  const { value, failure, reload } = keys;
  const isRefused = failure?.kind === 'refused' && failure.status === 403;
  const isManager = isLink.value || isRefused ? false : value === undefined ? undefined : true;
  return { isManager, failure, reload };
}
