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
    'charged (USD)': report.charged_usd,
    'charged, without the bill (USD)': report.margin_usd,
    ...(report.days_without_costs === 0
      ? {}
      : { 'days compared by charges': String(report.days_without_costs) }),
    ...(report.unknown_models.length === 0
      ? {}
      : { 'models without known costs': report.unknown_models.join(', ') }),
    'differences (USD)': report.difference_usd,
    'tolerance (USD)': report.tolerance_usd,
    result: report.differences.length === 0 ? 'the same' : verdict,
  });
  return [...report.differences.map(printDifference), summary].join('\n\n');
}

function printDifference({ day, model, items, requests, has_more }: Difference): string {
  const compared = table(items, {
    item: 'item',
    '>provider': 'provider_tokens',
    '>ledger': 'ledger_tokens',
    '>provider (USD)': 'provider_usd',
    '>ledger (USD)': 'ledger_usd',
    '>difference (USD)': ({ difference_usd }) => difference_usd ?? 'no price',
  });
  const lines = [`${day} ${model ?? 'no model'}`, compared];
  if (requests.length === 0) return [...lines, 'No request explains this difference.'].join('\n');
  lines.push('Requests that may explain it:');
  const columns = {
    cause: 'cause',
    request: 'request_id',
    key: 'key_id',
    at: 'at',
    detail: 'detail',
  } as const;
  lines.push(table(requests, columns));
  if (has_more) lines.push('There are more.');
  return lines.join('\n');
}
