/**
 * The record of requests, for both pages: a plot of how many succeeded and failed, and below it the
 * list, each with all that is recorded. All filters are in the address.
 */

import type { ComponentChildren } from 'preact';
import type { Answer, Page } from './api.js';
import { FilterForm, emptyText, kindText } from './filter-form.js';
import type { Field } from './filter-form.js';
import type { Sent } from './gateway-types.js';
import { PagedTable } from './paged-table.js';
import type { Column } from './paged-table.js';
import { pageLimit, usePages } from './pages.js';
import { Badge, Choice, Facts, Loaded, Segments, optionOf } from './parts.js';
import type { Fact } from './parts.js';
import { RequestPlot } from './request-plot.js';
import { useResource } from './resource.js';
import { changeQuery, route, to } from './router.js';
import { SaveCsv } from './save-csv.js';
import { DAY_MS, HOUR_MS, durationText, minuteText } from './times.js';

type Recorded = Sent<'recordedRequest'>;

const RANGES = [
  ['hour', 'Last hour'],
  ['day', '24 hours'],
  ['week', '7 days'],
  ['month', '30 days'],
] as const;

const LENGTHS_MS = { hour: HOUR_MS, day: DAY_MS, week: 7 * DAY_MS, month: 30 * DAY_MS } as const;
/** What one bar stands for. */
const STEPS = { hour: '5m', day: 'hour', week: 'hour', month: 'day' } as const;

const OUTCOMES = [
  ['all', 'All'],
  ['failed', 'Failed'],
] as const;

const STATUSES = [
  ['all', 'Any status'],
  ['2xx', '2xx'],
  ['4xx', '4xx'],
  ['5xx', '5xx'],
] as const;

interface Selection {
  readonly from: string | undefined;
  readonly until: string | undefined;
  readonly model: string | undefined;
  readonly key_id: string | undefined;
  readonly outcome: 'failed' | undefined;
  readonly status: '2xx' | '4xx' | '5xx' | undefined;
  readonly endpoint: Endpoint | undefined;
  readonly error: string | undefined;
  readonly client: string | undefined;
  readonly session: string | undefined;
  readonly tag: string | undefined;
}

const ENDPOINTS = [
  'messages',
  'count_tokens',
  'chat.completions',
  'responses',
  'input_tokens',
] as const;
type Endpoint = (typeof ENDPOINTS)[number];

/** Filters that links of other views set, and that a button here removes. */
const LINKED = [
  ['endpoint', 'Endpoint'],
  ['error', 'Type of error'],
  ['client', 'Program'],
  ['session', 'Session'],
  ['tag', 'Tag'],
  ['upstream', 'Upstream account'],
] as const;

interface SumsAsked extends Selection {
  readonly every: '5m' | 'hour' | 'day';
}

interface ListAsked extends Selection {
  readonly id: string | undefined;
  readonly limit: number;
  readonly cursor: string | undefined;
  readonly format?: 'csv';
}

interface RequestsProps<Shown extends Recorded> {
  /** Names what the reading adds to the query, such as the account. */
  readonly scope: string;
  readonly list: (asked: ListAsked, signal?: AbortSignal) => Promise<Answer<Page<Shown>>>;
  readonly sums: (asked: SumsAsked, signal: AbortSignal) => Promise<Answer<Sent<'requestSums'>>>;
  /** More filters that take effect at once. */
  readonly controls?: ComponentChildren;
  /** More filters that are typed. */
  readonly fields: readonly Field<'account_id' | 'key_id'>[];
  readonly models: readonly string[];
  /** Columns between the model and the times. */
  readonly columns: readonly Column<Shown>[];
  /** More of what is recorded. */
  readonly facts: (request: Shown) => readonly Fact[];
  readonly charge: (request: Shown) => ComponentChildren;
}

