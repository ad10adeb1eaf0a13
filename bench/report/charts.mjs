/** Draws the charts of docs/performance.md from the results. */

import { linearScale, logScale } from './scale.mjs';
import { chartSvg } from './svg.mjs';

const COLOURS = {
  direct: '#a3adb8',
  bare: '#8292a2',
  nginx: '#4f9d69',
  express: '#7a86c8',
  'gateway-embedded': '#2f9fd6',
  'gateway-servers': '#1668b8',
};
const OTHERS = ['#d9822b', '#b4586c', '#a07cc5'];
const SHORT = {
  direct: 'nothing between',
  bare: 'bare Node proxy',
  express: 'Express skeleton',
  'gateway-embedded': 'gateway, embedded',
  'gateway-servers': 'gateway, servers',
};
const CPU_WORKS = [
  'native-json-1k',
  'native-json-1m',
  'native-stream-300',
  'agents',
  'chat-json-1k',
  'chat-stream-300',
];

/**
 * @returns each file's `name`, its `alt` text and its `svg`. Charts without figures are left out.
 */
export function chartsOf(results) {
  const style = styleOf(results.contestants);
  const spread = `Median of ${results.rounds} rounds; line: lowest to highest.`;
  return [
    barChart({
      name: 'cpu',
      title: 'CPU time per request',
      subtitle: `Bars: its own process. ×: with PostgreSQL and Redis, relative to the bare proxy. ${spread}`,
      unit: 'µs',
      works: pick(CPU_WORKS),
      figure: ({ cpuUs }) => cpuUs,
      textOf: ({ cpuUs, ratio }) =>
        `${whole(cpuUs.median)} µs${ratio === undefined ? '' : ` · ${ratio.median.toFixed(1)} ×`}`,
    }),
    barChart({
      name: 'throughput',
      title: 'Requests per second',
      subtitle: `Clients, upstream and contestant share the machine. ${spread} Longer is better.`,
      unit: '/s',
      works: pick([...CPU_WORKS, 'native-json-1k-20ms']),
      figure: ({ contestant, perSecond }) => (contestant === 'direct' ? undefined : perSecond),
      textOf: ({ perSecond }) => whole(perSecond.median),
    }),
    latencyChart(),
    barChart({
      name: 'memory',
      title: 'Memory per open stream',
      subtitle:
        'Resident memory with all streams open minus the memory before, divided by the number of streams. Shorter is better.',
      unit: 'KB',
      works: pick(['open-1000', 'open-5000']),
      figure: ({ bytesPerStream }) => bytesPerStream && kilobytes(bytesPerStream),
      textOf: ({ bytesPerStream }) => `${whole(bytesPerStream.median / 1024)} KB`,
    }),
  ].filter((chart) => chart !== undefined);

  function pick(names) {
    return results.works.filter(({ name }) => names.includes(name));
  }

  function barChart({ name, title, subtitle, unit, works, figure, textOf }) {
    const panels = works
      .map((work) => ({ ...work, rows: work.rows.filter((row) => figure(row) !== undefined) }))
      .filter(({ rows }) => rows.length > 0)
      .map((work) => ({
        title: work.title,
        tickText: whole,
        scale: linearScale(Math.max(...work.rows.map((row) => figure(row).max))),
        rows: work.rows.map((row) => ({
          ...style.get(row.contestant),
          text: textOf(row),
          bar: { ...figure(row), value: figure(row).median },
        })),
      }));
    if (panels.length === 0) return undefined;
    const legend = legendOf(panels);
    return { name, alt: title, svg: chartSvg({ title, subtitle, unit, legend, panels }) };
  }

  function latencyChart() {
    const title = 'Latency at the same rate for all';
    const works = results.works.filter(
      ({ phase, rows }) => phase === 'steady' && rows.some(({ latency }) => latency !== undefined),
    );
    if (works.length === 0) return undefined;
    const panels = works.map((work) => {
      const rows = work.rows.filter(({ latency }) => latency !== undefined);
      const all = rows.flatMap(({ latency }) => Object.values(percentiles(work, latency)));
      return {
        title: work.title,
        tickText: String,
        scale: logScale(all),
        rows: rows.map(({ contestant, latency }) => {
          const { p50, p90, p99 } = percentiles(work, latency);
          return {
            ...style.get(contestant),
            text: `${p50.toFixed(2)} · ${p99.toFixed(1)}`,
            dots: [
              { value: p50, shade: 5 },
              { value: p90, shade: 4 },
              { value: p99, shade: 2.5 },
            ],
          };
        }),
      };
    });
    const subtitle =
      'Time to the last byte; for paced streams, time to the first byte. Dots: p50, p90, p99; the text shows p50 · p99. Further left is better.';
    const legend = legendOf(panels);
    return {
      name: 'latency',
      alt: title,
      svg: chartSvg({ title, subtitle, unit: 'ms', legend, panels }),
    };
  }
}

function styleOf(contestants) {
  const others = contestants.filter(({ name }) => COLOURS[name] === undefined);
  return new Map(
    contestants.map(({ name, title }) => [
      name,
      {
        label: SHORT[name] ?? title,
        colour:
          COLOURS[name] ?? OTHERS[others.findIndex((entry) => entry.name === name) % OTHERS.length],
      },
    ]),
  );
}

/** The contestants in the chart, in their usual order. */
function legendOf(panels) {
  const used = panels.flatMap(({ rows }) => rows).map(({ label, colour }) => [label, colour]);
  return [...new Map(used)].map(([text, colour]) => ({ text, colour }));
}

/** The last byte of a paced stream comes when the upstream sends it, so its first byte counts. */
function percentiles({ eventsPerSecond }, { lastByteMs, firstByteMs }) {
  const { p50, p90, p99 } = eventsPerSecond === undefined ? lastByteMs : firstByteMs;
  return { p50, p90, p99 };
}

function kilobytes({ median, min, max }) {
  return { median: median / 1024, min: min / 1024, max: max / 1024 };
}

function whole(number) {
  return number.toLocaleString('en-US', { maximumFractionDigits: 0 });
}
