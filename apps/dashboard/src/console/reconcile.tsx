/** Compares the provider's payments, refunds and disputes with the ledger. Books missing ones. */

import { useState } from 'preact/hooks';
import { ActionDialog } from '../shared/controls/actions.js';
import type { Answer, Failure } from '../shared/api/api.js';
import type { Sent } from '../shared/api/gateway-types.js';
import {
  Count,
  Empty,
  FailureNote,
  Money,
  TableFrame,
  TextField,
} from '../shared/controls/parts.js';
import { dayAfter, lastDays } from '../shared/text/times.js';
import { AccountLink } from './account-link.js';
import { call, may } from './session.js';
import { Cents } from './unbooked.js';

type Reconciliation = Sent<'reconciliation'>;

const DAYS = 7;

interface Range {
  readonly from: string;
  readonly until: string;
}

/** @param days - The first and the last day, both included, in UTC. */
function compare(days: Range, mode: 'compare' | 'apply'): Promise<Answer<Reconciliation>> {
  return call('POST /admin/payments/reconcile', {
    body: {
      from: `${days.from}T00:00:00Z`,
      until: `${dayAfter(days.until)}T00:00:00Z`,
      apply: mode === 'apply',
    },
  });
}

export function Reconcile() {
  const last = lastDays(DAYS, Date.now());
  const [days, setDays] = useState<Range>({ from: last[0] ?? '', until: last.at(-1) ?? '' });
  /** The result and the days it is for, because the fields may change afterwards. */
  const [result, setResult] = useState<{ readonly of: Range; readonly found: Reconciliation }>();
  const [failure, setFailure] = useState<Failure>();
  const [isLoading, setIsLoading] = useState(false);
  const [isApplying, setIsApplying] = useState(false);

  async function run() {
    if (isLoading || days.from === '' || days.until === '') return;
    setIsLoading(true);
    const answer = await compare(days, 'compare');
    setIsLoading(false);
    setFailure(answer.ok ? undefined : answer.failure);
    if (answer.ok) setResult({ of: days, found: answer.value });
  }

  if (!may('change')) return <Empty>A token that may only read or credit cannot compare.</Empty>;
  return (
    <div class="stack" aria-busy={isLoading}>
      <p>
        The gateway compares automatically at its start and every hour. Here you can compare the
        days of your choice. Nothing is changed until you ask for it.
      </p>
      <form
        class="row"
        onSubmit={(event) => {
          event.preventDefault();
          void run();
        }}
      >
        {(['from', 'until'] as const).map((name) => (
          <TextField
            key={name}
            label={name === 'from' ? 'First day (UTC)' : 'Last day (UTC)'}
            type="date"
            required
            value={days[name]}
            onValue={(value) => {
              setDays({ ...days, [name]: value });
            }}
          />
        ))}
        <button type="submit" class="main" disabled={isLoading}>
          {isLoading ? 'Comparing…' : 'Compare'}
        </button>
      </form>
      {failure !== undefined && (
        <FailureNote
          failure={failure}
          what="the comparison"
          retry={() => void run()}
          repeats={false}
        />
      )}
      {result !== undefined && (
        <>
          <p role="status">
            <Count of={result.found.compared} /> compared,{' '}
            <Count of={result.found.missing.length} /> were missing in the ledger
          </p>
          {result.found.missing.length > 0 && <Missing of={result.found} />}
          <Cash of={result.found.cash} />
          {result.found.missing.some(({ outcome }) => outcome === 'missing') && (
            <div class="row">
              <button
                type="button"
                onClick={() => {
                  setIsApplying(true);
                }}
              >
                Book what is missing
              </button>
            </div>
          )}
          {isApplying && (
            <Apply
              of={result}
              onFound={(found) => {
                setResult({ of: result.of, found });
              }}
              onClose={() => {
                setIsApplying(false);
              }}
            />
          )}
        </>
      )}
    </div>
  );
}

function Apply(props: {
  readonly of: { readonly of: Range; readonly found: Reconciliation };
  readonly onFound: (found: Reconciliation) => void;
  readonly onClose: () => void;
}) {
  const { of, onFound, onClose } = props;
  const [count] = useState(of.found.missing.length);
  return (
    <ActionDialog<Reconciliation>
      title="Book what is missing"
      changes={() => [
        {
          what: 'Missing in the ledger',
          before: <Count of={count} />,
          after: 'booked, each once',
        },
      ]}
      warning="Refunds and disputes take money from their accounts. A payment that differs from the one that was started stays unbooked."
      confirm="Book it"
      run={async () => {
        const answer = await compare(of.of, 'apply');
        if (answer.ok) onFound(answer.value);
        return answer;
      }}
      done={({ missing }) => (
        <p>
          <Count of={missing.filter(({ outcome }) => outcome === 'booked').length} /> booked,{' '}
          <Count of={missing.filter(({ outcome }) => outcome === 'unbooked').length} /> cannot be
          booked.
        </p>
      )}
      onDone={() => undefined}
      onClose={onClose}
    />
  );
}

function Cash({ of }: { readonly of: Reconciliation['cash'] }) {
  return (
    <>
      <p>
        After fees, payments brought in <Money usd={of.provider_usd} /> at the provider and{' '}
        <Money usd={of.ledger_usd} /> in the ledger.
      </p>
      {of.differences.map((each) => (
        <p key={each.entry_id}>
          {each.verdict}: <span class="id">{each.entry_id}</span>
        </p>
      ))}
    </>
  );
}

function Missing({ of }: { readonly of: Reconciliation }) {
  return (
    <TableFrame label="What was missing in the ledger">
      <table>
        <caption class="hidden">What was missing in the ledger</caption>
        <thead>
          <tr>
            <th scope="col">What</th>
            <th scope="col" class="n">
              Amount
            </th>
            <th scope="col">Outcome</th>
            <th scope="col">Account</th>
            <th scope="col">Provider's id</th>
          </tr>
        </thead>
        <tbody>
          {of.missing.map((entry) => (
            <tr key={entry.id}>
              <td>{entry.fact}</td>
              <td class="n">
                <Cents of={entry} />
              </td>
              <td>{entry.outcome}</td>
              <td>
                <AccountLink id={entry.account_id} />
              </td>
              <td class="id">{entry.reference}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </TableFrame>
  );
}
