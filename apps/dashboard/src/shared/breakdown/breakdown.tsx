/**
 * Usage by one dimension and by time, for both pages: a plot whose bars lead to their requests, and
 * the groups beside the period before. Everything that is chosen is in the address.
 */

import type { ComponentChildren } from 'preact';
import type { Answer } from '../api/api.js';
import {
  DIMENSIONS,
  FROM_RECORD,
  LEDGER,
  SPENT_BY,
  groupsFor,
  MEASURES,
  sortOf,
  TITLES,
  breakdownChoice,
  labelOf,
  requestsOf,
} from './breakdown-choice.js';
import type { BreakdownChoice, Dimension, GroupOrder, GroupSort } from './breakdown-choice.js';
import { plotted, valueOf, whyUnknownBefore } from './breakdown-figures.js';
import type { Breakdown, Figures, NameOf, ShownBreakdown } from './breakdown-figures.js';
import { Groups } from './breakdown-groups.js';
import { Change, Value, tickText, valueText } from './breakdown-values.js';
import { Chips, chipOf } from '../controls/chips.js';
import { FilterForm } from '../controls/filter-form.js';
import { Choice, Count, Empty, Loaded, Segments, Signed } from '../controls/parts.js';
import { FiguresTable, StackedBars } from '../plots/plot.js';
import { OWN_ZONE, RANGES, canHaveHours, isSummable, rangeText, unitOf } from '../plots/range.js';
import { useResource } from '../api/resource.js';
import { changeQuery, given, route } from '../api/router.js';
import type { Route } from '../api/router.js';
import { SaveCsv } from '../controls/save-csv.js';
import { DAY_MS, dateText, utcDay } from '../text/times.js';

interface BreakdownAsked<By extends Dimension> {
  readonly by: By;
  readonly from: string;
  readonly until: string;
  readonly every: 'hour' | 'day';
  readonly zone: string;
  readonly model: string | undefined;
  readonly key_id: string | undefined;
  readonly sort: GroupSort;
  readonly order: GroupOrder | undefined;
}

/** What is asked of the ledger for a file. */
interface SavedSums extends Pick<BreakdownAsked<Dimension>, 'from' | 'until' | 'model' | 'key_id'> {
  /** Such as `day,model`. */
  readonly by: string;
}

interface BreakdownProps<By extends Dimension> extends Pick<ShownBreakdown, 'nameOf' | 'filters'> {
  /** Names what `read` adds to the query, such as the account. */
  readonly scope: string;
  readonly read: (asked: BreakdownAsked<By>, signal: AbortSignal) => Promise<Answer<Breakdown>>;
  /** Sums of the ledger as a file. */
  readonly csv: (asked: SavedSums) => Promise<Answer<unknown>>;
  /** The file has whole days in UTC, whichever hours are shown. */
  readonly savesDays?: true;
  /** The first is shown at first. */
  readonly dimensions: readonly [By, ...By[]];
  readonly controls?: ComponentChildren;
}

export function BreakdownCard<By extends Dimension>(props: BreakdownProps<By>) {
  const { scope, read, dimensions, nameOf, filters, controls } = props;
  const { query } = route.value;
  const choice = breakdownChoice(query, dimensions);
  const asked = askedFor(choice, query);
  const found = useResource(JSON.stringify([scope, asked]), (signal) => read(asked, signal));
  return (
    <section class="card" aria-label="Usage">
      <div class="row spread">
        <h2>Usage</h2>
        <div class="row no-print">
          {controls}
          <SaveSums {...props} choice={choice} asked={asked} />
        </div>
      </div>
      <div class="usage-plot">
        <MeasureAndDays choice={choice} />
        <Grouping choice={choice} dimensions={dimensions} />
        <Chips of={chosenFilters(query, nameOf)} />
        <Loaded of={found} what="your usage">
          {(value) => (
            <Found
              {...choice}
              of={value}
              dimensions={dimensions}
              nameOf={nameOf}
              filters={filters}
            />
          )}
        </Loaded>
      </div>
    </section>
  );
}

