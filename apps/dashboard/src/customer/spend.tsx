/**
 * What was spent in thirty days: a plot, and below it to which keys, models and programs it went. A
 * bar of any of them filters the others; what is chosen is in the address.
 */

import { DIMENSIONS, requestsOf } from '../shared/breakdown/breakdown-choice.js';
import { plotted, groupName } from '../shared/breakdown/breakdown-figures.js';
import type { Breakdown, Group, ShownBreakdown } from '../shared/breakdown/breakdown-figures.js';
import { Change, tickText } from '../shared/breakdown/breakdown-values.js';
import type { Sent } from '../shared/api/gateway-types.js';
import { useResource } from '../shared/api/resource.js';
import type { Resource } from '../shared/api/resource.js';
import { given, route, to } from '../shared/api/router.js';
import type { Route } from '../shared/api/router.js';
import { Chips, chipOf } from '../shared/controls/chips.js';
import type { Chip } from '../shared/controls/chips.js';
import { Empty, Headline, Loaded, Money } from '../shared/controls/parts.js';
import { colorOf } from '../shared/plots/colors.js';
import { StackedBars } from '../shared/plots/plot.js';
import { rangeOf, unitOf } from '../shared/plots/range.js';
import { ShareBars } from '../shared/plots/share-bars.js';
import type { Share } from '../shared/plots/share-bars.js';
import { formatUsd, parseUsd, roundedUsd } from '../shared/text/usd.js';
import { call } from './session.js';
import { useKeyNames } from './use-key-names.js';

type By = 'model' | 'key' | 'client';

/** More groups are one. */
const MOST_BARS = 6;

export function Spend({ overview }: { readonly overview: Sent<'accountOverview'> }) {
  const of = overview.may_see_account ? 'account' : 'key';
  const names = useKeyNames(overview, of === 'account');
  const { query } = route.value;
  const range = rangeOf({}, '30', Date.now());
  const models = useBreakdown('model', of);
  const shown: Omit<ShownBreakdown, 'of'> = {
    by: 'model',
    chosen: 'model',
    measure: 'spend',
    range,
    dimensions: ['model'],
    nameOf: undefined,
    ...(of === 'key' ? { filters: { key_id: overview.key.id } } : {}),
  };
  const nameOf = (by: By, id: string) => (by === 'key' ? (names.get(id) ?? id) : id);
  return (
    <Headline.Provider value={true}>
      <section class="card" aria-label="Spend">
        <div class="row spread">
          <h2>Spend in 30 days</h2>
          <a href={to(['usage'], { model: query['model'] ?? '', key_id: query['key_id'] ?? '' })}>
            More figures
          </a>
        </div>
        <Chips of={chosen(query, nameOf)} />
        <Loaded of={models} what="what was spent">
          {(value) => <Picture {...shown} of={value} />}
        </Loaded>
      </section>
      <div class="thirds">
        {of === 'account' && <Shares by="key" of={of} nameOf={nameOf} />}
        <SharesOf by="model" found={models} nameOf={nameOf} />
        <Shares by="client" of={of} nameOf={nameOf} />
      </div>
    </Headline.Provider>
  );
}

function useBreakdown(by: By, of: 'account' | 'key') {
  const { query } = route.value;
  const { from, until } = rangeOf({}, '30', Date.now());
  const asked = {
    by,
    from: new Date(from).toISOString(),
    until: new Date(until).toISOString(),
    every: 'day',
    zone: 'UTC',
    model: given(query['model']),
    key_id: given(query['key_id']),
    of,
  } as const;
  return useResource(`spend ${JSON.stringify(asked)}`, (signal) =>
    call('GET /v1/dashboard/breakdown', { query: asked, signal }),
  );
}

function chosen(query: Route['query'], nameOf: (by: By, id: string) => string): readonly Chip[] {
  return [
    ...chipOf(query, 'day', (day) => `Day: ${dayText(day)}`),
    ...chipOf(query, 'key_id', (id) => `Key: ${nameOf('key', id)}`),
    ...chipOf(query, 'model', (model) => `Model: ${model}`),
  ];
}

