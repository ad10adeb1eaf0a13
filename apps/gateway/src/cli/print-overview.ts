/**
 * Overviews as text: what needs attention, spend by a dimension, the figures of today, the books of
 * a month, audits of a running gateway.
 */

import { formatUsd, parseUsd } from '@gateway/billing';
import type { OperationOutput } from '../operator/operations/operations.js';
import { costColumns, namedId, pairs, table } from './print.js';
import type { Columns } from './print.js';

export function printToday({ day, spend, ledger, gateway }: OperationOutput<'showToday'>): string {
  const sums = [
    { range: 'today', ...spend.today },
    { range: '7 days', ...spend.last_7_days },
    { range: '30 days', ...spend.last_30_days },
  ];
  const requests = gateway?.requests.map(
    ({ status, requests: count }) => `${String(count)} × ${status}`,
  );
  return [
    table(sums, {
      [`${day} (UTC)`]: 'range',
      '>requests': 'requests',
      '>charged (USD)': 'charged_usd',
      '>written off (USD)': 'written_off_usd',
      ...costColumns(sums),
    }),
    pairs({
      accounts: String(ledger.accounts),
      'unspent (USD)': ledger.unspent_usd,
      'overdrawn (USD)': ledger.overdrawn_usd,
      'set aside': String(ledger.quarantined),
      conflicts: String(ledger.conflicts),
      'orphaned holds': String(ledger.orphaned_holds),
      'undelivered events': String(ledger.undelivered_events),
      'last seal': ledger.last_seal_at ?? 'none yet',
      ...(gateway === null || requests === undefined
        ? { requests: 'only a running gateway counts them: set ADMIN_URL' }
        : {
            'requests since': gateway.since,
            requests: requests.length === 0 ? 'none' : requests.join(', '),
            'upstream refused the account': String(gateway.upstream.account_refused),
            'upstream credentials': gateway.upstream.credentials
              .map(({ account, outcome }) => (account === null ? outcome : `${account} ${outcome}`))
              .join(', '),
          }),
    }),
  ].join('\n');
}

export function printHome(home: OperationOutput<'showHome'>): string {
  const { spend, last_hour, running_out, unusual, losing, new_accounts } = home;
  const sums = Object.entries(spend).map(([range, sum]) => ({
    range: range.replaceAll('_', ' '),
    ...sum,
  }));
  const nameOf = ({ name, account_id }: { readonly name: string; readonly account_id: string }) =>
    namedId(name, account_id);
  return [
    table(sums, {
      'days and months in UTC': 'range',
      '>requests': 'requests',
      '>charged (USD)': 'charged_usd',
      ...costColumns(sums),
    }),
    `Since ${last_hour.from}: ${countOf(last_hour)}.`,
    ...last_hour.upstreams.map(
      (each) =>
        `  upstream ${each.upstream_account ?? ''}: ${countOf(each)}` +
        (each.mean_first_byte_ms === null
          ? ''
          : `, first byte after ${String(each.mean_first_byte_ms)} ms`),
    ),
    ...section('Run out within three days', running_out, {
      account: nameOf,
      '>balance (USD)': 'balance_usd',
      until: 'lasts_until',
    }),
    ...section('Unusual', unusual, {
      account: nameOf,
      '>last day (USD)': 'charged_usd',
      '>usual (USD)': 'usual_usd',
      '>failed in the hour': ({ failed, requests }) => `${String(failed)} of ${String(requests)}`,
    }),
    ...section('Sold below cost this month, by account', losing.accounts, {
      account: nameOf,
      '>margin (USD)': 'margin_usd',
    }),
    ...section('Sold below cost this month, by model', losing.models, {
      model: 'model',
      '>margin (USD)': 'margin_usd',
    }),
    ...section('New accounts', new_accounts, {
      account: nameOf,
      created: 'created_at',
      '>balance (USD)': 'balance_usd',
    }),
    `Version ${home.version}`,
  ].join('\n');
}

function countOf(sum: { readonly requests: number; readonly failed: number }): string {
  return `${String(sum.requests)} requests, ${String(sum.failed)} failed`;
}

/** A table with its heading; nothing without rows. */
function section<Row>(heading: string, rows: readonly Row[], columns: Columns<Row>): string[] {
  return rows.length === 0 ? [] : [`${heading}:`, table(rows, columns)];
}

/** What the ledger knows of; the record of requests has the figures of all others. */
const IN_LEDGER: ReadonlySet<string> = new Set(['model', 'key', 'endpoint', 'account', 'upstream']);