function askedFor<By extends Dimension>(
  { by, range, isDaily, measure }: BreakdownChoice<By>,
  query: Route['query'],
): BreakdownAsked<By> {
  return {
    by,
    from: new Date(range.from).toISOString(),
    until: new Date(range.until).toISOString(),
    every: isDaily ? 'day' : range.every,
    zone: range.zone,
    model: given(query['model']),
    key_id: given(query['key_id']),
    ...sortOf(query, { measure, by }),
  };
}

function SaveSums(
  props: Pick<BreakdownProps<Dimension>, 'csv' | 'savesDays'> & {
    readonly choice: BreakdownChoice;
    readonly asked: BreakdownAsked<Dimension>;
  },
) {
  const { csv, savesDays, choice, asked } = props;
  const { range, measure } = choice;
  // Holders have no sums of days by who spent.
  const by = LEDGER.has(choice.by) && !SPENT_BY.has(choice.by) ? choice.by : 'model';
  const hasDays = range.from % DAY_MS === 0 && range.until % DAY_MS === 0;
  const isAsShown = by === choice.by && !FROM_RECORD.has(measure) && (hasDays || !savesDays);
  const days = savesDays === true ? ' and whole days in UTC' : '';
  return (
    <SaveCsv
      fileName={`usage-${utcDay(range.from)}-${utcDay(range.until - 1)}`}
      what={isAsShown ? undefined : `charges by ${labelOf(by)}${days}`}
      read={() => csv({ ...asked, by: `day,${by}` })}
    />
  );
}

function MeasureAndDays({ choice }: { readonly choice: BreakdownChoice }) {
  return (
    <div class="row spread no-print">
      <Segments
        label="What is plotted"
        value={choice.measure}
        options={MEASURES}
        onValue={(value) => {
          changeQuery({ measure: value });
        }}
      />
      <Segments
        label="How many days"
        value={choice.rangeName}
        options={RANGES}
        onValue={(value) => {
          changeQuery({ range: value });
        }}
      />
    </div>
  );
}

const CLASS = ['class', 'Class of tokens'] as const;
const SPANS = [
  ['day', 'Days'],
  ['hour', 'Hours'],
] as const;

/** By what, in which spans and in which time zone usage is summed, and days that one types. */
function Grouping(props: {
  readonly choice: BreakdownChoice;
  readonly dimensions: readonly Dimension[];
}) {
  const { measure, chosen, rangeName, isDaily, range } = props.choice;
  const options: readonly (readonly [Dimension | 'class', string])[] = [
    ...groupsFor(measure, props.dimensions).map((name) => [name, DIMENSIONS[name].label] as const),
    ...(measure === 'tokens' ? [CLASS] : []),
  ];
  return (
    <div class="row inline no-print">
      <Choice
        label="By"
        value={chosen}
        options={options}
        onValue={(value) => {
          changeQuery({ by: value });
        }}
      />
      {!isDaily && rangeName !== '24h' && canHaveHours(range) && (
        <Segments
          label="How long a bar is"
          value={range.every}
          options={SPANS}
          onValue={(value) => {
            changeQuery({ every: value });
          }}
        />
      )}
      {!isDaily && isSummable(Date.now()) && (
        <Segments
          label="Time zone"
          value={range.zone === 'UTC' ? 'utc' : 'local'}
          options={[
            ['utc', 'UTC'],
            ['local', OWN_ZONE],
          ]}
          onValue={(value) => {
            changeQuery({ zone: value });
          }}
        />
      )}
      {rangeName === 'own' && (
        <FilterForm
          fields={[
            { name: 'from', label: 'First day', type: 'date' },
            { name: 'until', label: 'Last day', type: 'date' },
          ]}
          button="Show"
        />
      )}
    </div>
  );
}

