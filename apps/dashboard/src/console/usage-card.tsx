/**
 * The usage of one account, or of all accounts, by one dimension and by time, and the margin of the
 * same time.
 */

import { BreakdownCard } from '../shared/breakdown/breakdown.js';
import { RANGES, rangeOf } from '../shared/plots/range.js';
import { optionOf } from '../shared/controls/parts.js';
import { useResource } from '../shared/api/resource.js';
import { route } from '../shared/api/router.js';
import { Margin } from './margin.js';
import { nameOf } from './names.js';
import { call } from './session.js';

/** By which the usage of one account is divided. */
const OF_ACCOUNT = [
  'model',
  'key',
  'endpoint',
  'upstream',
  'member',
  'group',
  'tag',
  'session',
  'client',
  'error',
] as const;

export function UsageCard({ accountId }: { readonly accountId?: string }) {
  const { query } = route.value;
  const { from, until } = rangeOf(query, optionOf(RANGES, query['range'] ?? '30'), Date.now());
  const range = {
    from: new Date(from).toISOString(),
    until: new Date(until).toISOString(),
    account_id: accountId,
  };
  const sums = useResource(`margin ${JSON.stringify(range)}`, (signal) =>
    call('GET /admin/usage', { query: { ...range, by: 'day' }, signal }),
  );
  return (
    <div class="stack">
      <BreakdownCard
        scope={accountId ?? ''}
        read={(asked, signal) =>
          call('GET /admin/breakdown', { query: { ...asked, account_id: accountId }, signal })
        }
        csv={({ by, from, until, model, key_id }) =>
          call('GET /admin/usage', {
            query: { by, from, until, model, key_id, account_id: accountId, format: 'csv' },
          })
        }
        dimensions={accountId === undefined ? ['account', ...OF_ACCOUNT] : OF_ACCOUNT}
        nameOf={(dimension, value) =>
          dimension === 'account' || dimension === 'key' ? nameOf(value) : undefined
        }
        {...(accountId === undefined ? {} : { filters: { account_id: accountId } })}
      />
      <Margin of={sums} />
    </div>
  );
}
