/** The keys of the account, for a key that may manage them. */

import { useState } from 'preact/hooks';
import type { Sent } from '../shared/gateway-types.js';
import { usePages } from '../shared/pages.js';
import { CreateKey } from '../shared/key-actions.js';
import type { KeyRequests } from '../shared/key-actions.js';
import { KEY_COLUMNS, KeyDialog, KeyRow } from '../shared/key-list.js';
import type { ActingOn } from '../shared/key-list.js';
import { PagedTable } from '../shared/paged-table.js';
import { call, isOwnHint, replaceKey } from './session.js';

const requests: KeyRequests = {
  create: ({ name, caps, actionId }) =>
    call('POST /v1/dashboard/keys', {
      headers: { 'Idempotency-Key': actionId },
      body: { name, ...caps },
    }),
  rotate: async ({ id, hint }, graceSeconds, actionId) => {
    const rotated = await call('POST /v1/dashboard/keys/:key_id/rotate', {
      path: { key_id: id },
      headers: { 'Idempotency-Key': actionId },
      body: { grace_seconds: graceSeconds },
    });
    // Without grace hours the old credential stops working at once. A page that still used it would
    // be signed out before anyone could copy the new one.
    if (rotated.ok && rotated.value.api_key !== null && isOwnHint(hint)) {
      replaceKey(rotated.value.api_key);
    }
    return rotated;
  },
  changeState: (id, action) =>
    call(`POST /v1/dashboard/keys/:key_id/${action}`, { path: { key_id: id } }),
  changeCaps: (id, caps) =>
    call('PATCH /v1/dashboard/keys/:key_id', { path: { key_id: id }, body: caps }),
};

const COLUMNS = [...KEY_COLUMNS, { label: 'Actions' }] as const;

/** @param props.ownId - The key with which the person signed in, which cannot change itself. */
export function Keys({ ownId }: { readonly ownId: string }) {
  const list = usePages('keys', (after, signal) =>
    call('GET /v1/dashboard/keys', { query: { limit: 100, after }, signal }),
  );
  const [acting, setActing] = useState<'create' | ActingOn<Sent<'holderKey'>>>();
  const close = () => {
    setActing(undefined);
  };
  const callbacks = { requests, onClose: close, onDone: list.reload };
  return (
    <section class="card" aria-label="Keys">
      <div class="row spread">
        <h2>Keys of this account</h2>
        <button
          type="button"
          class="main"
          onClick={() => {
            setActing('create');
          }}
        >
          Create a key
        </button>
      </div>
      <PagedTable
        list={list}
        what="the keys"
        columns={COLUMNS}
        empty="There are no keys."
        row={(key) => (
          <KeyRow
            key={key.id}
            of={key}
            about={<span class="when id">{key.hint}</span>}
            isOwn={key.id === ownId}
            act={setActing}
          />
        )}
      />
      {acting === 'create' && <CreateKey {...callbacks} />}
      {acting !== undefined && acting !== 'create' && <KeyDialog acting={acting} {...callbacks} />}
    </section>
  );
}