/** What the address filters by. */
function chosenFilters(query: Route['query'], nameOf: NameOf | undefined) {
  return (['model', 'key'] as const).flatMap((name) => {
    const { filter, label } = DIMENSIONS[name];
    return chipOf(query, filter, (value) => `${label}: ${nameOf?.(name, value) ?? value}`);
  });
}

function Found(props: ShownBreakdown) {
  const { of, chosen, measure, range } = props;
  const isTime = measure === 'latency';
  const series = plotted(props);
  const unit = unitOf(of, of.starts.length);
  const plot = {
    title: `${TITLES[measure]} per ${unit.one}${isTime ? '' : ` by ${labelOf(chosen)}`}`,
    spans: of.starts,
    unit,
    series,
    show: (value: bigint) => <Value of={value} measure={measure} />,
    text: (value: bigint) => valueText(value, measure),
    tick: (value: bigint) => tickText(value, measure),
    isLastOpen: range.isOpen,
    href: (span: number) => {
      const from = of.starts[span] ?? of.from;
      return requestsOf(props, { from, until: of.starts[span + 1] ?? of.until });
    },
  };
  return (
    <>
      <Headline {...props} />
      {series.every(({ values }) => values.every((value) => value === 0n)) ? (
        <Empty>
          {measure === 'errors'
            ? 'No request failed in these days.'
            : 'Nothing was used in these days.'}
        </Empty>
      ) : (
        <>
          <StackedBars key={`${measure} ${chosen}`} {...plot} />
          <Groups {...props} />
          {!isTime && (
            <details>
              <summary>The figures of each {unit.one} as a table</summary>
              <FiguresTable {...plot} />
            </details>
          )}
        </>
      )}
    </>
  );
}

/** What the figure is in all, what it was before, and which times that means. */
function Headline(props: ShownBreakdown) {
  const { of, by, measure, range } = props;
  const unknown = whyUnknownBefore(props, 'total');
  const total = valueOf(of.total, measure);
  const before = valueOf(of.total_before, measure);
  const { zone } = of;
  const earlier = { from: Date.parse(of.before.from), until: Date.parse(of.before.until) };
  const margin = measure === 'spend' ? (of.total as Figures).margin_usd : undefined;
  return (
    <p class="headline">
      <strong>
        <Value of={total} measure={measure} />
      </strong>{' '}
      <Change from={before} to={total} unknown={unknown} />
      {margin !== undefined && (
        <>
          {' '}
          Margin <Signed usd={margin} />.
        </>
      )}
      <span class="when">
        {rangeText(range, zone)}, {zone === 'UTC' ? 'in UTC' : zone}
        {range.isOpen && ', so far'}
        {unknown === undefined && (
          <>
            ; before: <Value of={before} measure={measure} />, {rangeText(earlier, zone)}
            {range.isOpen && ', up to the same hour'}
          </>
        )}
        .
        <FromRecord of={of} by={by} measure={measure} />
      </span>
    </p>
  );
}

/** Which figures are those of the record of requests, and what it lacks. */
function FromRecord({ of, by, measure }: Pick<ShownBreakdown, 'of' | 'by' | 'measure'>) {
  const isOfRecord = FROM_RECORD.has(measure) || !LEDGER.has(by);
  const { charges, requests } = of.total;
  const lacks = by !== 'error' && requests < charges;
  if (!isOfRecord && !lacks) return null;
  const since = of.recorded_from;
  return (
    <>
      {' '}
      {isOfRecord
        ? 'From the record of requests'
        : 'Failed and mean time: from the record of requests'}
      {since !== null && Date.parse(since) > Date.parse(of.before.from) && (
        <>, which begins on {dateText(since)}</>
      )}
      {lacks && (
        <>
          ; it has <Count of={requests} /> of <Count of={charges} /> charged requests
        </>
      )}
      .
    </>
  );
}
