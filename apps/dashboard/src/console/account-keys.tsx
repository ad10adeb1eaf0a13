/** The keys of an account, and what can be done to each. */

import { useState } from 'preact/hooks';
import type { Page } from '../shared/api.js';
import { ChangeCaps, ChangeState, CreateKey, RotateKey } from '../shared/key-actions.js';
import { KeyCaps, KeyState } from '../shared/key-parts.js';
import { PagedTable } from '../shared/paged-table.js';
import { usePages } from '../shared/pages.js';
import { Money, Time } from '../shared/parts.js';
import { EditLimits, ShareKey } from './key-actions.js';
import { call, may } from './session.js';
import type { Account, Key } from './types.js';

const COLUMNS = [
  { label: 'Key' },
  { label: 'State' },
  { label: 'Spent', isNumber: true },
  { label: 'Caps' },
  { label: 'Last charge' },
] as const;

const LABELS = {
  caps: 'Caps',
  limits: 'Limits',
  link: 'Link',
  rotate: 'Rotate',
  suspend: 'Suspend',
  resume: 'Resume',
  revoke: 'Revoke',
} as const;
type Action = keyof typeof LABELS;

type Acting = { readonly action: 'create' } | { readonly action: Action; readonly key: Key };

export function AccountKeys(props: { readonly account: Account; readonly changed: () => void }) {
  const { account, changed } = props;
  const list = usePages<Key>(`keys of ${account.id}`, (after, signal) =>
    call<Page<Key>>('keys', { query: { account_id: account.id, limit: 100, after }, signal }),
  );
  const [acting, setActing] = useState<Acting>();
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
              setActing({ action: 'create' });
            }}
          >
            Create a key
          </button>
        )}
      </div>
      <PagedTable
        list={list}
        what="the keys"
        columns={may('change') ? [...COLUMNS, { label: 'Actions' }] : COLUMNS}
        empty="This account has no key, so nobody can use it."
        row={(key) => <Row key={key.id} of={key} act={setActing} />}
      />
      {acting?.action === 'create' && <CreateKey given={{ account_id: account.id }} {...ends} />}
      {acting?.action === 'caps' && <ChangeCaps of={acting.key} {...ends} />}
      {acting?.action === 'limits' && <EditLimits of={acting.key} {...ends} />}
      {acting?.action === 'link' && <ShareKey of={acting.key} {...ends} />}
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
  return (
    <tr data-key={of.id}>
      <td>
        {of.name}
        <span class="when id">{of.id}</span>
        <span class="when id">{of.hint}</span>
      </td>
      <td>
        <KeyState of={of} />
        {of.scope === 'manage' && <span class="when">may manage</span>}
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
      {may('change') && (
        <td>
          <div class="row actions">
            {actionsOn(of).map((action) => (
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
      )}
    </tr>
  );
}

function actionsOn({ state }: Key): readonly Action[] {
  if (state === 'revoked') return [];
  const turn = state === 'suspended' ? 'resume' : 'suspend';
  return ['caps', 'limits', 'link', 'rotate', turn, 'revoke'];
}
