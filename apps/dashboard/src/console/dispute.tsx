/**
 * For a customer who disputes a charge: shows everything that the gateway knows about one request,
 * and whether the charge is for the usage object that the customer received.
 */

import { useState } from 'preact/hooks';
import type { Failure } from '../shared/api/api.js';
import { FilterForm } from '../shared/controls/filter-form.js';
import type { Sent } from '../shared/api/gateway-types.js';
import { Badge, ExactMoney, Facts, FailureNote, Loaded, Money } from '../shared/controls/parts.js';
import { useResource } from '../shared/api/resource.js';
import { readReceived } from '../shared/money/received-usage.js';
import { changeQuery, route, to } from '../shared/api/router.js';
import { EntryDetails } from './ledger.js';
import { call } from './session.js';

export function Dispute() {
  const { request_id: id = '' } = route.value.query;
  return (
    <section class="card" aria-label="Dispute">
      <h2>Dispute</h2>
      <p class="quiet">
        The id of the request is in the response's <code>x-gateway-request-id</code>, and in the
        customer's ledger. The id of the message (<code>msg_…</code>, <code>chatcmpl-…</code> or{' '}
        <code>resp_…</code>) finds it as well. The provider's own request id finds the request in
        the search and in <a href={to(['requests'])}>Requests</a>, as long as requests are kept.
      </p>
      <FilterForm
        fields={[{ name: 'request_id', label: 'Request or message id' }]}
        button="Search"
      />
      {id !== '' && <RequestShown id={id} />}
      <CompareUsage requestId={id} />
    </section>
  );
}

const STATES = {
  charged: { tone: 'good', text: 'charged' },
  in_flight: { tone: 'plain', text: 'in progress' },
  orphaned: { tone: 'warning', text: 'its end is unknown; nothing was charged' },
} as const;

/** What the ledger knows about a request. */
export function RequestShown({ id }: { readonly id: string }) {
  const request = useResource(id, (signal) =>
    call('GET /admin/requests/:request_id', { path: { request_id: id }, signal }),
  );
  return (
    <Loaded of={request} what="the request">
      {({ request_id: requestId, state, entry, hold, key, account }) => (
        <div class="stack">
          <p>
            <Badge tone={STATES[state].tone}>{STATES[state].text}</Badge>{' '}
            <span class="id">{requestId}</span>
          </p>
          <p>
            Key "{key.name}" of{' '}
            <a href={to(['accounts', key.account_id])}>{account?.name ?? key.account_id}</a>
          </p>
          {hold !== null && (
            <p>
              <Money usd={hold.amount_usd} /> were set aside for it.
            </p>
          )}
          {entry !== null && (
            <>
              <EntryDetails entry={entry} />
              <Facts
                facts={[
                  ['Charged at', entry.created_at],
                  ['Amount', <ExactMoney key="amount" usd={entry.amount_usd} />],
                  ['Balance after it', <ExactMoney key="balance" usd={entry.balance_after_usd} />],
                ]}
              />
            </>
          )}
        </div>
      )}
    </Loaded>
  );
}

/** How a comparison ended, and the request that it is about. */
interface Outcome {
  readonly requestId: string;
  /** Why the text cannot be compared, as a sentence without its full stop. */
  readonly problem?: string;
  readonly failure?: Failure;
  readonly verdict?: Sent<'witnessComparison'>;
}

function CompareUsage({ requestId }: { readonly requestId: string }) {
  const [text, setText] = useState('');
  const [outcome, setOutcome] = useState<Outcome>();
  // An outcome says nothing about another request that was opened meanwhile.
  const shown = outcome?.requestId === requestId ? outcome : undefined;

  async function compare() {
    const { usages, problems } = readReceived(text, requestId);
    const [usage, ...others] = usages;
    const [unreadable] = problems;
    if (others.length > 0 || (usage !== undefined && unreadable !== undefined)) {
      setOutcome({ requestId, problem: 'Paste one object: only one request can be compared' });
      return;
    }
    if (usage === undefined) {
      const problem =
        unreadable === undefined ? 'There is nothing to compare' : `Object ${unreadable}`;
      setOutcome({ requestId, problem });
      return;
    }
    setOutcome(undefined);
    changeQuery({ request_id: usage.givenId });
    const { input, output, cacheRead, cacheWrite } = usage.tokens;
    const answer = await call('POST /admin/ledger/witness', {
      body: {
        usages: [
          {
            request_id: usage.givenId,
            input_tokens: input,
            output_tokens: output,
            cache_read_input_tokens: cacheRead,
            cache_creation_input_tokens: cacheWrite,
          },
        ],
      },
    });
    setOutcome({
      requestId: usage.givenId,
      ...(answer.ok ? { verdict: answer.value } : { failure: answer.failure }),
    });
  }

  return (
    <div class="stack">
      <h3>Compare what the customer received</h3>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          void compare();
        }}
      >
        <textarea
          class="mono"
          aria-label="Usage object"
          spellcheck={false}
          placeholder='{"request_id":"req_…","usage":{"input_tokens":12,"output_tokens":34}}'
          value={text}
          onInput={(event) => {
            setText(event.currentTarget.value);
          }}
        />
        <p>
          <button type="submit" disabled={text.trim() === ''}>
            Compare
          </button>
        </p>
      </form>
      {shown?.problem !== undefined && (
        <p class="note bad" role="alert">
          {shown.problem}.
        </p>
      )}
      {shown?.failure !== undefined && (
        <FailureNote failure={shown.failure} what="the comparison" />
      )}
      {shown?.verdict !== undefined && <VerdictShown verdict={shown.verdict} />}
    </div>
  );
}

function VerdictShown({ verdict }: { readonly verdict: Sent<'witnessComparison'> }) {
  const [difference] = verdict.differences;
  return (
    <div class={`note ${difference === undefined ? 'good' : 'bad'}`} role="status">
      {difference === undefined ? (
        <p>The customer was charged for exactly these tokens.</p>
      ) : (
        <>
          <p>The ledger differs from what the customer received.</p>
          <p>Received: {difference.expected}</p>
          <p>Ledger: {difference.found}</p>
        </>
      )}
    </div>
  );
}
