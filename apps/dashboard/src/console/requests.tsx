/** The recorded requests of all accounts, with what the upstream said. */

import type { Sent } from '../shared/gateway-types.js';
import { Id } from '../shared/ids.js';
import { Requests } from '../shared/requests.js';
import { useResource } from '../shared/resource.js';
import { route } from '../shared/router.js';
import { AccountLink } from './account-link.js';
import { RequestShown } from './dispute.js';
import { call } from './session.js';
import { useNames } from './use-names.js';

const FIELDS = [
  { name: 'account_id', label: 'Account id' },
  { name: 'key_id', label: 'Key id' },
] as const;

export function OperatorRequests() {
  const { account_id: accountId, upstream } = route.value.query;
  const models = useResource('models', (signal) => call('GET /admin/models', { signal }));
  const names = useNames();
  return (
    <Requests<Sent<'operatorRecordedRequest'>>
      scope={`${accountId ?? ''} ${upstream ?? ''}`}
      list={(asked, signal) =>
        call('GET /admin/requests', {
          query: { ...asked, account_id: accountId, upstream },
          signal,
        })
      }
      sums={(asked, signal) =>
        call('GET /admin/requests/summary', {
          query: { ...asked, account_id: accountId, upstream },
          signal,
        })
      }
      fields={FIELDS}
      models={(models.value?.data ?? []).map(({ id }) => id)}
      columns={['Account', 'Key', 'Upstream']}
      cells={(request) => [
        <AccountLink id={request.account_id} name={names.account.get(request.account_id ?? '')} />,
        request.key_id !== null && (names.key.get(request.key_id) ?? <Id of={request.key_id} />),
        request.upstream_account,
      ]}
      facts={(request) => [
        ['Upstream account', request.upstream_account],
        [
          'Status of the upstream',
          request.upstream_status === null ? null : String(request.upstream_status),
        ],
        ['What went wrong', request.fault],
      ]}
      charge={({ id }) => <RequestShown id={id} />}
    />
  );
}
