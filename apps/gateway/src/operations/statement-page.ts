/** A statement as a page that prints well. It has no script and loads nothing. */

import { labelOf, statementLines } from './statement-lines.js';
import type { Statement } from './statement.js';

const STYLE =
  'body{font:14px/1.4 system-ui,sans-serif;margin:2rem auto;max-width:60rem;padding:0 1rem;' +
  'color:#111;background:#fff}table{border-collapse:collapse;width:100%}' +
  'th,td{padding:.25rem .5rem;border-bottom:1px solid #ccc;text-align:left;vertical-align:top}' +
  'td.n,th.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}' +
  'tr.b td{font-weight:600}@media print{body{margin:0;max-width:none}thead{display:' +
  'table-header-group}tr{break-inside:avoid}}';

/** Allows the page only its own text and style. */
export const STATEMENT_PAGE_HEADERS = {
  'content-security-policy':
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; " +
    "frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
} as const;

export function statementPage(statement: Statement): string {
  const rows = statementLines(statement).map((line) => {
    const isBalance = line.line.endsWith('balance');
    const cells = [
      `<td>${escape(line.date.slice(0, 10))}</td>`,
      `<td>${escape(labelOf(line))}</td>`,
      numberCell(line.tokens),
      numberCell(line.rate_usd_per_million),
      numberCell(line.amount_usd),
    ];
    return `<tr${isBalance ? ' class="b"' : ''}>${cells.join('')}</tr>`;
  });
  const { account_id: accountId, month } = statement;
  return (
    '<!doctype html><html lang="en"><head><meta charset="utf-8">' +
    '<meta name="viewport" content="width=device-width">' +
    `<title>Statement ${escape(month)}</title><style>${STYLE}</style></head><body>` +
    `<h1>Statement ${escape(month)}</h1>` +
    `<p>Account ${escape(accountId)}. Amounts in USD, rates in USD per million tokens, ` +
    'days in UTC.</p><table><thead><tr><th>Date</th><th>What</th><th class="n">Tokens</th>' +
    '<th class="n">Rate</th><th class="n">Amount</th></tr></thead>' +
    `<tbody>${rows.join('')}</tbody></table></body></html>\n`
  );
}

function numberCell(value: string | number | undefined): string {
  return `<td class="n">${value === undefined ? '' : escape(String(value))}</td>`;
}

function escape(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}
