/** The keys of the account, for a key that may manage them. */

import { useState } from 'preact/hooks';
import { usePages } from '../shared/pages.js';
import type { Page } from '../shared/api.js';
import { CreateKey } from '../shared/key-actions.js';
import { KEY_COLUMNS, KeyDialog, KeyRow } from '../shared/key-list.js';
import type { ActingOn } from '../shared/key-list.js';
import { PagedTable } from '../shared/paged-table.js';
import { change, get } from './session.js';
import type { Key } from './types.js';

const COLUMNS = [...KEY_COLUMNS, { label: 'Actions' }] as const;

export function Keys() {
  const list = usePages<Key>('keys', (after, signal) =>
    get<Page<Key>>('keys', { query: { limit: 100, after }, signal }),
  );
  const [acting, setActing] = useState<'create' | ActingOn<Key>>();
  const close = () => {
    setActing(undefined);
  };
  const ends = { send: change, onClose: close, onDone: list.reload };
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
            act={setActing}
          />
        )}
      />
      {acting === 'create' && <CreateKey given={{}} {...ends} />}
      {acting !== undefined && acting !== 'create' && <KeyDialog acting={acting} {...ends} />}
    </section>
  );
}
