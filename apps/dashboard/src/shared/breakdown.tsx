/**
 * Usage by one dimension and by time, for both pages: a plot whose bars lead to their requests, and
 * the groups beside the period before. Everything that is chosen is in the address.
 */

import type { ComponentChildren } from 'preact';
import type { Answer } from './api.js';
import { colorOf, nextColor } from './colors.js';
import { FilterForm } from './filter-form.js';
import type { Sent } from './gateway-types.js';
import { Choice, Count, Empty, Loaded, Money, Segments, TableFrame, optionOf } from './parts.js';
import { FiguresTable, StackedBars } from './plot.js';
import type { Series } from './plot.js';
import { OWN_ZONE, RANGES, canHaveHours, isSummable, rangeOf, rangeText, unitOf } from './range.js';
import type { Range } from './range.js';
import { useResource } from './resource.js';
import { changeQuery, route, to } from './router.js';
import { SaveCsv } from './save-csv.js';
import { utcDay, durationText } from './times.js';
import { formatUsd, parseUsd, roundedUsd } from './usd.js';

type Breakdown = Sent<'breakdown'>;
type Group = Breakdown['groups'][number];
type Figures = Breakdown['total'] & { readonly margin_usd?: string | undefined };

interface BreakdownAsked<By extends Dimension> {
  readonly by: By;
  readonly from: string;
  readonly until: string;
  readonly every: 'hour' | 'day';
  readonly zone: string;
  readonly model: string | undefined;
  readonly key_id: string | undefined;
  readonly sort: (typeof SORTS)[Measure];
}

type Dimension =
  'model' | 'key' | 'endpoint' | 'session' | 'tag' | 'client' | 'error' | 'account' | 'upstream';

/** Also names the filter of the list of requests. */
const DIMENSIONS = {
  model: { label: 'Model', filter: 'model', none: 'no model' },
  key: { label: 'Key', filter: 'key_id', none: 'no key' },
  endpoint: { label: 'Endpoint', filter: 'endpoint', none: 'no endpoint' },
  session: { label: 'Session', filter: 'session', none: 'no session' },
  tag: { label: 'Tag', filter: 'tag', none: 'no tag' },
  client: { label: 'Program', filter: 'client', none: 'no program' },
  error: { label: 'Type of error', filter: 'error', none: 'no error' },
  account: { label: 'Account', filter: 'account_id', none: 'no account' },
  upstream: { label: 'Upstream account', filter: 'upstream', none: 'none named' },
} as const satisfies Record<Dimension, { label: string; filter: string; none: string }>;

/** The record of requests has these by whole days in UTC only. */
const DAILY: ReadonlySet<string> = new Set(['session', 'tag', 'client']);

const MEASURES = [
  ['spend', 'Spend'],
  ['tokens', 'Tokens'],
  ['requests', 'Requests'],
  ['errors', 'Errors'],
  ['latency', 'Latency'],
] as const;
type Measure = (typeof MEASURES)[number][0];

/** Which groups are shown if there are many. The first three need no other reading. */
const SORTS = {
  spend: 'charged',
  tokens: 'charged',
  requests: 'charged',
  errors: 'failed',
  latency: 'requests',
} as const;

const TITLES: Readonly<Record<Measure, string>> = {
  spend: 'Spend in USD',
  tokens: 'Tokens',
  requests: 'Charged requests',
  errors: 'Failed requests',
  latency: 'Mean duration of requests',
};

const counts = new Intl.NumberFormat();
const short = new Intl.NumberFormat(undefined, { notation: 'compact' });

interface BreakdownProps<By extends Dimension = Dimension> {
  /** Names what `read` adds to the query, such as the account. */
  readonly scope: string;
  readonly read: (asked: BreakdownAsked<By>, signal: AbortSignal) => Promise<Answer<Breakdown>>;
  /** The same sums as a file. */
  readonly csv: (asked: {
    readonly by: string;
    readonly from: string;
    readonly until: string;
  }) => Promise<Answer<unknown>>;
  /** The first is shown at first. */
  readonly dimensions: readonly [By, ...By[]];
  /** The name of a group, such as that of a key, by its id. */
  readonly nameOf: ((dimension: Dimension, value: string) => string | undefined) | undefined;
  /** What the list of requests is filtered by in any case. */
  readonly filters?: Readonly<Record<string, string>> | undefined;
  readonly controls?: ComponentChildren;
}

