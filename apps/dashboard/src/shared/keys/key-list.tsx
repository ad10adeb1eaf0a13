/** A list of keys with the actions on one or several of them, and the dialogs for these. */

import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { columnsOf } from '../controls/columns.js';
import { countText } from '../text/count-text.js';
import { ChangeCaps, ChangeState, ChangeStates, CreateKey, RotateKey } from './key-actions.js';
import type { KeyDialogProps, KeyRequests, StateChange } from './key-actions.js';
import { CAPS_COLUMN, KeyState, mayChange } from './key-parts.js';
import type { KeyFacts } from './key-parts.js';
import type { Paged } from '../api/pages.js';
import { ActionButtons, ListHead } from '../controls/list-parts.js';
import { PagedTable } from '../controls/paged-table.js';
import type { Column } from '../controls/paged-table.js';
import { Badge } from '../controls/parts.js';
import { useSelection } from '../controls/selection.js';
import type { Selection } from '../controls/selection.js';

const LABELS = {
  caps: 'Caps',
  limits: 'Limits',
  link: 'Link',
  rotate: 'Rotate',
  suspend: 'Suspend',
  resume: 'Resume',
  revoke: 'Revoke',
} as const;
export type KeyAction = keyof typeof LABELS;

export interface ActingOn<Key> {
  readonly action: KeyAction;
  readonly key: Key;
}

type Acting<Key> =
  'create' | ActingOn<Key> | { readonly action: StateChange; readonly keys: readonly Key[] };

interface KeyListProps<Key extends KeyFacts> {
  readonly title: string;
  readonly list: Paged<Key>;
  readonly requests: KeyRequests;
  readonly empty: string;
  /** The content below the name of a key. */
  readonly about: (key: Key) => ComponentChildren;
  /** The key with which the person signed in. The gateway lets no key change itself. */
  readonly ownId?: string;
  /** Whether the person may change keys. */
  readonly mayAct: boolean;
  /** Whether the scope of a new key can be chosen. */
  readonly withScope?: boolean;
  /** Actions that only this page has, and their dialogs. */
  readonly more?: readonly KeyAction[];
  readonly dialogOf?: (acting: ActingOn<Key>, callbacks: KeyDialogProps) => ComponentChildren;
  readonly changed?: () => void;
}

export function KeyList<Key extends KeyFacts>(props: KeyListProps<Key>) {
  const { title, list, requests, empty, ownId, mayAct, more = [], changed } = props;
  const [acting, setActing] = useState<Acting<Key>>();
  const selection = useSelection<Key>(
    list.items,
    (key) => key.id !== ownId && key.state !== 'revoked',
  );
  const callbacks = {
    requests,
    onDone: () => {
      list.reload();
      changed?.();
    },
    onClose: () => {
      setActing(undefined);
    },
  };
  return (
    <section class="card" aria-label="Keys">
      <ListHead
        title={title}
        mayAct={mayAct}
        add="Create a key"
        onAdd={() => {
          setActing('create');
        }}
      />
      {mayAct && selection.chosen.length > 0 && <OnSeveral of={selection} act={setActing} />}
      <PagedTable
        list={list}
        what="the keys"
        columns={keyColumns<Key>(props)}
        empty={empty}
        idOf={({ id }) => id}
        rowName="data-key"
        selection={mayAct ? selection : undefined}
        actions={
          mayAct
            ? (key) => (
                <Buttons
                  of={key}
                  actions={key.id === ownId ? OF_OWN : actionsOn(key, more)}
                  act={setActing}
                />
              )
            : undefined
        }
        file="keys"
      />
      {acting !== undefined && (
        <KeyDialog acting={acting} props={props} callbacks={callbacks} selection={selection} />
      )}
    </section>
  );
}

function keyColumns<Key extends KeyFacts>({
  about,
  ownId,
}: Pick<KeyListProps<Key>, 'about' | 'ownId'>): readonly Column<Key>[] {
  return columnsOf('keys', {
    name: {
      label: 'Key',
      cell: (key, name) => (
        <>
          {name} {key.id === ownId && <Badge tone="plain">this key</Badge>}
          {about(key)}
        </>
      ),
    },
    account_id: false,
    standing: {
      cell: (key) => (
        <>
          <KeyState of={key} />
          {key.state === 'suspended' && !mayChange(key, 'resume') && (
            <span class="when">by your operator, who can resume it</span>
          )}
          {key.scope === 'manage' && <span class="when">may manage</span>}
        </>
      ),
    },
    balance_usd: false,
    caps: CAPS_COLUMN,
  });
}

function Buttons<Key extends KeyFacts>(props: {
  readonly of: Key;
  readonly actions: readonly KeyAction[];
  readonly act: (acting: ActingOn<Key>) => void;
}) {
  const { of, actions, act } = props;
  return (
    <ActionButtons
      name={of.name}
      actions={actions}
      labels={LABELS}
      danger="revoke"
      isDisabled={(action) => action === 'resume' && !mayChange(of, 'resume')}
      act={(action) => {
        act({ action, key: of });
      }}
    />
  );
}

/** A key may only replace its own credential. */
const OF_OWN: readonly KeyAction[] = ['rotate'];

function actionsOn({ state }: KeyFacts, more: readonly KeyAction[]): readonly KeyAction[] {
  if (state === 'revoked') return [];
  return ['caps', ...more, 'rotate', state === 'suspended' ? 'resume' : 'suspend', 'revoke'];
}

const ON_SEVERAL = ['suspend', 'resume', 'revoke'] as const;

/** Each action is offered for the chosen keys that it can change. */
function OnSeveral<Key extends KeyFacts>(props: {
  readonly of: Selection<Key>;
  readonly act: (acting: Acting<Key>) => void;
}) {
  const { chosen, clear } = props.of;
  return (
    <div class="row middle chosen" role="group" aria-label="Actions on the chosen keys">
      <strong role="status">{countText(chosen.length, 'key')} chosen</strong>
      {ON_SEVERAL.map((action) => {
        const keys = chosen.filter((key) => mayChange(key, action));
        return (
          keys.length > 0 && (
            <button
              key={action}
              type="button"
              class={`small ${action === 'revoke' ? 'danger' : ''}`}
              onClick={() => {
                props.act({ action, keys });
              }}
            >
              {LABELS[action]} {countText(keys.length, 'key')}
            </button>
          )
        );
      })}
      <button type="button" class="small" onClick={clear}>
        Choose none
      </button>
    </div>
  );
}

function KeyDialog<Key extends KeyFacts>(given: {
  readonly acting: Acting<Key>;
  readonly props: KeyListProps<Key>;
  readonly callbacks: KeyDialogProps;
  readonly selection: Selection<Key>;
}) {
  const { acting, props, callbacks, selection } = given;
  if (acting === 'create') {
    return <CreateKey withScope={props.withScope === true} {...callbacks} />;
  }
  if ('keys' in acting) {
    const onDone = () => {
      selection.clear();
      callbacks.onDone();
    };
    return <ChangeStates of={acting.keys} action={acting.action} {...callbacks} onDone={onDone} />;
  }
  const { action, key } = acting;
  switch (action) {
    case 'caps':
      return <ChangeCaps of={key} {...callbacks} />;
    case 'rotate':
      return <RotateKey of={key} {...callbacks} />;
    case 'suspend':
    case 'resume':
    case 'revoke':
      return <ChangeState action={action} of={key} {...callbacks} />;
    case 'limits':
    case 'link':
      return <>{props.dialogOf?.(acting, callbacks)}</>;
  }
}
