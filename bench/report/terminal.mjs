/** Tables for a terminal: one per work. */

import { columnsOf } from './columns.mjs';

export function printTables(works, titles) {
  for (const work of works) process.stdout.write(`${tableOf(work, titles)}\n`);
}

function tableOf(work, titles) {
  const columns = columnsOf(work);
  const rows = [
    ['', ...columns.map(({ head }) => head)],
    ...work.rows.map((row) => [
      titles.get(row.contestant),
      ...columns.map(({ cell }) => cell(row) ?? ''),
    ]),
  ];
  const widths = rows[0].map((_, i) => Math.max(...rows.map((row) => row[i].length)));
  const line = (row) =>
    row.map((text, i) => (i === 0 ? text.padEnd(widths[i]) : text.padStart(widths[i]))).join('  ');
  return rows.map((row) => `  ${line(row)}`).join('\n');
}