export function printBreakdown(breakdown: OperationOutput<'breakDown'>): string {
  const { by, from, until, before, groups, total, total_before, recorded_from } = breakdown;
  const rest = IN_LEDGER.has(by) ? null : breakdown.not_recorded;
  const isKnownBefore =
    IN_LEDGER.has(by) || (recorded_from !== null && recorded_from <= before.from);
  const rows = [
    ...groups.map(({ value, name, others, total: sum, before: earlier }) => ({
      ...sum,
      group: namedId(name, value) ?? (others > 0 ? `${String(others)} others` : 'none'),
      earlier: isKnownBefore ? earlier.charged_usd : 'not recorded',
    })),
    ...(rest === null
      ? []
      : [
          {
            ...rest.total,
            group: 'not recorded',
            earlier: isKnownBefore ? rest.before.charged_usd : 'not recorded',
          },
        ]),
    {
      ...total,
      group: 'in all',
      earlier: by === 'error' && !isKnownBefore ? 'not recorded' : total_before.charged_usd,
    },
  ];
  const made = table(rows, {
    [by]: 'group',
    '>charged requests': 'charges',
    '>failed': (row) =>
      'failed' in row ? failedText(row.failed, row.requests, row.charges) : undefined,
    '>mean ms': (row) => ('failed' in row ? row.mean_duration_ms : undefined),
    '>tokens in/out': (row) => `${String(row.input_tokens)}/${String(row.output_tokens)}`,
    '>charged (USD)': 'charged_usd',
    ...costColumns(rows),
    '>before (USD)': 'earlier',
  });
  const range = `From ${from} until ${until}; before: from ${before.from} until ${before.until}`;
  return [range, ...recordLines(recorded_from, from), made].join('\n');
}

/** Says what the record lacks of a time. */
export function recordLines(recordedFrom: string | null, from: string): readonly string[] {
  if (recordedFrom === null) return ['The record of requests is empty.'];
  return recordedFrom <= from ? [] : [`Requests are recorded since ${recordedFrom}.`];
}

/** Of the requests that are recorded; without a word about others if the record has all. */
function failedText(failed: number, requests: number, charges: number): string {
  if (requests === 0 && charges > 0) return 'not recorded';
  return `${String(failed)} of ${String(requests)}${requests < charges ? ' recorded' : ''}`;
}

/** One page. The figures in all end the last one. */
export function printBooks({
  month,
  total,
  data,
  closing,
  has_more,
}: OperationOutput<'showBooks'>): string {
  const rows = data.map((account) => ({
    ...account,
    name: account.external_id ?? (account.name || account.account_id),
  }));
  const shown = has_more ? rows : [...rows, { ...total, name: 'in all' }];
  const text = table(shown, {
    [`${month}, in USD`]: 'name',
    '>opening': 'opening_balance_usd',
    '>paid': 'paid_usd',
    '>promotional': 'promotional_usd',
    '>adjusted': ({ adjusted_usd }) =>
      formatUsd(Object.values(adjusted_usd).reduce((sum, usd) => sum + parseUsd(usd), 0n)),
    '>expired': 'expired_usd',
    '>charged': 'charged_usd',
    '>closing': 'closing_balance_usd',
    ...costColumns(shown),
  });
  if (has_more) return text;
  const state = closing === null ? 'not closed' : `closed ${closing.closed_at}`;
  return `${text}\n${month}, in all (${state}):\n${printByKind(total)}`;
}

/** What a closing needs: opening to closing, by kind of money. */
function printByKind({ by_kind: of }: OperationOutput<'showBooks'>['total']): string {
  const held = (money: typeof of.opening) =>
    money === null
      ? 'unknown before the entries "opening"'
      : `${money.paid_usd} paid, ${money.given_usd} given`;
  return pairs({
    opening: held(of.opening),
    revenue: of.revenue_usd ?? 'unknown',
    'gifts given, used, expired': [
      of.gifts_given_usd,
      of.gifts_used_usd ?? 'unknown',
      of.gifts_expired_usd,
    ].join(', '),
    breakage: of.breakage_usd,
    received: of.received_usd,
    refunded: of.refunded_usd,
    corrected: of.corrected_usd,
    'bad debt': of.bad_debt_usd,
    'tax owed': of.tax_usd,
    fees: of.fees_usd,
    result: of.result_usd ?? '',
    closing: held(of.closing),
  });
}

export function printClosedBooks(books: OperationOutput<'closeBooks'>): string {
  const { month, zone, closing, replayed, total, statements, reversed_earlier } = books;
  const facts = pairs({
    month: `${month} (${zone})`,
    closed: `${closing.closed_at} by ${closing.closed_by}`,
    hash: closing.hash,
    sealed: closing.sealed ?? '',
    statements: String(statements),
  });
  const reversed = reversed_earlier.map(
    ({ entry, account_id: id, amount_usd: usd, reverses }) =>
      `${entry} of ${id} reverses ${reverses} of an earlier month: ${usd} USD`,
  );
  return [
    replayed ? 'Closed before: nothing changed.' : 'Closed.',
    facts,
    printByKind(total),
    ...reversed,
  ].join('\n');
}

export function printAudits({ data }: OperationOutput<'listAudits'>): string {
  if (data.length === 0) return 'No audits since the gateway started.';
  return table(data, {
    audit: 'id',
    started: 'started_at',
    state: 'state',
    '>entries': 'entries',
    outcome: ({ report, reason }) =>
      report === null ? reason : report.is_sound ? 'sound' : 'NOT sound',
  });
}
