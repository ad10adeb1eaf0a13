/** What the keys used, by one dimension and by time. */

import { BreakdownCard } from '../shared/breakdown/breakdown.js';
import type { Sent } from '../shared/api/gateway-types.js';
import { Segments, optionOf } from '../shared/controls/parts.js';
import { changeQuery, route } from '../shared/api/router.js';
import { DAY_MS, utcDay } from '../shared/text/times.js';
import { OWNERS } from './ledger.js';
import { call } from './session.js';
import { useKeyNames } from './use-key-names.js';

export function Usage({ overview }: { readonly overview: Sent<'accountOverview'> }) {
  const seesAccount = overview.may_see_account;
  const names = useKeyNames(overview, seesAccount);
  const chosen = optionOf(OWNERS, route.value.query['of'] ?? 'account');
  const of = seesAccount ? chosen : 'key';
  return (
    <BreakdownCard
      scope={of}
      read={(asked, signal) =>
        call('GET /v1/dashboard/breakdown', {
          // A margin is the operator's.
          query: { ...asked, sort: asked.sort === 'margin' ? 'charged' : asked.sort, of },
          signal,
        })
      }
      csv={({ by, from, until, model, key_id }) =>
        call('GET /v1/dashboard/usage/summary', {
          query: {
            by,
            from: utcDay(Date.parse(from)),
            until: utcDay(Date.parse(until) + DAY_MS - 1),
            model,
            key_id,
            of,
            format: 'csv',
          },
        })
      }
      savesDays
      dimensions={
        of === 'account'
          ? ['model', 'key', 'endpoint', 'member', 'group', 'tag', 'session', 'client', 'error']
          : ['model', 'endpoint', 'session', 'tag', 'client', 'error']
      }
      nameOf={(dimension, value) => (dimension === 'key' ? names.get(value) : undefined)}
      {...(of === 'key' ? { filters: { key_id: overview.key.id } } : {})}
      controls={
        seesAccount && (
          <Segments
            label="Whose usage"
            value={of}
            options={OWNERS}
            onValue={(value) => {
              changeQuery({ of: value });
            }}
          />
        )
      }
    />
  );
}
