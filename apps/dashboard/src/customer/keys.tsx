/** The keys of the account, for a key that may manage them. */

import type { Sent } from '../shared/api/gateway-types.js';
import type { KeyRequests } from '../shared/keys/key-actions.js';
import { KeyList } from '../shared/keys/key-list.js';
import { usePages } from '../shared/api/pages.js';
import { call, replacingKey } from './session.js';

const requests: KeyRequests = {
  create: ({ name, caps, actionId }) =>
    call('POST /v1/dashboard/keys', {
      headers: { 'Idempotency-Key': actionId },
      body: { name, ...caps },
    }),
  rotate: ({ id }, graceSeconds, actionId) =>
    replacingKey(
      id,
      () =>
        call('POST /v1/dashboard/keys/:key_id/rotate', {
          path: { key_id: id },
          headers: { 'Idempotency-Key': actionId },
          body: { grace_seconds: graceSeconds },
        }),
      ({ api_key: credential }) => credential,
    ),
  changeState: (id, action) =>
    call(`POST /v1/dashboard/keys/:key_id/${action}`, { path: { key_id: id } }),
  changeCaps: (id, caps) =>
    call('PATCH /v1/dashboard/keys/:key_id', { path: { key_id: id }, body: caps }),
};

/** @param props.ownId - The key with which the person signed in, which cannot change itself. */
export function Keys({ ownId }: { readonly ownId: string }) {
  const list = usePages('keys', (after, signal) =>
    call('GET /v1/dashboard/keys', { query: { limit: 100, after }, signal }),
  );
  return (
    <KeyList<Sent<'holderKey'>>
      title="Keys of this account"
      list={list}
      requests={requests}
      empty="There are no keys."
      about={({ hint }) => <span class="when id">{hint}</span>}
      ownId={ownId}
      mayAct
    />
  );
}
