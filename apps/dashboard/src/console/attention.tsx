/** What needs a person, each with what to do about it. Whatever is in order is not listed. */

import type { ComponentChildren } from 'preact';
import type { Sent } from '../shared/api/gateway-types.js';
import { Badge, Time } from '../shared/controls/parts.js';
import { to } from '../shared/api/router.js';

/** Whether most requests of the last hour failed. */
export function mostFail({
  failed,
  requests,
}: {
  readonly failed: number;
  readonly requests: number;
}) {
  return failed * 2 > requests;
}

export function Attention(props: { readonly of: Sent<'today'>; readonly home: Sent<'home'> }) {
  const { of, home } = props;
  const { ledger, gateway, sends_events: sendsEvents } = of;
  const unbilled = gateway?.unbilled.reduce((sum, { responses }) => sum + responses, 0) ?? 0;
  const refused = gateway?.upstream.account_refused ?? 0;
  const failed = to(['requests'], { range: 'day', outcome: 'failed' });
  const problems: readonly Problem[] = [
    {
      count: mostFail(home.last_hour) ? home.last_hour.failed : 0,
      what: 'requests failed in the last hour, more than half of all',
      action: <a href={to(['requests'], { range: 'hour', outcome: 'failed' })}>See them</a>,
    },
    {
      count: home.losing.accounts_in_all,
      what: 'accounts cost more than they pay, this month',
      action: (
        <a href={to(['usage'], { by: 'account', sort: 'margin', order: 'least' })}>See them</a>
      ),
    },
    {
      count: home.losing.models.length,
      what: 'models are sold below their cost, this month',
      action: <a href={to(['usage'], { by: 'model', sort: 'margin', order: 'least' })}>See them</a>,
    },
    {
      count: ledger.quarantined,
      what: 'charges in quarantine',
      action: <a href={to(['audit'])}>Audit the ledger</a>,
    },
    {
      count: ledger.conflicts,
      what: 'conflicting charges',
      action: <a href={to(['audit'])}>Audit the ledger</a>,
    },
    {
      count: ledger.orphaned_holds,
      what: 'holds of requests whose end is unknown',
      action: <a href={to(['bill'])}>Compare with the provider's bill</a>,
    },
    {
      count: unbilled,
      what: 'answers nobody was charged for',
      action: <a href={failed}>See the failed requests</a>,
    },
    {
      count: refused,
      what: 'requests that the upstream refused because of our account',
      action: <a href={failed}>See the failed requests</a>,
    },
    ...(sendsEvents
      ? [
          {
            count: ledger.undelivered_events,
            what: 'notifications that could not be delivered',
            action: <a href={to(['events'], { state: 'undelivered' })}>See them</a>,
          },
        ]
      : []),
  ].filter(({ count }) => count > 0);
  const checks = (gateway?.upstream.credentials ?? []).filter(
    ({ outcome }) => outcome !== 'accepted',
  );
  return (
    <section class="card" aria-label="Needs attention">
      <h2>Needs attention</h2>
      <ul class="plain">
        {problems.length + checks.length === 0 && (
          <li>
            <Badge tone="good">in order</Badge> The ledger, the margins and the upstream need
            nothing.
          </li>
        )}
        {problems.map(({ count, what, action }) => (
          <li key={what}>
            <Badge tone="warning">{count}</Badge> {what}. {action}
          </li>
        ))}
        {checks.map(({ account, outcome, reason, checked_at: at }) => (
          <li key={account ?? ''}>
            <Badge tone={outcome === 'refused' ? 'bad' : 'warning'}>{outcome}</Badge>{' '}
            {account === null
              ? 'our key of the upstream'
              : `the key of upstream account ${account}`}
            , asked <Time iso={at} />: {reason}
            {outcome === 'refused' && '. Set another key, and reload the gateway'}
          </li>
        ))}
        {!sendsEvents && (
          <li>
            <Badge tone="plain">off</Badge>{' '}
            <a href={to(['events'], { state: 'all' })}>notifications</a> are only listed, because no
            receiver is configured
          </li>
        )}
      </ul>
    </section>
  );
}

interface Problem {
  readonly count: number;
  readonly what: string;
  readonly action: ComponentChildren;
}
