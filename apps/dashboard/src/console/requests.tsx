/** The recorded requests of all accounts, with what the upstream said. */

import type { Sent } from '../shared/gateway-types.js';
import { Id } from '../shared/ids.js';
import { Requests } from '../shared/requests.js';
import { useResource } from '../shared/resource.js';
import { route } from '../shared/router.js';
import { AccountLink } from './account-link.js';
import { RequestShown } from './dispute.js';
import { call } from './session.js';

/** Names of accounts and keys beyond these are not known; their ids are shown. */
const NAMES = 1_000;

const FIELDS = [
  { name: 'account_id', label: 'Account id' },
  { name: 'key_id', label: 'Key id' },
] as const;

export function OperatorRequests() {
  const accountId = route.value.query['account_id'];
  const models = useResource('models', (signal) => call('GET /admin/models', { signal }));
  const once = { isLive: false };
  const accounts = useResource(
    'names of accounts',
    (signal) => call('GET /admin/accounts', { query: { limit: NAMES }, signal }),
    once,
  );
  const keys = useResource(
    'names of keys',
    (signal) => call('GET /admin/keys', { query: { limit: NAMES }, signal }),
    once,
  );
  const accountNames = new Map(accounts.value?.data.map(({ id, name }) => [id, name]));
  const keyNames = new Map(keys.value?.data.map(({ id, name }) => [id, name]));
  return (
    <Requests<Sent<'operatorRecordedRequest'>>
      scope={accountId ?? ''}
      list={(asked, signal) =>
        call('GET /admin/requests', { query: { ...asked, account_id: accountId }, signal })
      }
      sums={(asked, signal) =>
        call('GET /admin/requests/summary', { query: { ...asked, account_id: accountId }, signal })
      }
      fields={FIELDS}
      models={(models.value?.data ?? []).map(({ id }) => id)}
      columns={['Account', 'Key', 'Upstream']}
      cells={(request) => [
        <AccountLink id={request.account_id} name={accountNames.get(request.account_id ?? '')} />,
        request.key_id !== null && (keyNames.get(request.key_id) ?? <Id of={request.key_id} />),
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
