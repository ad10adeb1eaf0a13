/** The comparison with the provider's reports as text for a terminal. */

import type { OperationOutput } from '../operator/operations/operations.js';
import { pairs, table } from './print.js';

type Reconciliation = OperationOutput<'reconcileProvider'>;
type Difference = Reconciliation['differences'][number];

export function printProviderReconciliation(report: Reconciliation): string {
  const verdict = report.is_within_tolerance ? 'within the tolerance' : 'NOT within the tolerance';
  const summary = pairs({
    days: `${report.from} until ${report.until}`,
    ...(report.upstreams === null ? {} : { 'upstream accounts': report.upstreams.join(', ') }),
    compared: `${String(report.compared)} items`,
    'provider (USD)': report.provider_usd,
    'ledger (USD)': report.ledger_usd,
    'differences (USD)': report.difference_usd,
    'tolerance (USD)': report.tolerance_usd,
    result: report.differences.length === 0 ? 'the same' : verdict,
  });
  return [...report.differences.map(printDifference), summary].join('\n\n');
}

function printDifference({ day, model, items, requests, has_more }: Difference): string {
  const headings = [
    'item',
    '>provider',
    '>ledger',
    '>provider (USD)',
    '>ledger (USD)',
    '>difference (USD)',
  ];
  const rows = items.map((item) => [
    item.item,
    tokens(item.provider_tokens),
    tokens(item.ledger_tokens),
    item.provider_usd,
    item.ledger_usd,
    item.difference_usd ?? 'no price',
  ]);
  const lines = [`${day} ${model ?? 'no model'}`, table(headings, rows)];
  if (requests.length === 0) return [...lines, 'No request explains this difference.'].join('\n');
  const named = requests.map(({ cause, request_id, key_id, at, detail }) => [
    cause,
    request_id,
    key_id,
    at,
    detail,
  ]);
  lines.push('Requests that may explain it:');
  lines.push(table(['cause', 'request', 'key', 'at', 'detail'], named));
  if (has_more) lines.push('There are more.');
  return lines.join('\n');
}

function tokens(count: number | null): string {
  return count === null ? '' : String(count);
}
