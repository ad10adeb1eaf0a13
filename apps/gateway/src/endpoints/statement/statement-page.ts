/** A statement as a page that prints well. It has no script and loads nothing. */

import type { Statement } from './statement.js';

const STYLE =
  'body{font:14px/1.4 system-ui,sans-serif;margin:2rem auto;max-width:60rem;padding:0 1rem;' +
  'color:#111;background:#fff}table{border-collapse:collapse;width:100%}' +
  'th,td{padding:.25rem .5rem;border-bottom:1px solid #ccc;text-align:left;vertical-align:top;' +
  'overflow-wrap:anywhere}td.d{white-space:nowrap}' +
  'td.n,th.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}' +
  'h2{font-size:1rem;margin:1.5rem 0 .25rem}tr.b td{font-weight:600}p.note{white-space:pre-wrap}' +
  'p.draft{font-weight:700;letter-spacing:.1em}' +
  '@page{size:A4;margin:15mm;@bottom-right{content:"page " counter(page) " of " counter(pages)}}' +
  '@media print{body{margin:0;max-width:none}' +
  'thead{display:table-header-group}tr{break-inside:avoid}h2.lines,section.note{break-before:page}}';

/** Allows the page only its own text and style. */
export const STATEMENT_PAGE_HEADERS = {
  'content-security-policy':
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; " +
    "frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
} as const;

export function statementPage(statement: Statement): string {
  const rows = statement.lines.map((line) => {
    const isBalance = line.line.endsWith('balance');
    const cells = [
      dayCell(line.date),
      `<td>${escape(line.text)}</td>`,
      numberCell(line.tokens),
      numberCell(line.rate_usd_per_million),
      numberCell(line.amount_usd),
    ];
    return `<tr${isBalance ? ' class="b"' : ''}>${cells.join('')}</tr>`;
  });
  const { month, number, state } = statement;
  const title = number ?? (state === 'draft' ? 'draft' : month);
  const note = statement.issuer?.note ?? null;
  return (
    '<!doctype html><html lang="en"><head><meta charset="utf-8">' +
    '<meta name="viewport" content="width=device-width">' +
    `<title>Statement ${escape(title)}</title><style>${STYLE}</style></head><body>` +
    `<h1>Statement of ${escape(month)}</h1>${issuer(statement)}` +
    `${state === 'draft' ? '<p class="draft">DRAFT</p>' : ''}<p>` +
    (number === null ? '' : `Number ${escape(number)}<br>`) +
    (statement.issued_at === null ? '' : `Issued ${escape(statement.issued_at.slice(0, 10))}<br>`) +
    `Customer ${customer(statement)}<br>Period ${escape(statement.period)}</p>` +
    `${summary(statement)}${note === null ? '' : `<p class="note">${escape(note)}</p>`}` +
    '<h2 class="lines">Every line</h2>' +
    '<p>In USD with every digit. The opening balance and the lines below it add up exactly to ' +
    'the closing balance. Days are in UTC.</p>' +
    '<table><thead><tr><th>Day</th><th>Description</th><th class="n">Tokens</th>' +
    '<th class="n">USD per million</th><th class="n">Amount</th></tr></thead>' +
    `<tbody>${rows.join('')}</tbody></table>${creditNote(statement)}</body></html>\n`
  );
}

function customer({
  account_id: id,
  account_name: name,
  account_address: address,
}: Pick<Statement, 'account_id' | 'account_name' | 'account_address'>): string {
  return [`${name} (${id})`, ...address].map(escape).join('<br>');
}

function creditNote({ credit_note: note }: Statement): string {
  if (note === null) return '';
  const rows = note.lines.map(({ date, text, statement, amount_usd: amount, tax_usd: tax }) => {
    const of = statement === null ? '' : `, of statement ${statement}`;
    const what = `${dayCell(date)}<td>${escape(`${text}${of}`)}</td>`;
    return `<tr>${what}${numberCell(tax)}${numberCell(amount)}</tr>`;
  });
  return (
    `<section class="note"><h1>Credit note</h1>${issuer(note)}<p>Number ${escape(note.number)}<br>` +
    `Issued ${escape(note.issued_at.slice(0, 10))}<br>Customer ${customer(note)}</p>` +
    '<table><thead><tr><th>Day</th><th>Description</th><th class="n">Tax</th>' +
    `<th class="n">Amount</th></tr></thead><tbody>${rows.join('')}<tr class="b"><td></td>` +
    `<td>In all</td>${numberCell(note.tax_usd)}${numberCell(note.amount_usd)}</tr>` +
    '</tbody></table></section>'
  );
}

function issuer({ issuer: by }: Pick<Statement, 'issuer'>): string {
  if (by === null) return '';
  const lines = [by.name, ...by.address, by.contact].filter((line) => line !== null);
  return `<p>${lines.map(escape).join('<br>')}</p>`;
}

function summary(statement: Statement): string {
  const totals = [
    ['Opening balance', statement.opening_balance_usd],
    ['Credits and corrections', statement.booked_usd],
    ...(statement.tax_usd === '0'
      ? []
      : [['Tax, paid beside the credits', statement.tax_usd] as const]),
    ['Charges', statement.charged_usd === '0' ? '0' : `-${statement.charged_usd}`],
    ['Closing balance', statement.closing_balance_usd],
  ] as const;
  return (
    `<table><tbody>${totals.map(([name, usd]) => `<tr><td>${name}</td>${numberCell(usd)}</tr>`).join('')}` +
    `</tbody></table>${totalsTable('Model', statement.by_model, ({ model }) => model)}` +
    totalsTable('Key', statement.by_key, ({ name }) => name) +
    totalsTable('Member', statement.by_member ?? [], ({ name }) => name ?? 'no member')
  );
}

function totalsTable<Total extends { readonly requests: number; readonly amount_usd: string }>(
  what: string,
  totals: readonly Total[],
  nameOf: (total: Total) => string,
): string {
  if (totals.length === 0) return '';
  const rows = totals.map(
    (total) =>
      `<tr><td>${escape(nameOf(total))}</td>${numberCell(total.requests)}` +
      `${numberCell(total.amount_usd)}</tr>`,
  );
  return (
    `<h2>Charges by ${what.toLowerCase()}</h2><table><thead><tr><th>${what}</th>` +
    `<th class="n">Requests</th><th class="n">Amount</th></tr></thead>` +
    `<tbody>${rows.join('')}</tbody></table>`
  );
}

/** Dates break at their hyphens unless they must not: each line would take two. */
function dayCell(date: string): string {
  return `<td class="d">${escape(date.slice(0, 10))}</td>`;
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
