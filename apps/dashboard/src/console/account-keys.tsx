/** The keys of an account, with the actions on each key. */

import { useState } from 'preact/hooks';
import type { Sent } from '../shared/gateway-types.js';
import { Id } from '../shared/ids.js';
import { CreateKey } from '../shared/key-actions.js';
import type { KeyDialogProps, KeyRequests } from '../shared/key-actions.js';
import { KEY_COLUMNS, KeyDialog, KeyRow } from '../shared/key-list.js';
import type { ActingOn } from '../shared/key-list.js';
import { PagedTable } from '../shared/paged-table.js';
import { usePages } from '../shared/pages.js';
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
  const [acting, setActing] = useState<'create' | ActingOn<Key>>();
  const callbacks = {
    requests: keyRequests(account.id),
    onDone: () => {
      list.reload();
      changed();
    },
    onClose: () => {
      setActing(undefined);
    },
  };
  return (
    <section class="card" aria-label="Keys">
      <div class="row spread">
        <h2>Keys</h2>
        {may('change') && (
          <button
            type="button"
            class="main"
            onClick={() => {
              setActing('create');
            }}
          >
            Create a key
          </button>
        )}
      </div>
      <PagedTable
        list={list}
        what="the keys"
        columns={may('change') ? [...KEY_COLUMNS, { label: 'Actions' }] : KEY_COLUMNS}
        empty="This account has no key, so nobody can use it."
        row={(key) => (
          <KeyRow
            key={key.id}
            of={key}
            about={
              <>
                <span class="when">
                  <Id of={key.id} />
                </span>
                <span class="when id">{key.hint}</span>
              </>
            }
            more={['limits', 'link']}
            act={may('change') ? setActing : undefined}
          />
        )}
      />
      {acting === 'create' && <CreateKey withScope {...callbacks} />}
      {acting !== undefined && acting !== 'create' && <Dialog acting={acting} {...callbacks} />}
    </section>
  );
}

function Dialog({ acting, ...callbacks }: KeyDialogProps & { readonly acting: ActingOn<Key> }) {
  if (acting.action === 'limits') return <EditLimits of={acting.key} {...callbacks} />;
  if (acting.action === 'link') return <ShareKey of={acting.key} {...callbacks} />;
  return <KeyDialog acting={acting} {...callbacks} />;
}