export function Requests<Shown extends Recorded>(props: RequestsProps<Shown>) {
  const { scope, fields, models, controls } = props;
  const { query } = route.value;
  const range = optionOf(RANGES, query['range'] ?? 'day');
  const outcome = optionOf(OUTCOMES, query['outcome']);
  const status = optionOf(STATUSES, query['status']);
  const id = given(query['id']);
  const own = ownRangeOf(query);
  const filters = {
    model: given(query['model']),
    key_id: given(query['key_id']),
    outcome: outcome === 'all' ? undefined : outcome,
    status: status === 'all' ? undefined : status,
    endpoint: ENDPOINTS.find((endpoint) => endpoint === query['endpoint']),
    error: given(query['error']),
    client: given(query['client']),
    session: given(query['session']),
    tag: given(query['tag']),
  };
  const from = () => own?.from ?? new Date(Date.now() - LENGTHS_MS[range]).toISOString();
  const until = own?.until;
  const name = JSON.stringify([scope, range, own, filters]);
  // Whoever has an id looks for one request, whenever it was.
  const listed = (cursor: string | undefined, limit: number) => ({
    ...filters,
    ...(id === undefined ? { from: from(), until } : { from: undefined, until: undefined }),
    id,
    limit,
    cursor,
  });
  const list = usePages(`${name} ${id ?? ''}`, (cursor, signal) =>
    readOn((next) => props.list(listed(next, pageLimit(cursor)), signal), cursor),
  );
  // Programs, sessions and tags are summed by days.
  const isDaily = (filters.client ?? filters.session ?? filters.tag) !== undefined;
  const every = isDaily ? 'day' : own === undefined ? STEPS[range] : stepOf(own);
  const sums = useResource(id === undefined ? name : '', (signal) =>
    id === undefined
      ? props.sums({ ...filters, from: from(), until, every }, signal)
      : Promise.resolve(undefined),
  );
  const columns: readonly Column<Shown>[] = [
    { label: 'Time', kind: 'time', value: (request) => request.ended_at },
    {
      label: 'Status',
      value: ({ status }) => status,
      cell: (request) => <Status of={request} />,
    },
    {
      label: 'Model and endpoint',
      value: ({ model, endpoint }) => `${model ?? 'no model'} ${endpoint}`,
      cell: ({ model, endpoint }) => (
        <>
          {model ?? <span class="quiet">no model</span>}
          <span class="when">{endpoint}</span>
        </>
      ),
    },
    ...props.columns,
    {
      label: 'Took',
      kind: 'number',
      value: (request) => request.duration_ms,
      cell: ({ duration_ms: ms, first_byte_ms: firstByte }) => (
        <>
          {durationText(ms)}
          {firstByte !== null && <span class="when">first byte {durationText(firstByte)}</span>}
        </>
      ),
    },
    { label: 'Tokens in', kind: 'count', value: (request) => request.input_tokens },
    { label: 'Tokens out', kind: 'count', value: (request) => request.output_tokens },
    { label: 'Charge', kind: 'usd', value: (request) => request.charged_usd },
  ];
  return (
    <section class="card" aria-label="Requests">
      <div class="row spread">
        <h2>Requests</h2>
        <div class="row no-print">
          <Segments
            label="Which requests"
            value={outcome}
            options={OUTCOMES}
            onValue={(value) => {
              changeQuery({ outcome: value });
            }}
          />
          <Segments
            label="How far back"
            value={own === undefined ? range : ''}
            options={RANGES}
            onValue={(value) => {
              changeQuery({ range: value, from: '', until: '' });
            }}
          />
        </div>
      </div>
      <div class="row no-print">
        <Choice
          label="Status"
          value={status}
          options={STATUSES}
          onValue={(value) => {
            changeQuery({ status: value });
          }}
        />
        {controls}
        <FilterForm
          fields={[
            { name: 'model', label: 'Model', offers: models },
            ...fields,
            { name: 'id', label: 'Any id' },
          ]}
          button="Filter"
        />
        {Object.values(query).some((value) => value !== '') && (
          <a class="button" href={to(['requests'])}>
            Clear all
          </a>
        )}
        <SaveCsv
          fileName="requests"
          read={(cursor) => props.list({ ...listed(cursor, 1_000), format: 'csv' })}
        />
      </div>
      <Linked query={query} own={own} />
      {id === undefined ? (
        <Loaded of={sums} what="the number of requests">
          {(value) => <RequestPlot of={value} every={every} />}
        </Loaded>
      ) : (
        <p class="quiet">
          An id of a request, a message, a session, a trace or the provider is looked for in all
          recorded requests, not only in the newest.
        </p>
      )}
      <PagedTable
        list={list}
        what="the list of requests"
        columns={columns}
        empty={
          list.hasMore
            ? 'None of the newest requests fits. Older ones were not read yet.'
            : emptyText(
                {
                  '': kindText(OUTCOMES, outcome),
                  'the status': filters.status,
                  'the model': filters.model,
                  ...Object.fromEntries(
                    fields.map(({ name: field, label, words }) => [
                      `the ${label.toLowerCase()}`,
                      words?.of(query[field] ?? '') ?? query[field],
                    ]),
                  ),
                  ...Object.fromEntries(
                    LINKED.map(([name, label]) => [`the ${label.toLowerCase()}`, query[name]]),
                  ),
                  'the id': id,
                },
                'No request in this time.',
              )
        }
        idOf={({ id: of }) => of}
        rowName="data-request"
        details={(request) => () => (
          <div class="stack">
            <Facts facts={[...factsOf(request), ...props.facts(request)]} />
            {request.charged_usd !== null && props.charge(request)}
          </div>
        )}
        detailsOf="request"
        opensOnly={id !== undefined}
      />
    </section>
  );
}

interface OwnRange {
  readonly from: string;
  readonly until: string;
}

