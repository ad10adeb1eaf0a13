/** The usage of one account, or of all accounts, by one dimension and by time. */

import { BreakdownCard } from '../shared/breakdown.js';
import { call } from './session.js';
import { useNames } from './use-names.js';

export function UsageCard({ accountId }: { readonly accountId?: string }) {
  const names = useNames();
  return (
    <BreakdownCard
      scope={accountId ?? ''}
      read={(asked, signal) =>
        call('GET /admin/breakdown', { query: { ...asked, account_id: accountId }, signal })
      }
      csv={({ from, until, by }) =>
        call('GET /admin/usage', {
          query: {
            by,
            from: `${from}T00:00:00Z`,
            until: `${until}T00:00:00Z`,
            account_id: accountId,
            format: 'csv',
          },
        })
      }
      dimensions={
        accountId === undefined
          ? ['model', 'account', 'key', 'endpoint', 'upstream', 'session', 'client', 'error']
          : ['model', 'key', 'endpoint', 'upstream', 'session', 'client', 'error']
      }
      nameOf={(dimension, value) =>
        dimension === 'account' || dimension === 'key' ? names[dimension].get(value) : undefined
      }
      {...(accountId === undefined ? {} : { filters: { account_id: accountId } })}
    />
  );
}
