/** Prints recorded requests and their sums. */

import type { OperationOutput } from '../operator/operations/operations.js';
import { more, table } from './print.js';

export function printRequests({ data, next_cursor }: OperationOutput<'listRequests'>): string {
  if (data.length === 0 && next_cursor === null) return 'No requests.';
  const rows = data.map((request) => [
    request.ended_at,
    request.id,
    request.key_id ?? '',
    request.model ?? request.endpoint,
    request.count === 1
      ? String(request.status)
      : `${String(request.status)} × ${String(request.count)}`,
    String(request.duration_ms),
    request.charged_usd ?? '',
    [request.error_type, request.error_message, request.fault]
      .filter((part) => part !== null)
      .join(': '),
  ]);
  const head = ['ended', 'request', 'key', 'model', '>status', '>ms', '>charged (USD)', 'error'];
  return table(head, rows) + more(next_cursor);
}

export function printRequestSums({ data, from, until }: OperationOutput<'sumRequests'>): string {
  const range = `From ${from} until ${until}`;
  if (data.length === 0) return `${range}: no requests.`;
  const rows = data.map((sum) => [
    [
      sum.start,
      sum.account_id,
      sum.key_id,
      sum.model,
      sum.endpoint,
      sum.upstream_account,
      sum.status?.toString(),
      sum.error_type,
    ]
      .filter((part) => part !== undefined && part !== null)
      .join('  '),
    String(sum.requests),
    String(sum.failed),
    String(sum.mean_duration_ms),
    sum.charged_usd,
  ]);
  return `${range}:\n${table(['what', '>requests', '>failed', '>mean ms', '>charged (USD)'], rows)}`;
}
