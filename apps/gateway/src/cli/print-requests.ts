/** Prints recorded requests and their sums. */

import type { OperationOutput } from '../operator/operations/operations.js';
import { recordLines } from './print-overview.js';
import { more, namedId, ownersOf, table } from './print.js';

export function printRequests({ data, next_cursor }: OperationOutput<'listRequests'>): string {
  if (data.length === 0 && next_cursor === null) return 'No requests.';
  const requests = table(data, {
    ended: 'ended_at',
    request: 'id',
    key: ({ key_name, key_id }) => namedId(key_name, key_id),
    model: ({ model, endpoint }) => model ?? endpoint,
    '>status': ({ status, count }) =>
      count === 1 ? String(status) : `${String(status)} × ${String(count)}`,
    '>ms': 'duration_ms',
    '>charged (USD)': 'charged_usd',
    error: ({ error_type, error_message, fault, not_recorded_since: since }) =>
      [error_type, error_message, fault, since && `not recorded one by one since ${since}`]
        .filter((part) => part !== null)
        .join(': '),
  });
  return requests + more(next_cursor);
}

export function printRequestSums({
  data,
  from,
  until,
  recorded_from,
}: OperationOutput<'sumRequests'>): string {
  const range = [...recordLines(recorded_from, from), `From ${from} until ${until}`].join('\n');
  if (data.length === 0) return `${range}: no requests.`;
  const sums = table(data, {
    what: (sum) =>
      [
        sum.start,
        ...ownersOf(sum),
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
