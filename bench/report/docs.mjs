/** Writes the results into docs/performance.md, between its markers, and draws the charts. */

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { format, resolveConfig } from 'prettier';
import { fileURLToPath } from 'node:url';
import { GOALS } from '../goals.mjs';
import { chartsOf } from './charts.mjs';

const PAGE = new URL('../../docs/performance.md', import.meta.url);
const CHARTS = new URL('../../docs/performance/', import.meta.url);
const BEGIN = '<!-- measured: begin -->';
const END = '<!-- measured: end -->';
const SUBJECTS = ['gateway-embedded', 'gateway-servers'];

export async function writeDocs(results) {
  const charts = chartsOf(results);
  mkdirSync(CHARTS, { recursive: true });
  for (const { name, svg } of charts) writeFileSync(new URL(`${name}.svg`, CHARTS), svg);
  const page = readFileSync(PAGE, 'utf8');
  const [before] = page.split(BEGIN);
  const [, after] = page.split(END);
  const filled = [before, BEGIN, '\n\n', measured(results, charts), '\n\n', END, after].join('');
  const path = fileURLToPath(PAGE);
  const style = await resolveConfig(path);
  writeFileSync(PAGE, await format(filled, { ...style, filepath: path }));
}

/** A summary: `bench/results/latest.json` and the terminal have all figures of each workload. */
function measured(results, charts) {
  const titles = new Map(results.contestants.map(({ name, title }) => [name, title]));
  return [
    conditions(results),
    '## Goals',
    'In brackets: the goal. Bold: reached.',
    goals(results, titles),
    ...charts.map(({ name, alt }) => `![${alt}](performance/${name}.svg)`),
    '## Contestants',
    results.contestants
      .filter(({ does }) => does !== undefined)
      .map(({ title, does }) => `- ${title}: ${does}`)
      .join('\n'),
    '## Memory',
    memoryTable(results, titles),
    '## CPU time per request, all processes: × the bare proxy',
    workTable(results, titles, ({ ratio, cpuUs, contestant, bytesPerStream, latency }) => {
      // Those with tables of their own.
      if (bytesPerStream !== undefined || latency?.lastByteMs !== undefined) return undefined;
      if (contestant === 'bare' && cpuUs !== undefined)
        return `${Math.round(cpuUs.median).toLocaleString('en-US')} µs`;
      return ratio?.median.toFixed(2);
    }),
    '## Latency in ms: p50, p99',
    workTable(results, titles, ({ latency }) => percentiles(latency?.lastByteMs)),
    '## First byte of a stream in ms: p50, p99',
    workTable(results, titles, ({ latency }) => {
      const isPaced = latency !== undefined && latency.lastByteMs === undefined;
      return isPaced ? percentiles(latency.firstByteMs) : undefined;
    }),
    ...results.works.flatMap((work) => problemsOf(work, titles)),
  ].join('\n\n');
}

function conditions({ measuredAt, seconds, machine, versions, rounds, works, charges }) {
  const { cores, processor, memoryGib, kernel, node, undici, express } = machine;
  const others = Math.max(...works.flatMap(({ rows }) => rows.map(({ othersBusy }) => othersBusy)));
  const software = { Node: node, undici, Express: express, ...versions };
  return [
    `Measured on ${measuredAt.slice(0, 10)} in ${Math.round(seconds / 60)} minutes, ${rounds} rounds, on ${cores} cores of ${processor.trim()}, ${memoryGib} GiB, Linux ${kernel}.`,
    `Versions: ${Object.entries(software)
      .map(([name, version]) => `${name} ${version}`)
      .join(', ')}.`,
    `Other processes on the machine used at most ${others.toFixed(2)} cores at the same time.`,
    charges.length > 0 && charges.every(({ isExact }) => isExact)
      ? "Every response was checked, and the charges of this gateway's keys, embedded and with PostgreSQL, matched these responses exactly."
      : 'Every response was checked.',
  ].join(' ');
}

/** What the gateway's two forms took, and their goals. */
function goals(results, titles) {
  const rows = GOALS.map((goal) => [goal.what(results), ...SUBJECTS.map(cellOf(goal))]);
  return table(
    ['', ...SUBJECTS.map((subject) => titles.get(subject) ?? subject)],
    rows.filter(([, ...cells]) => cells.some((text) => text !== '')),
  );

  function cellOf({ most = {}, least = {}, text, measure }) {
    return (subject) => {
      const [limit, floor] = [most[subject], least[subject]];
      const goal = limit ?? floor;
      const figure = goal === undefined ? undefined : measure(results, subject);
      if (figure === undefined) return '';
      const isReached = limit === undefined ? figure >= goal : figure <= goal;
      return `${isReached ? `**${text(figure)}**` : text(figure)} (${text(goal)})`;
    };
  }
}

function memoryTable({ memory, works }, titles) {
  const openWorks = works.filter(({ phase }) => phase === 'open');
  const perStream = (name, { rows }) => {
    const bytes = rows.find(({ contestant }) => contestant === name)?.bytesPerStream;
    return bytes === undefined ? '' : `${Math.round(bytes.median / 1024)} KB`;
  };
  return table(
    ['', 'idle', 'after the run', ...openWorks.map(({ title }) => `per stream: ${title}`)],
    Object.keys(memory.idle).map((name) => [
      titles.get(name),
      megabytes(memory.idle[name]),
      megabytes(memory.afterwards[name]),
      ...openWorks.map((work) => perStream(name, work)),
    ]),
  );
}

/** A row for each workload, and a column for each contestant that has a figure in any of them. */
function workTable({ works, contestants }, titles, figureOf) {
  const rows = works.map(({ title, rows }) => ({
    title,
    figures: new Map(rows.map((row) => [row.contestant, figureOf(row)])),
  }));
  const hasFigure = ({ figures }, name) => figures.get(name) !== undefined;
  const names = contestants
    .map(({ name }) => name)
    .filter((name) => rows.some((row) => hasFigure(row, name)));
  return table(
    ['', ...names.map((name) => titles.get(name))],
    rows
      .filter((row) => names.some((name) => hasFigure(row, name)))
      .map(({ title, figures }) => [title, ...names.map((name) => figures.get(name) ?? '')]),
  );
}

function percentiles(ms) {
  return ms && `${ms.p50.toFixed(2)}, ${ms.p99.toFixed(2)}`;
}

function problemsOf({ title, rows, leftOut }, titles) {
  return [
    ...leftOut.map(
      ({ contestant, reason }) =>
        `${title}: ${titles.get(contestant)} is left out: ${reason.slice(0, 200)}.`,
    ),
    ...rows
      .filter(({ failures }) => failures.length > 0)
      .map(
        ({ contestant, failures }) =>
          `${title}: ${titles.get(contestant)}: ${failures.length} failures, such as ${failures[0].slice(0, 200)}.`,
      ),
  ];
}

/** A table with the names aligned left and the figures aligned right. */
function table(head, rows) {
  const align = head.map((_, i) => (i === 0 ? '---' : '---:'));
  return [head, align, ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

function megabytes(bytes) {
  return bytes === undefined ? '' : `${Math.round(bytes / 2 ** 20)} MB`;
}
