/** Overviews as text: the figures of today, the books of a month, audits of a running gateway. */

import { formatUsd, parseUsd } from '@gateway/billing';
import type { OperationOutput } from '../operator/operations/operations.js';
import { pairs, table } from './print.js';

export function printToday({ day, spend, ledger, gateway }: OperationOutput<'showToday'>): string {
  const rows = (
    [
      ['today', spend.today],
      ['7 days', spend.last_7_days],
      ['30 days', spend.last_30_days],
    ] as const
  ).map(([range, sums]) => [range, String(sums.requests), sums.charged_usd, sums.written_off_usd]);
  const requests = gateway?.requests.map(
    ({ status, requests: count }) => `${String(count)} × ${status}`,
  );
  return [
    table([`${day} (UTC)`, '>requests', '>charged (USD)', '>written off (USD)'], rows),
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

type Figures = OperationOutput<'showBooks'>['total'];

/** One page. The figures in all end the last one. */
export function printBooks({ month, total, data, has_more }: OperationOutput<'showBooks'>): string {
  const rowOf = (name: string, figures: Figures) => [
    name,
    figures.opening_balance_usd,
    figures.paid_usd,
    figures.promotional_usd,
    formatUsd(Object.values(figures.adjusted_usd).reduce((sum, usd) => sum + parseUsd(usd), 0n)),
    figures.expired_usd,
    figures.charged_usd,
    figures.closing_balance_usd,
  ];
  const amounts = ['opening', 'paid', 'promotional', 'adjusted', 'expired', 'charged', 'closing'];
  const headings = [`${month}, in USD`, ...amounts.map((name) => `>${name}`)];
  const rows = data.map((account) =>
    rowOf(account.external_id ?? (account.name || account.account_id), account),
  );
  return table(headings, has_more ? rows : [...rows, rowOf('in all', total)]);
}

export function printAudits({ data }: OperationOutput<'listAudits'>): string {
  if (data.length === 0) return 'No audits since the gateway started.';
  const rows = data.map((job) => [
    job.id,
    job.started_at,
    job.state,
    String(job.entries),
    job.report === null ? (job.reason ?? '') : job.report.is_sound ? 'sound' : 'NOT sound',
  ]);
  return table(['audit', 'started', 'state', '>entries', 'outcome'], rows);
}