export function BreakdownCard<By extends Dimension>(props: BreakdownProps<By>) {
  const { scope, read, csv, dimensions, nameOf, filters, controls } = props;
  const { query } = route.value;
  const measure = optionOf(MEASURES, query['measure']);
  const options: readonly (readonly [By | 'class', string])[] = [
    ...dimensions.map((name) => [name, DIMENSIONS[name].label] as const),
    ...(measure === 'tokens' ? [CLASS] : []),
  ];
  const by = dimensions.find((name) => name === query['by']) ?? dimensions[0];
  const chosen = measure === 'tokens' && query['by'] === 'class' ? 'class' : by;
  const rangeName = optionOf(RANGES, query['range'] ?? '30');
  const isDaily = DAILY.has(by);
  const asOf = isDaily ? { ...query, zone: '', every: '' } : query;
  const range = rangeOf(asOf, isDaily && rangeName === '24h' ? '7' : rangeName, Date.now());
  const asked: BreakdownAsked<By> = {
    by,
    from: new Date(range.from).toISOString(),
    until: new Date(range.until).toISOString(),
    every: isDaily ? 'day' : range.every,
    zone: range.zone,
    model: query['model'] === '' ? undefined : query['model'],
    key_id: query['key_id'] === '' ? undefined : query['key_id'],
    sort: SORTS[measure],
  };
  const found = useResource(JSON.stringify([scope, asked]), (signal) => read(asked, signal));
  return (
    <section class="card" aria-label="Usage">
      <div class="row spread">
        <h2>Usage</h2>
        <div class="row no-print">
          {controls}
          <SaveCsv
            fileName={`usage-${utcDay(range.from)}-${utcDay(range.until - 1)}`}
            read={() =>
              csv({
                by: ['day', ...(LEDGER.has(by) ? [by] : ['model'])].join(','),
                from: utcDay(range.from),
                until: utcDay(range.until + 86_399_999),
              })
            }
          />
        </div>
      </div>
      <div class="usage-plot">
        <div class="row spread no-print">
          <Segments
            label="What is plotted"
            value={measure}
            options={MEASURES}
            onValue={(value) => {
              changeQuery({ measure: value });
            }}
          />
          <Segments
            label="How many days"
            value={rangeName}
            options={RANGES}
            onValue={(value) => {
              changeQuery({ range: value });
            }}
          />
        </div>
        <div class="row no-print">
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
        <Chosen query={query} nameOf={nameOf} />
        <Loaded of={found} what="your usage">
          {(value) => (
            <Found
              of={value}
              dimensions={dimensions}
              nameOf={nameOf}
              filters={filters}
              by={by}
              chosen={chosen}
              measure={measure}
              range={range}
            />
          )}
        </Loaded>
      </div>
    </section>
  );
}

const CLASS = ['class', 'Class of tokens'] as const;
const SPANS = [
  ['day', 'Days'],
  ['hour', 'Hours'],
] as const;
const LEDGER: ReadonlySet<string> = new Set(['model', 'key', 'endpoint', 'account', 'upstream']);

/** The filters in force, each with a button that removes it. */
function Chosen(props: {
  readonly query: Readonly<Record<string, string>>;
  readonly nameOf: BreakdownProps['nameOf'];
}) {
  const { query, nameOf } = props;
  const filters = (['model', 'key'] as const).flatMap((name) => {
    const { filter, label } = DIMENSIONS[name];
    const value = query[filter] ?? '';
    return value === '' ? [] : [{ filter, label, value, name: nameOf?.(name, value) ?? value }];
  });
  if (filters.length === 0) return null;
  return (
    <p class="row no-print">
      {filters.map(({ filter, label, name }) => (
        <button
          key={filter}
          type="button"
          class="small"
          onClick={() => {
            changeQuery({ [filter]: '' });
          }}
        >
          {label}: {name} <span aria-hidden="true">×</span>
          <span class="hidden">, remove this filter</span>
        </button>
      ))}
    </p>
  );
}

interface Shown extends Pick<BreakdownProps, 'nameOf' | 'filters'> {
  readonly dimensions: readonly Dimension[];
  readonly of: Breakdown;
  readonly by: Dimension;
  readonly chosen: Dimension | 'class';
  readonly measure: Measure;
  readonly range: Range;
}

