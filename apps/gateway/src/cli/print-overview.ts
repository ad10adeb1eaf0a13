/** Overviews as text: the figures of today, the books of a month, audits of a running gateway. */

import { formatUsd, parseUsd } from '@gateway/billing';
import type { OperationOutput } from '../operator/operations/operations.js';
import { costColumns, pairs, table } from './print.js';

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

/** One page. The figures in all end the last one. */
export function printBooks({ month, total, data, has_more }: OperationOutput<'showBooks'>): string {
  const rows = data.map((account) => ({
    ...account,
    name: account.external_id ?? (account.name || account.account_id),
  }));
  const shown = has_more ? rows : [...rows, { ...total, name: 'in all' }];
  return table(shown, {
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
