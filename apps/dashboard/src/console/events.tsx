/** The notifications, which can be filtered by whether they were delivered. */

import { countText } from '../shared/count-text.js';
import type { Sent } from '../shared/gateway-types.js';
import { PagedTable } from '../shared/paged-table.js';
import { usePages } from '../shared/pages.js';
import { Badge, Choice, Time, optionOf } from '../shared/parts.js';
import { changeQuery, route } from '../shared/router.js';
import { AccountLink } from './account-link.js';
import { call } from './session.js';

const STATES = [
  ['undelivered', 'Given up'],
  ['pending', 'Waiting'],
  ['delivered', 'Delivered'],
  ['all', 'All'],
] as const;

const COLUMNS = [
  { label: 'Time' },
  { label: 'Type' },
  { label: 'Account' },
  { label: 'Delivery' },
  { label: 'Data' },
] as const;

export function Events() {
  const state = optionOf(STATES, route.value.query['state']);
  const query = {
    state: state === 'all' ? undefined : state,
    order: 'newest',
    limit: 100,
  } as const;
  const list = usePages(JSON.stringify(query), (cursor, signal) =>
    call('GET /admin/events', { query: { ...query, cursor }, signal }),
  );
  return (
    <section class="card" aria-label="Notifications">
      <h2>Notifications</h2>
      <div class="row">
        <Choice
          label="Show"
          value={state}
          options={STATES}
          onValue={(value) => {
            changeQuery({ state: value });
          }}
        />
      </div>
      <PagedTable
        list={list}
        what="the notifications"
        columns={COLUMNS}
        empty={state === 'undelivered' ? 'No notification was given up.' : 'There are none.'}
        row={(event) => (
          <tr key={event.seq}>
            <td>
              <Time iso={event.created_at} />
            </td>
            <td>{event.type}</td>
            <td>{event.account_id !== null && <AccountLink id={event.account_id} />}</td>
            <td>
              <Delivery of={event} />
            </td>
            <td class="id">{JSON.stringify(event.data)}</td>
          </tr>
        )}
      />
    </section>
  );
}

function Delivery({ of }: { readonly of: Sent<'event'> }) {
  if (of.delivered_at !== null) return <Badge tone="good">delivered</Badge>;
  const attempts = countText(of.attempts, 'attempt');
  // Only the gateway's own reason has no attempt: it gave up because there is no receiver.
  if (of.attempts === 0 && of.last_error !== null) {
    return (
      <>
        <Badge tone="plain">never sent</Badge>
        <span class="when">{of.last_error}</span>
      </>
    );
  }
  return (
    <>
      <Badge tone={of.attempts > 0 ? 'bad' : 'plain'}>
        {of.attempts > 0 ? `not delivered, ${attempts}` : 'waiting'}
      </Badge>
      {of.last_error !== null && <span class="when">{of.last_error}</span>}
    </>
  );
}
