/** The comparison with the provider's reports as text for a terminal. */

import type { OperationOutput } from '../operator/operations/operations.js';
import type { Screen } from './screen.js';
import { pairs, table } from './table.js';

type Reconciliation = OperationOutput<'reconcileProvider'>;
type Difference = Reconciliation['differences'][number];

export function printProviderReconciliation(report: Reconciliation, screen: Screen): string {
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
  const differences = report.differences.map((each) => printDifference(each, screen));
  return [...differences, summary].join('\n\n');
}

function printDifference(
  { day, model, items, requests, has_more }: Difference,
  screen: Screen,
): string {
  const columnsOfItems = {
    item: 'item',
    '>provider': 'provider_tokens',
    '>ledger': 'ledger_tokens',
    '>provider (USD)': 'provider_usd',
    '>ledger (USD)': 'ledger_usd',
    '>difference (USD)': ({ difference_usd }: (typeof items)[number]) =>
      difference_usd ?? 'no price',
  } as const;
  const compared = table(items, columnsOfItems, {
    screen,
    leave: ['provider', 'ledger', 'provider (USD)', 'ledger (USD)'],
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
  lines.push(table(requests, columns, { screen, leave: ['detail', 'key', 'at'] }));
  if (has_more) lines.push('There are more.');
  return lines.join('\n');
}
