/** How many requests succeeded and failed, as bars over time. */

import type { Sent } from '../api/gateway-types.js';
import { Count } from '../controls/parts.js';
import { route, to } from '../api/router.js';
import { FiguresTable, StackedBars } from '../plots/plot.js';
import type { Unit } from '../plots/plot.js';
import { DAY_MS, clockText, minuteText, utcDay } from '../text/times.js';
import { OWN_STYLE } from '../text/numbers.js';

const LOCAL = { zone: 'Times are in your time zone', label: minuteText, tick: clockText } as const;

const UNITS = {
  '5m': { ...LOCAL, one: 'span', ms: 300_000, title: 'Requests in each 5 minutes' },
  hour: { ...LOCAL, one: 'hour', ms: 3_600_000, title: 'Requests per hour' },
  day: {
    one: 'day',
    zone: 'Days are in UTC',
    label: (iso) => utcDay(Date.parse(iso)),
    tick: (iso) => utcDay(Date.parse(iso)).slice(5),
    ms: DAY_MS,
    title: 'Requests per day',
  },
} as const satisfies Readonly<Record<string, Unit & { ms: number; title: string }>>;

export function RequestPlot(props: {
  readonly of: Sent<'requestSums'>;
  readonly every: keyof typeof UNITS;
}) {
  const { of, every } = props;
  if (of.data.length === 0) return null;
  const { ms, title, ...unit } = UNITS[every];
  const spans = spansOf(of, ms);
  const sums = new Map(of.data.map((sum) => [Date.parse(sum.start ?? ''), sum]));
  const found = spans.map((span) => sums.get(Date.parse(span)));
  const plot = {
    title,
    spans,
    unit,
    series: [
      { name: 'Failed', color: 'failed', values: found.map((sum) => BigInt(sum?.failed ?? 0)) },
      {
        name: 'Succeeded',
        color: 's0',
        values: found.map((sum) => BigInt((sum?.requests ?? 0) - (sum?.failed ?? 0))),
      },
    ],
    show: (value: bigint) => <Count of={value} />,
    text: (value: bigint) => OWN_STYLE.whole(value),
    isLastOpen: Date.parse(of.until) > Date.now(),
    href: (span: number) =>
      to(['requests'], {
        ...route.value.query,
        // The first span may begin before the time that is counted.
        from: (span === 0 ? undefined : spans[span]) ?? of.from,
        until: spans[span + 1] ?? of.until,
      }),
  };
  const since = of.recorded_from;
  return (
    <div class="requests-plot stack">
      {since !== null && Date.parse(since) > Date.parse(of.from) && (
        <p class="quiet">Requests are recorded since {minuteText(since)}.</p>
      )}
      <StackedBars {...plot} />
      <details>
        <summary>The same figures as a table</summary>
        <FiguresTable {...plot} />
      </details>
    </div>
  );
}

/** The beginnings of all spans, also of those without a request. */
function spansOf({ from, until }: Sent<'requestSums'>, ms: number): readonly string[] {
  const first = Math.floor(Date.parse(from) / ms) * ms;
  const count = Math.ceil((Date.parse(until) - first) / ms);
  return Array.from({ length: count }, (_, index) => new Date(first + index * ms).toISOString());
}