function Found(props: Shown) {
  const { of, chosen, measure, range } = props;
  const isMoney = measure === 'spend';
  const isTime = measure === 'latency';
  const series = chosen === 'class' ? classesOf(of) : isTime ? [latencyOf(of)] : seriesOf(props);
  const unit = unitOf(of, of.starts.length);
  const plot = {
    title: `${TITLES[measure]} per ${unit.one}${isTime ? '' : ` by ${labelOf(chosen)}`}`,
    spans: of.starts,
    unit,
    series,
    show: (value: bigint) =>
      isMoney ? (
        <Money usd={formatUsd(value)} />
      ) : isTime ? (
        <Took of={value} />
      ) : (
        <Count of={value} />
      ),
    text: (value: bigint) =>
      isMoney
        ? roundedUsd(formatUsd(value))
        : isTime
          ? durationText(Number(value))
          : counts.format(value),
    tick: (value: bigint) =>
      isMoney
        ? roundedUsd(formatUsd(value)).replace(/\.00$/, '')
        : isTime
          ? durationText(Number(value)).replace(/\.0+(?= )/, '')
          : short.format(value),
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

function Took({ of }: { readonly of: bigint }) {
  return <data value={of.toString()}>{durationText(Number(of))}</data>;
}

const labelOf = (chosen: Dimension | 'class') =>
  chosen === 'class' ? 'class' : DIMENSIONS[chosen].label.toLowerCase();

/** What the figure is in all, what it was before, and which times that means. */
function Headline({ of, measure, range }: Shown) {
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
      <Change from={before} to={total} />
      {margin !== undefined && (
        <>
          {' '}
          Margin <Money usd={margin} />.
        </>
      )}
      <span class="when">
        {rangeText(range, zone)}, {zone === 'UTC' ? 'in UTC' : zone}
        {range.isOpen && ', so far'}; before: <Value of={before} measure={measure} />,{' '}
        {rangeText(earlier, zone)}
        {range.isOpen && ', up to the same hour'}.
        {FROM_RECORD.has(measure) && ' From the record of requests, which is kept for some days.'}
      </span>
    </p>
  );
}

const FROM_RECORD: ReadonlySet<Measure> = new Set(['errors', 'latency']);

function Value({ of, measure }: { readonly of: bigint; readonly measure: Measure }) {
  if (measure === 'spend') return <Money usd={formatUsd(of)} />;
  return measure === 'latency' ? <Took of={of} /> : <Count of={of} />;
}

/** In percent of the earlier value. */
export function Change({ from, to }: { readonly from: bigint; readonly to: bigint }) {
  if (from === 0n) return <span class="quiet">{to === 0n ? 'as before' : 'nothing before'}</span>;
  const percent = Number(((to - from) * 1000n) / from) / 10;
  const text = Math.abs(percent) >= 10 ? percent.toFixed(0) : percent.toFixed(1);
  return (
    <span class="delta">
      {percent > 0 ? '+' : ''}
      {text.replace('-', '−')} %
    </span>
  );
}

function valueOf(figures: Figures, measure: Measure): bigint {
  switch (measure) {
    case 'spend':
      return parseUsd(figures.charged_usd);
    case 'tokens':
      return CLASSES.reduce((sum, [, member]) => sum + BigInt(figures[member]), 0n);
    case 'requests':
      return BigInt(figures.charges);
    case 'errors':
      return BigInt(figures.failed);
    case 'latency':
      return BigInt(figures.mean_duration_ms ?? 0);
  }
}

const CLASSES = [
  ['input', 'input_tokens'],
  ['output', 'output_tokens'],
  ['cache read', 'cache_read_input_tokens'],
  ['cache write', 'cache_creation_input_tokens'],
] as const;

function classesOf({ groups, starts }: Breakdown): readonly Series[] {
  return CLASSES.map(([name, member], index) => ({
    name,
    color: `s${String(index)}`,
    values: starts.map((_, span) =>
      groups.reduce((sum, { spans }) => sum + BigInt(spans[span]?.[member] ?? 0), 0n),
    ),
  }));
}

/** The mean over all groups: those of the groups, each as often as it has requests. */
function latencyOf({ groups, starts }: Breakdown): Series {
  const values = starts.map((_, span) => {
    let [requests, ms] = [0, 0];
    for (const { spans } of groups) {
      const figures = spans[span];
      requests += figures?.requests ?? 0;
      ms += (figures?.mean_duration_ms ?? 0) * (figures?.requests ?? 0);
    }
    return requests === 0 ? 0n : BigInt(Math.round(ms / requests));
  });
  return { name: 'Mean duration', color: 's0', values };
}

/** The number of bars that can be told apart. If there are more groups, the rest share one. */
const MAX_SERIES = 8;

function seriesOf(props: Shown): readonly Series[] {
  const { of, measure } = props;
  const all = of.groups
    .map((group) => ({
      group,
      values: group.spans.map((span) => (span === null ? 0n : valueOf(span, measure))),
    }))
    .filter(({ values }) => values.some((value) => value > 0n));
  const isMany = all.length > MAX_SERIES;
  const own = isMany ? all.slice(0, MAX_SERIES - 1) : all;
  const colors = colorsOf(props);
  const series = own.map(({ group, values }) => ({
    name: groupName(props, group),
    color: colors.get(group) ?? 'others',
    values,
  }));
  if (!isMany) return series;
  const others = all.slice(MAX_SERIES - 1);
  const count = others.reduce((sum, { group }) => sum + Math.max(1, group.others), 0);
  return [
    ...series,
    {
      name: `${String(count)} others`,
      color: 'others',
      values: of.starts.map((_, span) =>
        others.reduce((sum, { values }) => sum + (values[span] ?? 0n), 0n),
      ),
    },
  ];
}

/**
 * A model has its own colour everywhere. Of accounts, keys and the like there are more than
 * colours, so that a group takes the next one if another group of the plot has it.
 */
function colorsOf({ of, by }: Pick<Shown, 'of' | 'by'>): ReadonlyMap<Group, string> {
  const colors = new Map<Group, string>();
  const taken = new Set<string>();
  for (const group of of.groups.slice(0, MAX_SERIES)) {
    if (group.others > 0) continue;
    let color = colorOf(group.value ?? '');
    while (by !== 'model' && taken.has(color)) color = nextColor(color);
    taken.add(color);
    colors.set(group, color);
  }
  return colors;
}

function groupName({ by, nameOf }: Pick<Shown, 'by' | 'nameOf'>, group: Group): string {
  if (group.others > 0) return `${String(group.others)} others`;
  if (group.value === null) return DIMENSIONS[by].none;
  return nameOf?.(by, group.value) ?? group.value;
}

/** The address of the requests of a range, and of a group. */
function requestsOf(
  { by, filters, measure }: Pick<Shown, 'by' | 'filters' | 'measure'>,
  range: { readonly from: string; readonly until: string },
  group?: Group,
): string {
  const { model = '', key_id: keyId = '' } = route.value.query;
  return to(['requests'], {
    ...filters,
    model,
    key_id: keyId,
    ...(group?.value == null ? {} : { [DIMENSIONS[by].filter]: group.value }),
    from: range.from,
    until: range.until,
    outcome: measure === 'errors' ? 'failed' : '',
  });
}

function Groups(props: Shown) {
  const { of, by, measure } = props;
  const isTime = measure === 'latency';
  const total = valueOf(of.total, measure);
  const colors = colorsOf(props);
  const groups = of.groups.filter(
    (group) => valueOf(group.total, measure) > 0n || valueOf(group.before, measure) > 0n,
  );
  const hasMargin = measure === 'spend' && (of.total as Figures).margin_usd !== undefined;
  // A phone has room for two figures.
  const change = hasMargin ? 'n wide-only' : 'n';
  const narrower = by === 'model' ? 'key' : by === 'key' ? 'model' : undefined;
  return (
    <TableFrame label={`${TITLES[measure]} by ${labelOf(by)}`}>
      <table class="groups">
        <caption class="hidden">
          {TITLES[measure]} by {labelOf(by)}
        </caption>
        <thead>
          <tr>
            <th scope="col">{DIMENSIONS[by].label}</th>
            <th scope="col" class="n">
              {TITLES[measure]}
            </th>
            {!isTime && (
              <th scope="col" class="n wide-only">
                Share
              </th>
            )}
            <th scope="col" class={change}>
              Change
            </th>
            {hasMargin && (
              <th scope="col" class="n">
                Margin
              </th>
            )}
            <th scope="col" class="n wide-only">
              Failed
            </th>
            <th scope="col" class="n wide-only">
              Mean time
            </th>
          </tr>
        </thead>
        <tbody>
          {groups.map((group) => {
            const value = valueOf(group.total, measure);
            const { failed, requests, mean_duration_ms: ms } = group.total;
            const { margin_usd: margin } = group.total as Figures;
            const name = groupName(props, group);
            return (
              <tr key={group.value ?? name} data-group={group.value ?? name}>
                <th scope="row">
                  <i class={`swatch ${colors.get(group) ?? 'others'}`} />
                  {name}
                  {group.value !== null && (
                    <span class="row links">
                      <a href={requestsOf(props, of, group)}>
                        Requests<span class="hidden"> of {name}</span>
                      </a>
                      {narrower !== undefined && props.dimensions.includes(narrower) && (
                        <a
                          href={to(route.value.path, {
                            ...route.value.query,
                            [DIMENSIONS[by].filter]: group.value,
                            by: narrower,
                          })}
                        >
                          By {narrower}
                          <span class="hidden">, only {name}</span>
                        </a>
                      )}
                    </span>
                  )}
                </th>
                <td class="n">
                  <Value of={value} measure={measure} />
                </td>
                {!isTime && <td class="n wide-only">{shareText(value, total)}</td>}
                <td class={change}>
                  <Change from={valueOf(group.before, measure)} to={value} />
                </td>
                {hasMargin && (
                  <td class="n">{margin === undefined ? '–' : <Money usd={margin} />}</td>
                )}
                <td class="n wide-only">
                  {requests === 0 ? '–' : `${counts.format(failed)} of ${counts.format(requests)}`}
                </td>
                <td class="n wide-only">{ms === null ? '–' : durationText(ms)}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </TableFrame>
  );
}

function shareText(value: bigint, total: bigint): string {
  if (total === 0n) return '–';
  const permille = Number((value * 1000n) / total);
  return permille > 0 && permille < 10 ? '< 1 %' : `${String(Math.round(permille / 10))} %`;
}
