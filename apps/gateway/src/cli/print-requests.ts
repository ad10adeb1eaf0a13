/** Prints recorded requests and their sums. */

import type { OperationOutput } from '../operator/operations/operations.js';
import { more, table } from './print.js';

export function printRequests({ data, next_cursor }: OperationOutput<'listRequests'>): string {
  if (data.length === 0 && next_cursor === null) return 'No requests.';
  const requests = table(data, {
    ended: 'ended_at',
    request: 'id',
    key: 'key_id',
    model: ({ model, endpoint }) => model ?? endpoint,
    '>status': ({ status, count }) =>
      count === 1 ? String(status) : `${String(status)} × ${String(count)}`,
    '>ms': 'duration_ms',
    '>charged (USD)': 'charged_usd',
    error: ({ error_type, error_message, fault }) =>
      [error_type, error_message, fault].filter((part) => part !== null).join(': '),
  });
  return requests + more(next_cursor);
}

export function printRequestSums({ data, from, until }: OperationOutput<'sumRequests'>): string {
  const range = `From ${from} until ${until}`;
  if (data.length === 0) return `${range}: no requests.`;
  const sums = table(data, {
    what: (sum) =>
      [
        sum.start,
        sum.account_id,
        sum.key_id,
        sum.model,
        sum.endpoint,
        sum.upstream_account,
        sum.status,
        sum.error_type,
        sum.client,
        sum.session,
        sum.tag,
      ]
        .filter((part) => part !== undefined && part !== null)
        .join('  '),
    '>requests': 'requests',
    '>failed': 'failed',
    '>mean ms': 'mean_duration_ms',
    '>charged (USD)': 'charged_usd',
  });
  return `${range}:\n${sums}`;
}
