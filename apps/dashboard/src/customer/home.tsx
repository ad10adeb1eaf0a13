/**
 * The first screen: what was spent, on what, and what failed. The sentence above it says what is
 * left and until when. While nothing was used, it is what a new customer does first.
 */

import { useRef } from 'preact/hooks';
import { Spent } from '../shared/breakdown/answers.js';
import type { Sent } from '../shared/api/gateway-types.js';
import { Badge, Count, Loaded } from '../shared/controls/parts.js';
import { useResource } from '../shared/api/resource.js';
import { to } from '../shared/api/router.js';
import { DAY_MS, HOUR_MS, monthStart, utcDay } from '../shared/text/times.js';
import { parseUsd, sumUsd } from '../shared/text/usd.js';
import { call } from './session.js';
import { Arrived, FirstSteps } from './first-steps.js';
import { KeyCard } from './key-card.js';
import { Spend } from './spend.js';

type Overview = Sent<'accountOverview'>;
type Whose = 'account' | 'key';

export function Home(props: { readonly overview: Overview; readonly reload: () => void }) {
  const { overview, reload } = props;
  const isNew = isUnused(overview);
  const wasNew = useRef(isNew).current;
  return (
    <div class="stack">
      {wasNew && !isNew && <Arrived />}
      {isNew ? (
        <FirstSteps reload={reload} />
      ) : (
        <>
          <Spend overview={overview} />
          <Glance overview={overview} />
        </>
      )}
      <KeyCard of={overview} />
    </div>
  );
}

/** Whether neither the key nor, lately, its account has sent a request. */
function isUnused({ key, pace }: Overview): boolean {
  return key.last_charged_at === null && parseUsd(pace.spent_usd ?? pace.spent_by_key_usd) === 0n;
}

function Glance({ overview }: { readonly overview: Overview }) {
  const of: Whose = overview.may_see_account ? 'account' : 'key';
  return (
    <section class="card" aria-label="At a glance">
      <h2>At a glance{overview.is_shared && (of === 'account' ? ', all keys' : ', this key')}</h2>
      <div class="stack">
        <Spending of={of} />
        <Failures of={of} />
      </div>
      <p class="quiet">Days and months are in UTC.</p>
    </section>
  );
}

function Spending({ of }: { readonly of: Whose }) {
  const today = Math.floor(Date.now() / DAY_MS) * DAY_MS;
  const [thisMonth, lastMonth] = [monthStart(today, 0), monthStart(today, 1)];
  const tomorrow = today + DAY_MS;
  // Both months, because on the first of a month yesterday belongs to the month before.
  const query = { by: 'day', from: utcDay(lastMonth), until: utcDay(tomorrow), of };
  const sums = useResource(`spend ${JSON.stringify(query)}`, (signal) =>
    call('GET /v1/dashboard/usage/summary', { query, signal }),
  );
  // The last month may be shorter.
  const sameDay = Math.min(lastMonth + tomorrow - thisMonth, thisMonth);
  return (
    <Loaded of={sums} what="what was spent">
      {({ data }) => {
        const spent = (from: number, until: number) =>
          sumUsd(
            data
              .filter(({ day = '' }) => day >= utcDay(from) && day < utcDay(until))
              .map((sum) => sum.charged_usd),
          );
        const before = (from: number, until: number, what: string) => ({
          usd: spent(from, until),
          what,
        });
        return (
          <dl class="grid">
            <Spent name="Today, so far" usd={spent(today, tomorrow)} days={[today, tomorrow]} />
            <Spent
              name="Yesterday"
              usd={spent(today - DAY_MS, today)}
              days={[today - DAY_MS, today]}
            />
            <Spent
              name="This month, so far"
              usd={spent(thisMonth, tomorrow)}
              days={[thisMonth, tomorrow]}
              before={before(lastMonth, sameDay, 'against last month up to the same day')}
            />
            <Spent
              name="Last month"
              usd={spent(lastMonth, thisMonth)}
              days={[lastMonth, thisMonth]}
            />
          </dl>
        );
      }}
    </Loaded>
  );
}

/** Says that all is well, too: an empty space does not. */
function Failures({ of }: { readonly of: Whose }) {
  const sums = useResource(`failures ${of}`, (signal) => {
    const from = new Date(Date.now() - HOUR_MS).toISOString();
    const query = { by: 'error', every: '5m', from, of } as const;
    return call('GET /v1/dashboard/requests/summary', { query, signal });
  });
  return (
    <Loaded of={sums} what="the last hour">
      {({ data }) => {
        const requests = data.reduce((sum, each) => sum + each.requests, 0);
        const failed = data.reduce((sum, each) => sum + each.failed, 0);
        const kinds = new Map<string, number>();
        for (const { error_type: kind, failed: count } of data) {
          if (kind != null) kinds.set(kind, (kinds.get(kind) ?? 0) + count);
        }
        return (
          <div>
            <p>
              <Badge tone={failed === 0 ? 'good' : 'warning'}>
                {failed === 0 ? 'no errors' : `${String(failed)} failed`}
              </Badge>{' '}
              <a href={to(['requests'], { range: 'hour', outcome: failed === 0 ? '' : 'failed' })}>
                Requests of the last hour
              </a>
              : <Count of={requests} />
              {failed > 0 && (
                <>
                  , of which <Count of={failed} /> failed
                </>
              )}
              .
            </p>
            {kinds.size > 0 && (
              <ul class="plain">
                {[...kinds].map(([kind, count]) => (
                  <li key={kind}>
                    <a href={to(['requests'], { range: 'hour', outcome: 'failed', error: kind })}>
                      {kind}
                    </a>
                    : <Count of={count} />
                  </li>
                ))}
              </ul>
            )}
          </div>
        );
      }}
    </Loaded>
  );
}
