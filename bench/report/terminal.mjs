/** Tables for a terminal. */

import {
  columnsOf,
  replicaColumns,
  settlingColumns,
  unitColumns,
  usageColumns,
} from './columns.mjs';

export function printWork(work, titles) {
  const named = work.rows.map((row) => ({ ...row, title: titles.get(row.contestant) }));
  printTable(columnsOf(work), named);
}

export function printSettling(stores) {
  printTable(settlingColumns(), stores);
}

export function printUnitCosts(rows) {
  printTable(unitColumns(), rows);
}

export function printReplicas(rows) {
  printTable(replicaColumns(), rows);
}

export function printUsage(rows) {
  printTable(usageColumns(), rows);
}

function printTable(columns, entries) {
  const rows = [
    ['', ...columns.map(({ head }) => head)],
    ...entries.map((entry) => [entry.title, ...columns.map(({ cell }) => cell(entry) ?? '')]),
  ];
  const widths = rows[0].map((_, i) => Math.max(...rows.map((row) => row[i].length)));
  const line = (row) =>
    row.map((text, i) => (i === 0 ? text.padEnd(widths[i]) : text.padStart(widths[i]))).join('  ');
  process.stdout.write(`${rows.map((row) => `  ${line(row)}`).join('\n')}\n`);
}
