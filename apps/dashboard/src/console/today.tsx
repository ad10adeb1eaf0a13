/** Today's figures: charges, balances, traffic, and the most active accounts. */

import type { Answer } from '../shared/api/api.js';
import { Amount, Figure } from '../shared/controls/figures.js';
import type { Sent } from '../shared/api/gateway-types.js';
import { PagedTable } from '../shared/controls/paged-table.js';
import type { Column } from '../shared/controls/paged-table.js';
import { loadedList, wholeList } from '../shared/api/pages.js';
import { Count, Loaded, Time } from '../shared/controls/parts.js';
import { useResource } from '../shared/api/resource.js';
import { to } from '../shared/api/router.js';
import { dayAfter, lastDays } from '../shared/text/times.js';
import { call } from './session.js';

export function Today() {
  return (
    <div class="stack">
      <Summary />
      <TopAccounts />
    </div>
  );
}

function Summary() {
  const summary = useResource('today', (signal) => call('GET /admin/today', { signal }));
  return (
    <Loaded of={summary} what="the summary">
      {({ day, spend, ledger, gateway }) => (
        <div class="stack">
          <section class="card" aria-label="Today">
            <h2>Today, {day} (UTC)</h2>
            <dl class="grid">
              <Amount name="Charged today" usd={spend.today.charged_usd} />
              <Amount name="Charged in 7 days" usd={spend.last_7_days.charged_usd} />
              <Amount name="Charged in 30 days" usd={spend.last_30_days.charged_usd} />
              <Figure name="Requests charged today">
                <Count of={spend.today.requests} />
              </Figure>
              <Amount name="Unspent balances" usd={ledger.unspent_usd} />
              <Amount name="Overdrawn" usd={ledger.overdrawn_usd} />
              <Amount name="Written off today" usd={spend.today.written_off_usd} />
              <Figure name="Last seal">
                <Time iso={ledger.last_seal_at} />
              </Figure>
            </dl>
            <p class="quiet">Balances and counts of the whole ledger may be a minute old.</p>
          </section>
          {gateway !== null && <Traffic gateway={gateway} />}
        </div>
      )}
    </Loaded>
  );
}

type Replica = NonNullable<Sent<'today'>['gateway']>;

const ANSWERS: readonly Column<ReturnType<typeof statusesOf>[number]>[] = [
  { label: 'Status', value: ({ status }) => status },
  { label: 'To clients', kind: 'count', value: ({ toClients }) => toClients },
  { label: 'From the upstream', kind: 'count', value: ({ fromUpstream }) => fromUpstream },
];

function Traffic({ gateway }: { readonly gateway: Replica }) {
  const { first_byte_ms: firstByte, since } = gateway;
  return (
    <section class="card" aria-label="Traffic">
      <h2>Traffic of this replica</h2>
      <p class="quiet">
        Requests for models since <Time iso={since} />.
      </p>
      <dl class="grid">
        <Figure name="First byte, median">{milliseconds(firstByte.p50)}</Figure>
        <Figure name="First byte, 95 %">{milliseconds(firstByte.p95)}</Figure>
      </dl>
      <PagedTable
        list={loadedList(statusesOf(gateway))}
        what="answers by status"
        columns={ANSWERS}
        empty="No answer yet."
        comesBy="their status"
        idOf={({ status }) => status}
      />
    </section>
  );
}

function statusesOf({ requests, upstream }: Replica) {
  const all = [...requests, ...upstream.responses].map(({ status }) => status);
  return [...new Set(all)].sort().map((status) => ({
    status,
    toClients: requests.find((row) => row.status === status)?.requests ?? 0,
    fromUpstream: upstream.responses.find((row) => row.status === status)?.responses ?? 0,
  }));
}

function milliseconds(value: number | null): string {
  return value === null ? 'no request yet' : `${String(Math.round(value))} ms`;
}

const ACCOUNTS: readonly Column<TopAccount>[] = [
  {
    label: 'Account',
    value: ({ name }) => name,
    cell: ({ id, name }) => <a href={to(['accounts', id])}>{name}</a>,
  },
  { label: 'Requests', kind: 'count', value: ({ sum }) => sum.requests },
  { label: 'Charged', kind: 'usd', value: ({ sum }) => sum.charged_usd },
];

function TopAccounts() {
  const days = lastDays(7, Date.now());
  const top = useResource('top accounts', (signal) => loadTop(days, signal));
  return (
    <section class="card" aria-label="Most active accounts">
      <h2>Most active accounts, 7 days</h2>
      <PagedTable
        list={wholeList(top, (accounts) => accounts)}
        what="accounts by charges"
        columns={ACCOUNTS}
        empty="No account was charged in these days."
        comesBy="their charges"
        idOf={({ id }) => id}
        file="accounts"
      />
    </section>
  );
}

interface TopAccount {
  readonly id: string;
  readonly name: string;
  readonly sum: Sent<'costedUsageSum'>;
}

/** Adds the names of the accounts to the sums, which have only their ids. */
async function loadTop(
  days: readonly string[],
  signal: AbortSignal,
): Promise<Answer<readonly TopAccount[]>> {
  const sums = await call('GET /admin/usage', {
    query: { by: 'account', sort: 'charged', top: 10, ...rangeOf(days) },
    signal,
  });
  if (!sums.ok) return sums;
  const value = await Promise.all(
    sums.value.data.map(async (sum) => {
      const id = sum.account_id ?? '';
      const account = await call('GET /admin/accounts/:account_id', {
        path: { account_id: id },
        signal,
      });
      return { id, name: account.ok ? account.value.name : id, sum };
    }),
  );
  return { ...sums, value };
}

function rangeOf(days: readonly string[]) {
  return {
    from: `${days[0] ?? ''}T00:00:00Z`,
    until: `${dayAfter(days.at(-1) ?? '')}T00:00:00Z`,
  };
}
