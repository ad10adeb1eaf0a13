/**
 * The record of requests, for both pages: a plot of how many succeeded and failed, and below it the
 * list, each with all that is recorded. All filters are in the address.
 */

import type { ComponentChildren } from 'preact';
import type { Answer, Page } from '../api/api.js';
import { Chips, chipOf } from '../controls/chips.js';
import type { Chip } from '../controls/chips.js';
import { FilterForm, emptyText, kindText } from '../controls/filter-form.js';
import type { Field } from '../controls/filter-form.js';
import type { Sent } from '../api/gateway-types.js';
import { PagedTable } from '../controls/paged-table.js';
import type { Column } from '../controls/paged-table.js';
import { pageLimit, usePages } from '../api/pages.js';
import { Choice, Facts, Loaded, Segments } from '../controls/parts.js';
import type { Fact } from '../controls/parts.js';
import { OUTCOMES, RANGES, STATUSES, requestChoice, stepOf, timesOf } from './request-choice.js';
import type { RequestChoice, RequestFilters } from './request-choice.js';
import { Status, factsOf } from './request-facts.js';
import { RequestPlot } from './request-plot.js';
import { useResource } from '../api/resource.js';
import { changeQuery, route, to } from '../api/router.js';
import type { Route } from '../api/router.js';
import { SaveCsv } from '../controls/save-csv.js';
import { durationText, minuteText } from '../text/times.js';

type Recorded = Sent<'recordedRequest'>;

/** Filters that links of other views set, and that a button here removes. */
const LINKED = [
  ['endpoint', 'Endpoint'],
  ['error', 'Type of error'],
  ['client', 'Program'],
  ['session', 'Session'],
  ['tag', 'Tag'],
  ['upstream', 'Upstream account'],
] as const;

interface Asked extends RequestFilters {
  readonly from: string | undefined;
  readonly until: string | undefined;
}

interface SumsAsked extends Asked {
  readonly every: ReturnType<typeof stepOf>;
}

interface ListAsked extends Asked {
  readonly id: string | undefined;
  readonly limit?: number;
  readonly cursor?: string | undefined;
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
  readonly fields: readonly RequestField[];
  readonly models: readonly string[];
  /** Columns between the model and the times. */
  readonly columns: readonly Column<Shown>[];
  /** More of what is recorded. */
  readonly facts: (request: Shown) => readonly Fact[];
  readonly charge: (request: Shown) => ComponentChildren;
}

type RequestField = Field<'account_id' | 'key_id'>;

export function Requests<Shown extends Recorded>(props: RequestsProps<Shown>) {
  const { fields, models, controls } = props;
  const { query } = route.value;
  const choice = requestChoice(query);
  const { id } = choice;
  const name = JSON.stringify([props.scope, choice.range, choice.own, choice.filters]);
  const list = usePages(`${name} ${id ?? ''}`, (cursor, signal) =>
    readOn(
      (next) => props.list({ ...listed(choice), limit: pageLimit(cursor), cursor: next }, signal),
      cursor,
    ),
  );
  const sums = useSums(choice, name, props.sums);
  return (
    <section class="card" aria-label="Requests">
      <Heading choice={choice} />
      <div class="row no-print">
        <Filters choice={choice} controls={controls} fields={fields} models={models} />
        <SaveCsv
          fileName="requests"
          read={() => props.list({ ...listed(choice), format: 'csv' })}
        />
      </div>
      <Linked query={query} own={choice.own} />
      {id === undefined ? (
        <Loaded of={sums} what="the number of requests">
          {(value) => <RequestPlot of={value} every={stepOf(choice)} />}
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
        columns={columnsWith(props.columns)}
        empty={
          list.hasMore
            ? 'None of the newest requests fits. Older ones were not read yet.'
            : emptyText(wordsOf(choice, fields, query), 'No request in this time.')
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

function listed(choice: RequestChoice): ListAsked {
  const { filters, id } = choice;
  const times = id === undefined ? timesOf(choice) : { from: undefined, until: undefined };
  return { ...filters, ...times, id };
}

/** The sums for the plot. There is no plot for one id. */
function useSums(choice: RequestChoice, name: string, read: RequestsProps<Recorded>['sums']) {
  const isOne = choice.id !== undefined;
  return useResource(isOne ? '' : name, (signal) =>
    isOne
      ? Promise.resolve(undefined)
      : read({ ...choice.filters, ...timesOf(choice), every: stepOf(choice) }, signal),
  );
}

function Heading({ choice }: { readonly choice: RequestChoice }) {
  const { outcome, own, range } = choice;
  return (
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
  );
}

function Filters(props: {
  readonly choice: RequestChoice;
  readonly controls: ComponentChildren;
  readonly fields: readonly RequestField[];
  readonly models: readonly string[];
}) {
  const { choice, controls, fields, models } = props;
  return (
    <>
      <Choice
        label="Status"
        value={choice.status}
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
      {Object.values(route.value.query).some((value) => value !== '') && (
        <a class="button" href={to(['requests'])}>
          Clear all
        </a>
      )}
    </>
  );
}

function columnsWith<Shown extends Recorded>(
  more: readonly Column<Shown>[],
): readonly Column<Shown>[] {
  return [
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
    ...more,
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
}

/** What the list is filtered by, in words, for an empty list. */
function wordsOf(
  { id, outcome, filters }: RequestChoice,
  fields: readonly RequestField[],
  query: Route['query'],
): Readonly<Record<string, string | undefined>> {
  return {
    '': kindText(OUTCOMES, outcome),
    'the status': filters.status,
    'the model': filters.model,
    ...Object.fromEntries(
      fields.map(({ name, label, words }) => [
        `the ${label.toLowerCase()}`,
        words?.of(query[name] ?? '') ?? query[name],
      ]),
    ),
    ...Object.fromEntries(
      LINKED.map(([name, label]) => [`the ${label.toLowerCase()}`, query[name]]),
    ),
    'the id': id,
  };
}

/** What a link chose: a time, a session and the like. Each has a button that removes it. */
function Linked(props: { readonly query: Route['query']; readonly own: RequestChoice['own'] }) {
  const { query, own } = props;
  const shown: readonly Chip[] = [
    ...(own === undefined
      ? []
      : [
          {
            text: `${minuteText(own.from)} to ${minuteText(own.until)}`,
            change: { from: '', until: '' },
          },
        ]),
    ...LINKED.flatMap(([name, label]) => chipOf(query, name, (value) => `${label}: ${value}`)),
  ];
  return <Chips of={shown} />;
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
