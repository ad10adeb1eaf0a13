/** The keys of the account, for a key that may manage them. */

import { useState } from 'preact/hooks';
import { usePages } from '../shared/pages.js';
import type { Page } from '../shared/api.js';
import { ChangeCaps, ChangeState, CreateKey, RotateKey } from '../shared/key-actions.js';
import { KeyCaps, KeyState } from '../shared/key-parts.js';
import { PagedTable } from '../shared/paged-table.js';
import { Money, Time } from '../shared/parts.js';
import { change, get } from './session.js';
import type { Key } from './types.js';

const COLUMNS = [
  { label: 'Key' },
  { label: 'State' },
  { label: 'Spent', isNumber: true },
  { label: 'Caps' },
  { label: 'Last charge' },
  { label: 'Actions' },
] as const;

type Acting =
  | { readonly action: 'create' }
  | { readonly action: 'rotate' | 'suspend' | 'resume' | 'revoke' | 'caps'; readonly key: Key };

export function Keys() {
  const list = usePages<Key>('keys', (after, signal) =>
    get<Page<Key>>('keys', { query: { limit: 100, after }, signal }),
  );
  const [acting, setActing] = useState<Acting>();
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
            setActing({ action: 'create' });
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
        row={(key) => <Row key={key.id} of={key} act={setActing} />}
      />
      {acting?.action === 'create' && <CreateKey given={{}} {...ends} />}
      {acting?.action === 'caps' && <ChangeCaps of={acting.key} {...ends} />}
      {acting?.action === 'rotate' && <RotateKey of={acting.key} {...ends} />}
      {(acting?.action === 'suspend' ||
        acting?.action === 'resume' ||
        acting?.action === 'revoke') && (
        <ChangeState action={acting.action} of={acting.key} {...ends} />
      )}
    </section>
  );
}

function Row({ of, act }: { readonly of: Key; readonly act: (acting: Acting) => void }) {
  const actions = [
    ...(of.state === 'revoked' ? [] : (['caps', 'rotate'] as const)),
    ...(of.state === 'suspended' ? (['resume'] as const) : []),
    ...(of.state === 'active' ? (['suspend'] as const) : []),
    ...(of.state === 'revoked' ? [] : (['revoke'] as const)),
  ];
  return (
    <tr data-key={of.id}>
      <td>
        {of.name}
        <br />
        <span class="id quiet">{of.hint}</span>
      </td>
      <td>
        <KeyState of={of} />
      </td>
      <td class="n">
        <Money usd={of.spent_usd} />
      </td>
      <td>
        <KeyCaps caps={of.caps} />
      </td>
      <td>
        <Time iso={of.last_charged_at} />
      </td>
      <td>
        <div class="row">
          {actions.map((action) => (
            <button
              key={action}
              type="button"
              class={`small ${action === 'revoke' ? 'danger' : ''}`}
              aria-label={`${LABELS[action]}: ${of.name}`}
              onClick={() => {
                act({ action, key: of });
              }}
            >
              {LABELS[action]}
            </button>
          ))}
        </div>
      </td>
    </tr>
  );
}

const LABELS = {
  caps: 'Caps',
  rotate: 'Rotate',
  suspend: 'Suspend',
  resume: 'Resume',
  revoke: 'Revoke',
} as const;
