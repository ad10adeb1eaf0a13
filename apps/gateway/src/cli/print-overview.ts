/**
 * Overviews as text: spend by a dimension, the figures of today, the books of a month, audits of a
 * running gateway.
 */

import { formatUsd, parseUsd } from '@gateway/billing';
import { spenderDimensionOf } from '../endpoints/spending.js';
import type { OperationOutput } from '../operator/operations/operations.js';
import { BARS, barColumn, costColumns, named } from './print.js';
import type { Screen } from './screen.js';
import { shortRange } from './short-texts.js';
import { pairs, table } from './table.js';

export function printToday(
  { day, spend, ledger, gateway }: OperationOutput<'showToday'>,
  screen: Screen,
): string {
  const sums = [
    { range: 'today', ...spend.today },
    { range: '7 days', ...spend.last_7_days },
    { range: '30 days', ...spend.last_30_days },
  ];
  const requests = gateway?.requests.map(
    ({ status, requests: count }) => `${String(count)} × ${status}`,
  );
  return [
    table(
      sums,
      {
        [`${day} (UTC)`]: 'range',
        '>requests': 'requests',
        '>charged (USD)': 'charged_usd',
        '>written off (USD)': 'written_off_usd',
        ...costColumns(sums),
      },
      { screen, leave: ['written off (USD)', 'cost (USD)', 'requests'] },
    ),
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

/** Groups of which the ledger knows nothing: the record of requests has all of their figures. */
const ONLY_RECORDED: ReadonlySet<string> = new Set(['client', 'session', 'error']);

const IN_ALL = 'in all';

export function printBreakdown(breakdown: OperationOutput<'breakDown'>, screen: Screen): string {
  const { by, from, until, before, groups, total, total_before } = breakdown;
  const { recorded_from, named_from } = breakdown;
  const inLedger = !ONLY_RECORDED.has(by);
  const rest = inLedger ? null : breakdown.not_recorded;
  const isKnownBefore = inLedger || (recorded_from !== null && recorded_from <= before.from);
  const rows = [
    ...groups.map(({ value, name, others, total: sum, before: earlier }) => ({
      ...sum,
      group:
        value === null
          ? { text: others > 0 ? `${String(others)} others` : 'none' }
          : named(name, value),
      earlier: isKnownBefore ? earlier.charged_usd : 'not recorded',
    })),
    ...(rest === null
      ? []
      : [
          {
            ...rest.total,
            group: { text: 'not recorded' },
            earlier: isKnownBefore ? rest.before.charged_usd : 'not recorded',
          },
        ]),
    {
      ...total,
      group: { text: IN_ALL },
      earlier: by === 'error' && !isKnownBefore ? 'not recorded' : total_before.charged_usd,
    },
  ];
  const made = table(
    rows,
    {
      [by]: ({ group }) => group,
      '>charged requests': 'charges',
      '>failed': (row) =>
        'failed' in row ? failedText(row.failed, row.requests, row.charges) : undefined,
      '>mean ms': (row) => ('failed' in row ? row.mean_duration_ms : undefined),
      '>tokens in/out': (row) => `${String(row.input_tokens)}/${String(row.output_tokens)}`,
      '>charged (USD)': 'charged_usd',
      ...costColumns(rows),
      '>before (USD)': 'earlier',
      // Groups are compared with each other, not with their sum.
      ...barColumn(rows, (row) => (row.group.text === IN_ALL ? '0' : row.charged_usd), screen),
    },
    {
      screen,
      leave: [
        'mean ms',
        'tokens in/out',
        'cost (USD)',
        'charged requests',
        'failed',
        'before (USD)',
        BARS,
        'margin (USD)',
      ],
    },
  );
  const range =
    screen.width === undefined
      ? `From ${from} until ${until}; before: from ${before.from} until ${before.until}`
      : `${shortRange(from, until)}; before:\n${shortRange(before.from, before.until)}`;
  const lines =
    named_from !== null || spenderDimensionOf(by) !== undefined
      ? nameLines(named_from, from)
      : recordLines(recorded_from, from);
  return [range, ...lines, made].join('\n');
}

/** Says since when charges name members, groups, tags and runs. */
function nameLines(namedFrom: string | null, from: string): readonly string[] {
  if (namedFrom === null) return ['No charge names its spender yet.'];
  return namedFrom <= from ? [] : [`Charges name their spender since ${namedFrom}.`];
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
export function printBooks(
  { month, total, data, closing, has_more }: OperationOutput<'showBooks'>,
  screen: Screen,
): string {
  const rows = data.map((account) => ({
    ...account,
    name: account.external_id ?? (account.name || account.account_id),
  }));
  const shown = has_more ? rows : [...rows, { ...total, name: 'in all' }];
  const text = table(
    shown.map((row) => ({ ...row, adjustments_usd: sumOf(row.adjusted_usd) })),
    {
      [`${month}, in USD`]: 'name',
      '>opening': 'opening_balance_usd',
      '>paid': 'paid_usd',
      '>promotional': 'promotional_usd',
      '>adjusted': 'adjustments_usd',
      '>expired': 'expired_usd',
      '>charged': 'charged_usd',
      '>closing': 'closing_balance_usd',
      ...costColumns(shown),
    },
    {
      screen,
      leave: [
        'cost (USD)',
        'expired',
        'adjusted',
        'promotional',
        'margin (USD)',
        'paid',
        'opening',
      ],
    },
  );
  if (has_more) return text;
  const state = closing === null ? 'not closed' : `closed ${closing.closed_at}`;
  return `${text}\n${month}, in all (${state}):\n${printByKind(total)}`;
}

function sumOf(amounts: Readonly<Record<string, string>>): string {
  return formatUsd(Object.values(amounts).reduce((sum, usd) => sum + parseUsd(usd), 0n));
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

export function printVerification(of: OperationOutput<'verifyBooks'>): string {
  const { month, is_as_closed: isAsClosed, closed_digest: closed, found_digest: found } = of;
  return isAsClosed
    ? `${month}: each account has the figures with which the month was closed (${closed}).`
    : `${month}: NOT as closed. Closed with ${closed}, now ${found}. "farthing ledger audit" says more.`;
}

export function printAudits({ data }: OperationOutput<'listAudits'>, screen: Screen): string {
  if (data.length === 0) return 'No audits since the gateway started.';
  return table(
    data,
    {
      audit: 'id',
      started: 'started_at',
      state: 'state',
      '>entries': 'entries',
      outcome: ({ report, reason }) =>
        report === null ? reason : report.is_sound ? 'sound' : 'NOT sound',
    },
    { screen, leave: ['entries', 'started'] },
  );
}
