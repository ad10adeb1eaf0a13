/** Sums of usage as a plot: spend by model, tokens by class, or requests by model. */

import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { colorOf } from './colors.js';
import type { Sent } from './gateway-types.js';
import { Count, Empty, Loaded, Money, Segments } from './parts.js';
import { FiguresTable, StackedBars } from './plot.js';
import type { Series } from './plot.js';
import type { Resource } from './resource.js';
import { formatUsd, parseUsd, roundedUsd } from './usd.js';

/** One row of the gateway's sums by day and model. */
type DayModelSum = Sent<'usageSum'>;

type Measure = 'spend' | 'tokens' | 'requests';
export type DayCount = '7' | '30' | '90';

export const DAY_COUNTS = [
  ['7', '7 days'],
  ['30', '30 days'],
  ['90', '90 days'],
] as const satisfies readonly (readonly [DayCount, string])[];

const MEASURES = [
  ['spend', 'Spend'],
  ['tokens', 'Tokens'],
  ['requests', 'Requests'],
] as const satisfies readonly (readonly [Measure, string])[];

const TITLES: Readonly<Record<Measure, string>> = {
  spend: 'Spend per day by model, in USD',
  tokens: 'Tokens per day by class',
  requests: 'Requests per day by model',
};

const counts = new Intl.NumberFormat();

export function UsagePlot(props: {
  readonly days: readonly string[];
  readonly of: Resource<{ readonly data: readonly DayModelSum[] }>;
  /** The name of the usage, such as "your usage". */
  readonly what: string;
  /** More fields beside that of the measure, such as the number of days. */
  readonly controls: ComponentChildren;
}) {
  const { days, of, what, controls } = props;
  const [measure, setMeasure] = useState<Measure>('spend');
  return (
    <div class="usage-plot">
      <div class="row spread">
        <Segments label="What is plotted" value={measure} options={MEASURES} onValue={setMeasure} />
        {controls}
      </div>
      <Loaded of={of} what={what}>
        {({ data }) => <Plot measure={measure} days={days} sums={data} />}
      </Loaded>
    </div>
  );
}

function Plot(props: {
  readonly measure: Measure;
  readonly days: readonly string[];
  readonly sums: readonly DayModelSum[];
}) {
  const { measure, days, sums } = props;
  const isMoney = measure === 'spend';
  const plot = {
    title: TITLES[measure],
    spans: days,
    series: seriesOf(measure, days, sums),
    show: (value: bigint) => (isMoney ? <Money usd={formatUsd(value)} /> : <Count of={value} />),
    text: (value: bigint) => (isMoney ? roundedUsd(formatUsd(value)) : counts.format(value)),
  };
  return plot.series.length === 0 ? (
    <Empty>Nothing was used in these days.</Empty>
  ) : (
    <>
      <StackedBars {...plot} />
      <FiguresTable {...plot} />
    </>
  );
}

/** The number of bars that can be told apart. If there are more models, the rest share one. */
const MAX_SERIES = 8;

function seriesOf(
  measure: Measure,
  days: readonly string[],
  sums: readonly DayModelSum[],
): readonly Series[] {
  const series = new Map<string, bigint[]>();
  const dayIndex = new Map(days.map((day, index) => [day, index]));
  for (const sum of sums) {
    const index = dayIndex.get(sum.day ?? '');
    if (index === undefined) continue;
    for (const [name, value] of valuesOf(measure, sum)) {
      const values = series.get(name) ?? days.map(() => 0n);
      values[index] = (values[index] ?? 0n) + value;
      series.set(name, values);
    }
  }
  const all = [...series]
    .map(([name, values], index) => ({
      name,
      color: measure === 'tokens' ? `s${String(index)}` : colorOf(name),
      values,
      total: values.reduce((a, b) => a + b, 0n),
    }))
    .filter(({ total }) => total > 0n);
  if (measure === 'tokens') return all;
  all.sort((a, b) => (a.total < b.total ? 1 : -Number(a.total > b.total)));
  if (all.length <= MAX_SERIES) return all;
  const others = all.slice(MAX_SERIES - 1);
  const values = days.map((_, day) =>
    others.reduce((sum, each) => sum + (each.values[day] ?? 0n), 0n),
  );
  return [
    ...all.slice(0, MAX_SERIES - 1),
    { name: `${String(others.length)} other models`, color: 'others', values },
  ];
}

function valuesOf(measure: Measure, sum: DayModelSum): readonly (readonly [string, bigint])[] {
  const model = sum.model ?? 'unknown';
  switch (measure) {
    case 'spend':
      return [[model, parseUsd(sum.charged_usd)]];
    case 'requests':
      return [[model, BigInt(sum.requests)]];
    case 'tokens':
      return [
        ['input', BigInt(sum.input_tokens)],
        ['output', BigInt(sum.output_tokens)],
        ['cache read', BigInt(sum.cache_read_input_tokens)],
        ['cache write', BigInt(sum.cache_creation_input_tokens)],
      ];
  }
}
