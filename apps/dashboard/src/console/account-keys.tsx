/** The keys of an account, with the actions on each key. */

import type { Sent } from '../shared/api/gateway-types.js';
import type { KeyRequests } from '../shared/keys/key-actions.js';
import { KeyList } from '../shared/keys/key-list.js';
import { usePages } from '../shared/api/pages.js';
import { EditLimits, ShareKey } from './key-actions.js';
import { call, may } from './session.js';

type Key = Sent<'key'>;

/** @param accountId - The account in which keys are created. */
function keyRequests(accountId: string): KeyRequests {
  return {
    create: ({ name, caps, scope, actionId }) =>
      call('POST /admin/keys', {
        headers: { 'Idempotency-Key': actionId },
        body: { name, scope, ...caps, account_id: accountId },
      }),
    rotate: ({ id }, graceSeconds, actionId) =>
      call('POST /admin/keys/:key_id/rotate', {
        path: { key_id: id },
        headers: { 'Idempotency-Key': actionId },
        body: { grace_seconds: graceSeconds },
      }),
    changeState: (id, action) =>
      call(`POST /admin/keys/:key_id/${action}`, { path: { key_id: id } }),
    changeCaps: (id, caps) =>
      call('PATCH /admin/keys/:key_id', { path: { key_id: id }, body: caps }),
  };
}

export function AccountKeys(props: {
  readonly account: Sent<'account'>;
  readonly changed: () => void;
}) {
  const { account, changed } = props;
  const list = usePages(`keys of ${account.id}`, (after, signal) =>
    call('GET /admin/keys', { query: { account_id: account.id, limit: 100, after }, signal }),
  );
  return (
    <KeyList<Key>
      title="Keys"
      list={list}
      requests={keyRequests(account.id)}
      empty="This account has no key, so nobody can use it."
      about={({ id, hint }) => (
        <span class="when id" title={id}>
          {hint}
        </span>
      )}
      mayAct={may('change')}
      withScope
      more={['limits', 'link']}
      dialogOf={({ action, key }, callbacks) =>
        action === 'limits' ? (
          <EditLimits of={key} {...callbacks} />
        ) : (
          <ShareKey of={key} {...callbacks} />
        )
      }
      changed={changed}
    />
  );
}
