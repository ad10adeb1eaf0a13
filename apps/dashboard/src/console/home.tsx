/** The first screen: money, failures, the upstream, and accounts that need a person. */

import { Answer, Spent } from '../shared/breakdown/answers.js';
import type { Sent } from '../shared/api/gateway-types.js';
import { Badge, Count, Loaded, Money, Signed, TableFrame, Time } from '../shared/controls/parts.js';
import { useResource } from '../shared/api/resource.js';
import { to } from '../shared/api/router.js';
import { durationText } from '../shared/text/times.js';
import { Attention, mostFail } from './attention.js';
import { call } from './session.js';

type HomeFacts = Sent<'home'>;

export function Home() {
  const home = useResource('home', (signal) => call('GET /admin/home', { signal }));
  const today = useResource('today', (signal) => call('GET /admin/today', { signal }));
  return (
    <Loaded of={home} what="the overview">
      {(facts) => (
        <div class="stack">
          <Spending of={facts} />
          <div class="halves">
            <People of={facts} />
            <div class="stack">
              <Upstreams of={facts} checks={today.value?.gateway?.upstream.credentials ?? []} />
              <Loaded of={today} what="what needs attention">
                {(value) => <Attention of={value} home={facts} />}
              </Loaded>
            </div>
          </div>
        </div>
      )}
    </Loaded>
  );
}

function Spending({ of: { spend, last_hour: hour, version } }: { readonly of: HomeFacts }) {
  const times = (
    [
      ['Revenue today, so far', spend.today, undefined],
      ['Yesterday', spend.yesterday, undefined],
      ['This month, so far', spend.this_month, spend.last_month_so_far],
      ['Last month', spend.last_month, undefined],
    ] as const
  ).map(([name, sum, before]) => (
    <Spent
      key={name}
      name={name}
      usd={sum.charged_usd}
      days={[Date.parse(sum.from), Date.parse(sum.until)]}
      {...(before === undefined
        ? {}
        : { before: { usd: before.charged_usd, what: 'against last month up to the same day' } })}
    />
  ));
  const { cost_usd: cost, margin_usd: margin } = spend.this_month;
  return (
    <section class="card" aria-label="At a glance">
      <h2>At a glance</h2>
      <dl class="grid">
        {times}
        {cost !== undefined && (
          <Answer name="Cost this month" href={undefined}>
            <Money usd={cost} />
          </Answer>
        )}
        {margin !== undefined && (
          <Answer
            name="Margin this month"
            href={undefined}
            note={
              spend.today.margin_usd !== undefined && (
                <>
                  today <Signed usd={spend.today.margin_usd} />
                </>
              )
            }
          >
            <Signed usd={margin} />
          </Answer>
        )}
        {cost !== undefined && margin === undefined && (
          <Answer name="Margin this month" href={undefined}>
            unknown: <Count of={spend.this_month.requests_without_cost ?? 0} /> charges have no cost
          </Answer>
        )}
        <Answer
          name="Failed in the last hour"
          href={to(['requests'], { range: 'hour', outcome: 'failed' })}
        >
          {mostFail(hour) && (
            <>
              <Badge tone="bad">most fail</Badge>{' '}
            </>
          )}
          <Count of={hour.failed} /> of <Count of={hour.requests} />
          {hour.requests > 0 && ` (${String(Math.round((100 * hour.failed) / hour.requests))} %)`}
        </Answer>
      </dl>
      <p class="quiet">Days and months are in UTC. Version {version}.</p>
    </section>
  );
}

