/** The recorded requests of all accounts, with what the upstream said. */

import type { Sent } from '../shared/api/gateway-types.js';
import { Requests } from '../shared/requests/requests.js';
import { useResource } from '../shared/api/resource.js';
import { route } from '../shared/api/router.js';
import { AccountLink, KeyName, nameOrId } from './account-link.js';
import { RequestShown } from './dispute.js';
import { namedField } from './names.js';
import { call } from './session.js';

export function OperatorRequests() {
  const { account_id: accountId, upstream } = route.value.query;
  const models = useResource('models', (signal) => call('GET /admin/models', { signal }));
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
      fields={[namedField('account_id', 'Account'), namedField('key_id', 'Key')]}
      models={(models.value?.data ?? []).map(({ id }) => id)}
      columns={[
        {
          label: 'Account',
          value: (request) => nameOrId(request.account_id),
          cell: (request) => <AccountLink id={request.account_id} />,
        },
        {
          label: 'Key',
          value: (request) => nameOrId(request.key_id),
          cell: (request) => request.key_id !== null && <KeyName id={request.key_id} />,
        },
        { label: 'Upstream', value: (request) => request.upstream_account },
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
