/** The rows of a list of keys, with the actions on each key and the dialogs for them. */

import type { ComponentChildren } from 'preact';
import { ChangeCaps, ChangeState, RotateKey } from './key-actions.js';
import type { KeyDialogProps } from './key-actions.js';
import { KeyCaps, KeyState } from './key-parts.js';
import type { KeyFacts } from './key-parts.js';
import { Badge, Money, Time } from './parts.js';

export const KEY_COLUMNS = [
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
export type KeyAction = keyof typeof LABELS;

export interface ActingOn<Key> {
  readonly action: KeyAction;
  readonly key: Key;
}

/** @param props.more - Actions whose dialogs the calling page has itself: `limits` and `link`. */
export function KeyRow<Key extends KeyFacts>(props: {
  readonly of: Key;
  /** The content below the name. */
  readonly about: ComponentChildren;
  readonly more?: readonly KeyAction[];
  /** Whether the person signed in with it. The gateway lets no key change itself. */
  readonly isOwn?: boolean;
  /** `undefined` for someone who may only read. */
  readonly act: ((acting: ActingOn<Key>) => void) | undefined;
}) {
  const { of, about, more = [], isOwn = false, act } = props;
  return (
    <tr data-key={of.id}>
      <td>
        {of.name} {isOwn && <Badge tone="plain">this key</Badge>}
        {about}
      </td>
      <td>
        <KeyState of={of} />
        {isSuspendedByOperator(of) && <span class="when">by your operator, who can resume it</span>}
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
      {act !== undefined && (
        <td>
          <div class="row actions">
            {(isOwn ? OF_OWN : actionsOn(of, more)).map((action) => (
              <button
                key={action}
                type="button"
                class={`small ${action === 'revoke' ? 'danger' : ''}`}
                disabled={action === 'resume' && isSuspendedByOperator(of)}
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

function isSuspendedByOperator({ state, operator_bounds: bounds }: KeyFacts): boolean {
  return state === 'suspended' && bounds?.suspended === true;
}

/** A key may only replace its own credential. */
const OF_OWN: readonly KeyAction[] = ['rotate'];

function actionsOn({ state }: KeyFacts, more: readonly KeyAction[]): readonly KeyAction[] {
  if (state === 'revoked') return [];
  return ['caps', ...more, 'rotate', state === 'suspended' ? 'resume' : 'suspend', 'revoke'];
}

/** The dialogs that the customer's page and the console share. */
export function KeyDialog({
  acting,
  ...callbacks
}: KeyDialogProps & { readonly acting: ActingOn<KeyFacts> }) {
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
      return null;
  }
}
