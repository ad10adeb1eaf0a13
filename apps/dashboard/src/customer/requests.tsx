/** The recorded requests of the key, or of all keys that it may see. */

import type { Sent } from '../shared/api/gateway-types.js';
import { Choice } from '../shared/controls/parts.js';
import { Requests } from '../shared/requests/requests.js';
import { useResource } from '../shared/api/resource.js';
import { changeQuery, route } from '../shared/api/router.js';
import { FoundCharge } from './ledger.js';
import { call } from './session.js';
import { KeyName, useKeyNames } from './use-key-names.js';

export function CustomerRequests({ overview }: { readonly overview: Sent<'accountOverview'> }) {
  const seesAccount = overview.may_see_account;
  const of = seesAccount ? 'account' : 'key';
  const names = useKeyNames(overview, seesAccount);
  const prices = useResource('models', (signal) => call('GET /v1/dashboard/prices', { signal }));
  const { key_id: keyId = '' } = route.value.query;
  const keys = new Map([['', 'All keys'], ...names]);
  if (!keys.has(keyId)) keys.set(keyId, keyId);
  return (
    <Requests<Sent<'recordedRequest'>>
      scope={of}
      list={(asked, signal) =>
        call('GET /v1/dashboard/requests', { query: { ...asked, of }, signal })
      }
      sums={(asked, signal) =>
        call('GET /v1/dashboard/requests/summary', { query: { ...asked, of }, signal })
      }
      controls={
        seesAccount && (
          <Choice
            label="Key"
            value={keyId}
            options={[...keys]}
            onValue={(value) => {
              changeQuery({ key_id: value });
            }}
          />
        )
      }
      fields={[]}
      models={(prices.value?.data ?? []).map(({ model }) => model)}
      columns={
        seesAccount
          ? [
              {
                label: 'Key',
                value: ({ key_id: id }) => names.get(id ?? '') ?? id,
                cell: ({ key_id: id }) => <KeyName id={id} names={names} />,
              },
            ]
          : []
      }
      facts={() => []}
      charge={({ id }) => <FoundCharge id={id} of={of} />}
    />
  );
}