/** Amber only where a person has something to do, each with what that is. */
function People({ of }: { readonly of: HomeFacts }) {
  const { running_out: out, unusual, losing, new_accounts: added } = of;
  const isQuiet = out.length === 0 && unusual.length === 0 && losing.accounts.length === 0;
  return (
    <section class="card" aria-label="Accounts to look at">
      <h2>Accounts to look at</h2>
      <div class="stack">
        {isQuiet && (
          <p>
            <Badge tone="good">quiet</Badge> No account runs out within three days, none is unusual,
            and none costs more than it pays.
          </p>
        )}
        {out.length > 0 && (
          <div>
            <h3>Run out within three days</h3>
            <ul class="plain">
              {out.map(({ account_id: id, name, balance_usd: usd, lasts_until: until }) => (
                <li key={id} data-runs-out={id}>
                  <Badge tone="warning">
                    {Date.parse(until) <= Date.now() ? 'used up' : 'soon'}
                  </Badge>{' '}
                  <a href={to(['accounts', id])}>{name}</a>: <Money usd={usd} /> left
                  {Date.parse(until) > Date.now() && (
                    <>
                      , until <Time iso={until} />
                    </>
                  )}
                  . <a href={to(['accounts', id])}>Give credit</a>
                </li>
              ))}
            </ul>
          </div>
        )}
        {losing.accounts.length > 0 && (
          <div>
            <h3>Cost more than they pay, this month</h3>
            <ul class="plain">
              {losing.accounts.map(({ account_id: id, name, margin_usd: usd }) => (
                <li key={id} data-losing={id}>
                  <Badge tone="bad">loss</Badge> <a href={to(['accounts', id])}>{name}</a>:{' '}
                  <Signed usd={usd} />
                </li>
              ))}
            </ul>
            <a href={to(['usage'], { by: 'account', sort: 'margin', order: 'least' })}>
              All <Count of={losing.accounts_in_all} /> by margin
            </a>
          </div>
        )}
        {unusual.length > 0 && (
          <div>
            <h3>Unusual</h3>
            <ul class="plain">
              {unusual.map((each) => (
                <li key={each.account_id} data-unusual={each.account_id}>
                  <Badge tone="warning">{each.reason === 'spend' ? 'spend' : 'failures'}</Badge>{' '}
                  <a href={to(['accounts', each.account_id])}>{each.name}</a>:{' '}
                  {each.reason === 'spend' ? (
                    <>
                      <Money usd={each.charged_usd} /> in 24 hours, usually{' '}
                      <Money usd={each.usual_usd} /> a day
                    </>
                  ) : (
                    <>
                      <Count of={each.failed} /> of <Count of={each.requests} /> requests failed in
                      the last hour
                    </>
                  )}
                  .{' '}
                  <a href={to(['requests'], { range: 'day', account_id: each.account_id })}>
                    See its requests
                  </a>
                  , or <a href={to(['accounts', each.account_id])}>suspend it</a>
                </li>
              ))}
            </ul>
          </div>
        )}
        {added.length > 0 && (
          <div>
            <h3>New in 7 days</h3>
            <ul class="plain">
              {added.map(({ account_id: id, name, created_at: at, balance_usd: usd }) => (
                <li key={id}>
                  <a href={to(['accounts', id])}>{name}</a>, <Time iso={at} />: <Money usd={usd} />
                </li>
              ))}
            </ul>
          </div>
        )}
      </div>
    </section>
  );
}

type Check = NonNullable<Sent<'today'>['gateway']>['upstream']['credentials'][number];

function Upstreams(props: { readonly of: HomeFacts; readonly checks: readonly Check[] }) {
  const { upstreams } = props.of.last_hour;
  const names = new Set([
    ...upstreams.map(({ upstream_account: name }) => name),
    ...props.checks.map(({ account }) => account),
  ]);
  // Without a name it is the only one, or there is none, because the simulator answers.
  if (names.size > 1) names.delete(null);
  return (
    <section class="card" aria-label="Upstream">
      <h2>Upstream, last hour</h2>
      {names.size === 0 ? (
        <p class="quiet">No request was sent in the last day.</p>
      ) : (
        <TableFrame label="Upstream accounts">
          <table>
            <caption class="hidden">Upstream accounts in the last hour</caption>
            <thead>
              <tr>
                <th scope="col">Account</th>
                <th scope="col">State</th>
                <th scope="col" class="n">
                  Requests
                </th>
                <th scope="col" class="n">
                  First byte
                </th>
              </tr>
            </thead>
            <tbody>
              {[...names].map((name) => {
                const found = upstreams.find(({ upstream_account: its }) => its === name);
                const check = props.checks.find(({ account }) => account === name);
                const ms = found?.mean_first_byte_ms ?? null;
                return (
                  <tr key={name} data-upstream={name ?? ''}>
                    <th scope="row">
                      <a href={to(['requests'], { range: 'hour', upstream: name ?? '' })}>
                        {name ?? 'the only one'}
                      </a>
                    </th>
                    <td>
                      <UpstreamState found={found} check={check} name={name} />
                    </td>
                    <td class="n">
                      <Count of={found?.requests ?? 0} />
                    </td>
                    <td class="n">{ms === null ? '–' : durationText(ms)}</td>
                  </tr>
                );
              })}
            </tbody>
          </table>
        </TableFrame>
      )}
    </section>
  );
}

/** An account of which so many of a hundred requests fail needs a person. */
const FAILING_PERCENT = 10;

function UpstreamState(props: {
  readonly found: HomeFacts['last_hour']['upstreams'][number] | undefined;
  readonly check: Check | undefined;
  readonly name: string | null;
}) {
  const { found, check, name } = props;
  if (check?.outcome === 'refused') {
    return (
      <>
        <Badge tone="bad">key refused</Badge> {check.reason}. Set another key, and reload.
      </>
    );
  }
  const { failed = 0, requests = 0 } = found ?? {};
  if (failed * 100 > requests * FAILING_PERCENT) {
    return (
      <>
        <Badge tone="warning">failing</Badge>{' '}
        <a href={to(['requests'], { range: 'hour', status: '5xx', upstream: name ?? '' })}>
          {failed} failed
        </a>
      </>
    );
  }
  return requests === 0 ? <Badge tone="plain">idle</Badge> : <Badge tone="good">well</Badge>;
}
