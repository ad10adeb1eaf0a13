/** The keys of an account, and what can be done to each. */

import { useState } from 'preact/hooks';
import type { Page } from '../shared/api.js';
import { CreateKey } from '../shared/key-actions.js';
import type { KeyActionEnds } from '../shared/key-actions.js';
import { KEY_COLUMNS, KeyDialog, KeyRow } from '../shared/key-list.js';
import type { ActingOn } from '../shared/key-list.js';
import { PagedTable } from '../shared/paged-table.js';
import { usePages } from '../shared/pages.js';
import { EditLimits, ShareKey } from './key-actions.js';
import { call, may } from './session.js';
import type { Account, Key } from './types.js';

export function AccountKeys(props: { readonly account: Account; readonly changed: () => void }) {
  const { account, changed } = props;
  const list = usePages<Key>(`keys of ${account.id}`, (after, signal) =>
    call<Page<Key>>('keys', { query: { account_id: account.id, limit: 100, after }, signal }),
  );
  const [acting, setActing] = useState<'create' | ActingOn<Key>>();
  const ends = {
    send: call,
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
                <span class="when id">{key.id}</span>
                <span class="when id">{key.hint}</span>
              </>
            }
            more={['limits', 'link']}
            act={may('change') ? setActing : undefined}
          />
        )}
      />
      {acting === 'create' && <CreateKey given={{ account_id: account.id }} {...ends} />}
      {acting !== undefined && acting !== 'create' && <Dialog acting={acting} {...ends} />}
    </section>
  );
}

function Dialog({ acting, ...ends }: KeyActionEnds & { readonly acting: ActingOn<Key> }) {
  if (acting.action === 'limits') return <EditLimits of={acting.key} {...ends} />;
  if (acting.action === 'link') return <ShareKey of={acting.key} {...ends} />;
  return <KeyDialog acting={acting} {...ends} />;
}