const UNIT = unitOf({ every: 'day', zone: 'UTC' }, 30);

function dayText(day: string): string {
  return UNIT.label(`${day}T00:00:00Z`);
}

function Picture(props: ShownBreakdown) {
  const { of } = props;
  const { query } = route.value;
  const series = plotted(props);
  const day = spanOf(of, query['day']);
  const total = day === undefined ? of.total.charged_usd : sumOfDay(of, day);
  return (
    <>
      <p class="headline">
        <strong>
          <Money usd={total} />
        </strong>{' '}
        {day === undefined ? (
          <>
            <Change
              from={parseUsd(of.total_before.charged_usd)}
              to={parseUsd(of.total.charged_usd)}
            />{' '}
            <span class="quiet">against the 30 days before</span>
          </>
        ) : (
          <a
            href={requestsOf(props, {
              from: of.starts[day] ?? of.from,
              until: of.starts[day + 1] ?? of.until,
            })}
          >
            Its requests
          </a>
        )}
      </p>
      {series.length === 0 ? (
        <Empty>Nothing was used in these days.</Empty>
      ) : (
        <StackedBars
          title="Spend in USD per day by model"
          spans={of.starts}
          unit={UNIT}
          series={series}
          show={(value) => <Money usd={formatUsd(value)} />}
          text={(value) => roundedUsd(formatUsd(value), { most: 2 })}
          tick={(value) => tickText(value, 'spend')}
          isLastOpen
          chosen={day}
          href={(span) => {
            const its = (of.starts[span] ?? '').slice(0, 10);
            return to(['home'], { ...query, day: span === day ? '' : its });
          }}
          leads={(span) => (span === day ? 'Show all days' : 'Only this day')}
        />
      )}
    </>
  );
}

/** @returns the place of the day in the plot; `undefined` for none, or one that is not in it */
function spanOf({ starts }: Breakdown, day: string | undefined): number | undefined {
  const index = starts.findIndex((start) => start.slice(0, 10) === day);
  return index === -1 ? undefined : index;
}

function sumOfDay({ groups }: Breakdown, day: number): string {
  return formatUsd(groups.reduce((sum, group) => sum + spentBy(group, day), 0n));
}

function spentBy({ total, spans }: Group, day: number | undefined): bigint {
  return parseUsd((day === undefined ? total : spans[day])?.charged_usd ?? '0');
}

const TITLES = { key: 'By key', model: 'By model', client: 'By program' } as const;

interface SharesProps {
  readonly by: By;
  readonly nameOf: (by: By, id: string) => string;
}

function Shares({ of, ...props }: SharesProps & { readonly of: 'account' | 'key' }) {
  return <SharesOf {...props} found={useBreakdown(props.by, of)} />;
}

function SharesOf(props: SharesProps & { readonly found: Resource<Breakdown> }) {
  const { by, found, nameOf } = props;
  const { query } = route.value;
  const { filter } = DIMENSIONS[by];
  const day = (value: Breakdown) => spanOf(value, query['day']);
  const hrefOf = (value: string) =>
    by === 'client'
      ? to(['requests'], {
          client: value,
          range: 'month',
          model: query['model'] ?? '',
          key_id: query['key_id'] ?? '',
        })
      : to(['home'], { ...query, [filter]: query[filter] === value ? '' : value });
  const shareOf = (group: Group, span: number | undefined): Share => ({
    name: groupName({ by, nameOf: (_, id) => nameOf(by, id) }, group),
    value: spentBy(group, span),
    color: by === 'model' ? colorOf(group.value ?? '') : undefined,
    href: group.value === null ? undefined : hrefOf(group.value),
    isChosen: query[filter] !== undefined && query[filter] === group.value,
  });
  return (
    <section class="card" aria-label={TITLES[by]}>
      <h2>{TITLES[by]}</h2>
      <Loaded of={found} what="what was spent">
        {(value) => (
          <ShareBars
            of={value.groups.map((group) => shareOf(group, day(value)))}
            most={MOST_BARS}
            show={(usd) => <Money usd={formatUsd(usd)} />}
          />
        )}
      </Loaded>
    </section>
  );
}
