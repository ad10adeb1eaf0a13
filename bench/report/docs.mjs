/** Writes the results into docs/performance.md, between its markers, and draws the charts. */

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { format, resolveConfig } from 'prettier';
import { fileURLToPath } from 'node:url';
import { chartsOf } from './charts.mjs';
import { columnsOf, settlingColumns } from './columns.mjs';
import { verdictsOf } from './verdicts.mjs';

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

function measured(results, charts) {
  const titles = new Map(results.contestants.map(({ name, title }) => [name, title]));
  return [
    conditions(results),
    ...SUBJECTS.flatMap((subject) => verdicts(results, titles, subject)),
    ...charts.map(({ name, alt }) => `![${alt}](performance/${name}.svg)`),
    '## The work of each contestant per request',
    table(
      ['', 'does'],
      results.contestants
        .filter(({ does }) => does !== undefined)
        .map(({ title, does }) => [title, does]),
    ),
    '## Memory of the processes',
    memoryTable(results, titles),
    ...results.works.flatMap((work) => workSection(work, titles)),
    ...settlingSection(results),
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

function verdicts(results, titles, subject) {
  const rows = verdictsOf(results, subject);
  if (rows.length === 0) return [];
  return [
    `## Budgets: ${titles.get(subject)}`,
    table(
      ['', 'budget', 'measured', ''],
      rows.map(({ what, budget, measured: figure, isMet }) => [
        what,
        budget,
        figure,
        isMet ? 'met' : '**missed**',
      ]),
    ),
  ];
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

function workSection(work, titles) {
  const rows = work.rows.map((row) => ({ ...row, title: titles.get(row.contestant) }));
  const leftOut = work.leftOut.map(
    ({ contestant, reason }) => `${titles.get(contestant)} is left out: ${reason.slice(0, 200)}.`,
  );
  const failed = work.rows
    .filter(({ failures }) => failures.length > 0)
    .map(({ contestant, failures }) => `${titles.get(contestant)}: ${failures[0].slice(0, 200)}.`);
  return [
    `## ${work.title[0].toUpperCase()}${work.title.slice(1)}`,
    tableOf(columnsOf(work), rows),
    ...leftOut,
    ...failed,
  ];
}

function settlingSection({ settling }) {
  if (settling.length === 0) return [];
  return ['## One key, charged without a gateway in front', tableOf(settlingColumns(), settling)];
}

function tableOf(columns, rows) {
  return table(
    ['', ...columns.map(({ head }) => head)],
    rows.map((row) => [row.title, ...columns.map(({ cell }) => cell(row) ?? '')]),
  );
}

/** A table with the names aligned left and the figures aligned right. */
function table(head, rows) {
  const align = head.map((_, i) => (i === 0 ? '---' : '---:'));
  return [head, align, ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

function megabytes(bytes) {
  return bytes === undefined ? '' : `${Math.round(bytes / 2 ** 20)} MB`;
}
