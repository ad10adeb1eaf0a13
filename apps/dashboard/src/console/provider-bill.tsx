/** Compares the ledger with what the provider counted and bills, for days that can be chosen. */

import { useState } from 'preact/hooks';
import { isNotConfigured } from '../shared/api/api.js';
import { Amount } from '../shared/controls/figures.js';
import type { Sent } from '../shared/api/gateway-types.js';
import { AmountField, Badge, Count, Empty, Loaded, TextField } from '../shared/controls/parts.js';
import { useResource } from '../shared/api/resource.js';
import { changeQuery, route } from '../shared/api/router.js';
import { dayAfter, lastDays } from '../shared/text/times.js';
import { separatorProblem, readTypedUsd } from '../shared/text/usd.js';
import { DifferenceList } from './bill-differences.js';
import { call } from './session.js';
import { typedText } from '../shared/text/numbers.js';

/**
 * The days are in the address, so that a comparison can be shared. The comparison starts as soon as
 * the address has a first and a last day.
 */
export function ProviderBill() {
  const { from = '', until = '', tolerance = '', upstream = '' } = route.value.query;
  const [turn, setTurn] = useState(0);
  const of = { from, until, tolerance, upstream };
  return (
    <section class="card" aria-label="Provider's bill">
      <h2>Provider's bill</h2>
      <p>
        Compares the ledger with the usage report and the cost report of the provider, for each UTC
        day, model and class of tokens; costs are compared with your recorded costs. The comparison
        changes nothing.
      </p>
      <Days
        key={JSON.stringify(of)}
        of={of}
        compare={(chosen) => {
          changeQuery(chosen);
          setTurn(turn + 1);
        }}
      />
      {from !== '' && until !== '' && (
        <Compared key={`${JSON.stringify(of)} ${String(turn)}`} of={of} />
      )}
    </section>
  );
}

/** The fields as typed. */
type Chosen = Readonly<Record<'from' | 'until' | 'tolerance' | 'upstream', string>>;

const DAY_COUNT = 7;

function Days(props: { readonly of: Chosen; readonly compare: (chosen: Chosen) => void }) {
  const { of, compare } = props;
  // Today is left out: the reports are late, and the day is not over.
  const last = lastDays(DAY_COUNT + 1, Date.now()).slice(0, -1);
  const [from, setFrom] = useState(of.from === '' ? (last[0] ?? '') : of.from);
  const [until, setUntil] = useState(of.until === '' ? (last.at(-1) ?? '') : of.until);
  const [tolerance, setTolerance] = useState(typedText(of.tolerance));
  const [upstream, setUpstream] = useState(of.upstream);
  const isAmount = tolerance.trim() === '' || readTypedUsd(tolerance) !== undefined;
  return (
    <form
      class="row"
      onSubmit={(event) => {
        event.preventDefault();
        if (!isAmount) return;
        const amount = readTypedUsd(tolerance) ?? '';
        compare({ from, until, tolerance: amount, upstream: upstream.trim() });
      }}
    >
      <TextField label="First day (UTC)" type="date" required value={from} onValue={setFrom} />
      <TextField label="Last day (UTC)" type="date" required value={until} onValue={setUntil} />
      <AmountField
        label="Tolerance"
        required={false}
        placeholder="0"
        value={tolerance}
        onValue={setTolerance}
      />
      <TextField
        label="Upstream account"
        placeholder="all"
        value={upstream}
        onValue={setUpstream}
      />
      <button type="submit" class="main">
        Compare
      </button>
      {!isAmount && (
        <p class="note bad" role="alert">
          {separatorProblem(tolerance) ??
            `Tolerance: an amount such as ${typedText('0.05')}, or empty.`}
        </p>
      )}
    </form>
  );
}

/** The provider is asked only when a person asks for it. */
function Compared({ of }: { readonly of: Chosen }) {
  const comparison = useResource(
    'comparison',
    (signal) =>
      call('GET /admin/reconciliation', {
        query: {
          from: of.from,
          until: dayAfter(of.until),
          tolerance_usd: of.tolerance === '' ? undefined : of.tolerance,
          upstream: of.upstream === '' ? undefined : of.upstream,
        },
        signal,
      }),
    { isLive: false },
  );
  // Otherwise the answer names the accounts that there are.
  const isOfAll = of.upstream === '';
  if (isOfAll && isNotConfigured(comparison.failure)) return <NoReports />;
  return (
    <Loaded of={comparison} what="the comparison" repeats={false}>
      {(value) => <Result of={value} />}
    </Loaded>
  );
}

function NoReports() {
  return (
    <Empty>
      The gateway has no access to the provider's reports. Set <code>ANTHROPIC_ADMIN_KEY</code> to
      an admin key of your organization (sk-ant-admin…, from the provider's console), and restart
      the gateway. With several upstream accounts, each may have its <code>admin_key</code> in{' '}
      <code>UPSTREAMS</code>; name the account whose bill you want to see.
    </Empty>
  );
}

function Result({ of }: { readonly of: Sent<'providerReconciliation'> }) {
  const { differences, compared, upstreams, days_without_costs: daysWithoutCosts } = of;
  const isSame = differences.length === 0;
  return (
    <div class="stack">
      <p role="status">
        <Badge tone={of.is_within_tolerance ? 'good' : 'bad'}>
          {isSame ? 'the same' : of.is_within_tolerance ? 'within the tolerance' : 'different'}
        </Badge>{' '}
        <Count of={compared} /> totals were compared, each for one day, one model and one class of
        tokens or costs.{upstreams !== null && ` ${billedText(upstreams)}`}
      </p>
      <dl class="grid">
        <Amount name="The provider bills" usd={of.provider_usd} />
        <Amount
          name={daysWithoutCosts === 0 ? 'Costs in the ledger' : 'The ledger has'}
          usd={of.ledger_usd}
        />
        <Amount name="The differences are worth" usd={of.difference_usd} />
        <Amount name="Tolerance" usd={of.tolerance_usd} />
        <Amount name="Customers paid" usd={of.charged_usd} />
        <Amount name="Margin: paid, less the bill" usd={of.margin_usd} />
      </dl>
      {daysWithoutCosts > 0 && !isSame && (
        <p class="note">
          On <Count of={daysWithoutCosts} /> {daysWithoutCosts === 1 ? 'day' : 'days'}, charges have
          no recorded cost. What customers paid is compared with the bill there, so your markup
          shows as a difference. Charges record a cost if the table of <code>COSTS</code> has their
          model.
        </p>
      )}
      {of.unknown_models.length > 0 && (
        <p class="note">
          The costs of these models are not known, so their differences have no worth:{' '}
          {of.unknown_models.join(', ')}. Add them to the table of <code>COSTS</code>.
        </p>
      )}
      {isSame ? (
        <Empty>
          {compared === 0
            ? 'Neither the provider nor the ledger has any usage in these days.'
            : 'The provider and the ledger have the same tokens and costs.'}
        </Empty>
      ) : (
        <DifferenceList of={differences} />
      )}
    </div>
  );
}

/** Several upstream accounts have one bill if they are of one organization. */
function billedText(upstreams: readonly string[]): string {
  const [only, ...others] = upstreams;
  if (others.length === 0) return `Only those of the upstream account ${only ?? ''}.`;
  return `Only those of the upstream accounts ${upstreams.join(', ')}, which have one bill.`;
}
