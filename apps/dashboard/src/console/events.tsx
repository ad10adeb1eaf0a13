/** The notifications, which can be filtered by whether they were delivered. */

import { countText } from '../shared/text/count-text.js';
import { columnsOf } from '../shared/controls/columns.js';
import type { Sent } from '../shared/api/gateway-types.js';
import { PagedTable } from '../shared/controls/paged-table.js';
import type { Column } from '../shared/controls/paged-table.js';
import { pageLimit, usePages } from '../shared/api/pages.js';
import { Badge, Choice, optionOf } from '../shared/controls/parts.js';
import { changeQuery, route } from '../shared/api/router.js';
import { AccountLink, nameOrId } from './account-link.js';
import { call } from './session.js';

const STATES = [
  ['undelivered', 'Given up'],
  ['pending', 'Waiting'],
  ['delivered', 'Delivered'],
  ['all', 'All'],
] as const;

const COLUMNS: readonly Column<Sent<'event'>>[] = columnsOf('events', {
  type: { label: 'Type' },
  account_id: {
    value: (event) => nameOrId(event.account_id),
    cell: ({ account_id: id }) => id !== null && <AccountLink id={id} />,
  },
  delivered_at: {
    kind: undefined,
    value: (event) => deliveryOf(event).text,
    cell: (event) => {
      const { tone, text } = deliveryOf(event);
      return (
        <>
          <Badge tone={tone}>{text}</Badge>
          {event.delivered_at === null && <span class="when wraps">{event.last_error}</span>}
          {event.mail !== null && (
            <span class="when wraps">
              {MAIL[event.mail]}
              {event.mail_error !== null && `: ${event.mail_error}`}
            </span>
          )}
        </>
      );
    },
  },
  data: { cell: (event) => <Data of={event.data} /> },
});

export function Events() {
  const state = optionOf(STATES, route.value.query['state']);
  const query = {
    state: state === 'all' ? undefined : state,
    order: 'newest',
  } as const;
  const list = usePages(JSON.stringify(query), (cursor, signal) =>
    call('GET /admin/events', { query: { ...query, limit: pageLimit(cursor), cursor }, signal }),
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
        idOf={({ seq }) => seq}
        file="notifications"
      />
    </section>
  );
}

const MAIL = {
  pending: 'mail waiting',
  delivered: 'mail sent',
  undelivered: 'mail not sent',
} as const;

function deliveryOf(of: Sent<'event'>): {
  readonly tone: 'good' | 'bad' | 'plain';
  readonly text: string;
} {
  if (of.delivered_at !== null) return { tone: 'good', text: 'delivered' };
  // Only the gateway's own reason has no attempt: it gave up because there is no receiver.
  if (of.attempts === 0) {
    return { tone: 'plain', text: of.last_error === null ? 'waiting' : 'never sent' };
  }
  return { tone: 'bad', text: `not delivered, ${countText(of.attempts, 'attempt')}` };
}

/** The members of the data, with names for the ids of accounts and keys. */
function Data({ of }: { readonly of: Sent<'event'>['data'] }) {
  return (
    <span class="id">
      {Object.entries(of).map(([name, value]) => {
        const text = typeof value === 'string' ? value : JSON.stringify(value);
        const isNamed = name === 'account_id' || name === 'key_id';
        return (
          <div key={name} title={text}>
            {name.replace(/_id$/, '').replaceAll('_', ' ')}: {isNamed ? nameOrId(text) : text}
          </div>
        );
      })}
    </span>
  );
}