/** The times of the address, if it has both. */
function ownRangeOf(query: Readonly<Record<string, string>>): OwnRange | undefined {
  const [from, until] = [query['from'], query['until']].map((text) => Date.parse(text ?? ''));
  if (from === undefined || until === undefined || !(from < until)) return undefined;
  return { from: new Date(from).toISOString(), until: new Date(until).toISOString() };
}

/** Sums by five minutes are kept for two days. */
function stepOf({ from, until }: OwnRange): '5m' | 'hour' | 'day' {
  const length = Date.parse(until) - Date.parse(from);
  const isNew = Date.now() - Date.parse(from) < DAY_MS;
  return length > 8 * DAY_MS ? 'day' : length <= 2 * HOUR_MS && isNew ? '5m' : 'hour';
}

/** What a link chose: a time, a session and the like. Each has a button that removes it. */
function Linked(props: {
  readonly query: Readonly<Record<string, string>>;
  readonly own: OwnRange | undefined;
}) {
  const { query, own } = props;
  const filters = LINKED.flatMap(([name, label]) => {
    const value = query[name] ?? '';
    return value === '' ? [] : [{ text: `${label}: ${value}`, change: { [name]: '' } }];
  });
  const shown = [
    ...(own === undefined
      ? []
      : [
          {
            text: `${minuteText(own.from)} to ${minuteText(own.until)}`,
            change: { from: '', until: '' },
          },
        ]),
    ...filters,
  ];
  if (shown.length === 0) return null;
  return (
    <p class="row no-print">
      {shown.map(({ text, change }) => (
        <button
          key={text}
          type="button"
          class="small"
          onClick={() => {
            changeQuery(change);
          }}
        >
          {text} <span aria-hidden="true">×</span>
          <span class="hidden">, remove this filter</span>
        </button>
      ))}
    </p>
  );
}

function given(text: string | undefined): string | undefined {
  return text === '' ? undefined : text;
}

/** So many pages without a request are read on; then the person is asked. */
const MOST_EMPTY = 10;

/**
 * Reads on while a page is empty and has a next one: the gateway stops reading after some thousand
 * requests that do not fit.
 */
async function readOn<Item>(
  read: (cursor: string | undefined) => Promise<Answer<Page<Item>>>,
  cursor: string | undefined,
): Promise<Answer<Page<Item>>> {
  let answer = await read(cursor);
  for (let pages = 1; pages < MOST_EMPTY; pages += 1) {
    if (!answer.ok || answer.value.data.length > 0) break;
    const next = answer.value.next_cursor;
    if (next === null) break;
    answer = await read(next);
  }
  return answer;
}

function Status({ of }: { readonly of: Recorded }) {
  const { error_type: type, error_message: message } = of;
  return (
    <>
      <StatusBadge request={of} />
      {type !== null && (
        <span class="when wraps">
          {type}
          {message !== null && `: ${message}`}
        </span>
      )}
    </>
  );
}

/** A word and the number, so that nobody needs the colour. */
function StatusBadge({ request }: { readonly request: Recorded }) {
  const { status, error_type: type, client_left: left, count } = request;
  const isRefusal = status >= 400 && status < 500;
  return (
    <>
      {type === null ? (
        <Badge tone="good">OK {status}</Badge>
      ) : (
        <Badge tone={isRefusal ? 'warning' : 'bad'}>
          {left ? 'Left' : isRefusal ? 'Refused' : 'Failed'} {status}
        </Badge>
      )}
      {count > 1 && ` × ${String(count)}`}
      {left && type === null && <span class="when">the client left</span>}
    </>
  );
}

/** All members of the record, in plain words. */
function factsOf(request: Recorded): readonly Fact[] {
  const count = (of: number | null) => (of === null ? null : String(of));
  const { first_byte_ms: firstByte, charged_usd: charged, error_message: message } = request;
  return [
    ['Request', request.id],
    ['Ended at', request.ended_at],
    ['Account', request.account_id],
    ['Key', request.key_id],
    ['Model', request.model],
    ['Endpoint', `${request.endpoint}, ${request.streamed ? 'streamed' : 'in one piece'}`],
    ['Status', String(request.status)],
    ['Type of error', request.error_type],
    ['Error, without what it quoted', message],
    ['Stands for', request.count > 1 ? `${String(request.count)} equal refusals` : null],
    ['Client', request.client],
    ['Client left', request.client_left ? 'before the end of the response' : null],
    ['Took', `${String(request.duration_ms)} ms`],
    ['First byte after', firstByte === null ? null : `${String(firstByte)} ms`],
    ['Input tokens', count(request.input_tokens)],
    ['Output tokens', count(request.output_tokens)],
    ['Tokens read from the cache', count(request.cache_read_input_tokens)],
    ['Tokens written to the cache', count(request.cache_creation_input_tokens)],
    ['Charged', charged === null ? 'nothing' : `${charged} USD`],
    ["Provider's request id", request.upstream_request_id],
    ['Session', request.session],
    ['Tag', request.tag],
    ['Trace', request.trace_id],
  ];
}
