/** Prints recorded requests and their sums. */

import type { OperationOutput } from '../operator/operations/operations.js';
import { recordLines } from './print-overview.js';
import { named, ownersOf, richLine } from './print.js';
import type { Screen } from './screen.js';
import { shortRange } from './short-texts.js';
import { more, table } from './table.js';
import type { Columns } from './table.js';

export function printRequests(
  { data, next_cursor }: OperationOutput<'listRequests'>,
  screen: Screen,
): string {
  if (data.length === 0 && next_cursor === null) return 'No requests.';
  const columns: Columns<(typeof data)[number]> = {
    ended: 'ended_at',
    request: 'id',
    key: ({ key_name, key_id }) => (key_id === null ? undefined : named(key_name, key_id)),
    model: ({ model, endpoint }) => model ?? endpoint,
    '>status': ({ status, count }) => ({
      text: count === 1 ? String(status) : `${String(status)} × ${String(count)}`,
      isBad: status >= 400,
    }),
    '>ms': 'duration_ms',
    '>charged (USD)': 'charged_usd',
    error: ({ error_type, error_message, fault, not_recorded_since: since }) => ({
      text: [error_type, error_message, fault, since && `not recorded one by one since ${since}`]
        .filter((part) => part !== null)
        .join(': '),
      short: error_type ?? fault ?? '',
    }),
  };
  const leave = ['ms', 'request', 'model', 'error', 'ended'];
  const requests = table(data, columns, { screen, leave });
  return requests + more(next_cursor);
}

export function printRequestSums(
  { data, from, until, recorded_from }: OperationOutput<'sumRequests'>,
  screen: Screen,
): string {
  const ends = screen.width === undefined ? `From ${from} until ${until}` : shortRange(from, until);
  const range = [...recordLines(recorded_from, from), ends].join('\n');
  if (data.length === 0) return `${range}: no requests.`;
  const columns: Columns<(typeof data)[number]> = {
    what: (sum) =>
      richLine([
        sum.start,
        ...ownersOf(sum),
        sum.model,
        sum.endpoint,
        sum.upstream_account,
        sum.status === undefined ? undefined : String(sum.status),
        sum.error_type,
        sum.client,
        sum.session,
        sum.tag,
      ]),
    '>requests': 'requests',
    '>failed': 'failed',
    '>mean ms': 'mean_duration_ms',
    '>charged (USD)': 'charged_usd',
  };
  const sums = table(data, columns, { screen, leave: ['mean ms', 'failed'] });
  return `${range}:\n${sums}`;
}
