/** What a customer and an operator can do to a key: the same dialogs, on different endpoints. */

import { useState } from 'preact/hooks';
import { ActionDialog } from './actions.js';
import type { Answer, Call } from './api.js';
import { capChanges, capText, readCaps, useCapFields } from './key-parts.js';
import type { Caps } from './key-parts.js';
import { Choice, CodeBlock, TextField } from './parts.js';

interface Key {
  readonly id: string;
  readonly name: string;
  readonly hint: string;
  readonly state: string;
  readonly caps: Caps;
}

type Created = Key & { readonly api_key: string | null };

export interface KeyActionEnds {
  /** Sends a request to the endpoints of keys, such as `keys/key_1/rotate`. */
  readonly send: <Value>(path: string, call: Call) => Promise<Answer<Value>>;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

const SCOPES = [
  ['use', 'Use: to send requests'],
  ['manage', 'Manage: also to manage the keys of the account'],
] as const;

/** @param given - Members that the caller adds. With an account, the scope can be chosen. */
export function CreateKey({
  given,
  send,
  ...ends
}: KeyActionEnds & { readonly given: { readonly account_id?: string } }) {
  const [name, setName] = useState('');
  const [scope, setScope] = useState<'use' | 'manage'>('use');
  const caps = useCapFields(undefined);
  const isOperator = given.account_id !== undefined;
  return (
    <ActionDialog<Created>
      title="Create a key"
      fields={
        <>
          <TextField label="Name" required maxLength={200} value={name} onValue={setName} />
          {isOperator && <Choice label="Scope" value={scope} options={SCOPES} onValue={setScope} />}
          {caps.fields}
        </>
      }
      problem={name.trim() === '' ? 'Name: say whose key it is.' : caps.problem}
      changes={() => [
        {
          what: `Key "${name.trim()}"`,
          before: 'none',
          after: 'spends the balance of this account',
        },
        ...capChanges(undefined, caps.texts),
      ]}
      confirm="Create the key"
      run={(actionId) =>
        send<Created>('keys', {
          method: 'POST',
          body: {
            name: name.trim(),
            ...given,
            ...(isOperator ? { scope } : {}),
            ...readCaps(undefined, caps.texts),
          },
          headers: { 'idempotency-key': actionId },
        })
      }
      done={(created) => <NewCredential of={created} />}
      {...ends}
    />
  );
}

function NewCredential({ of }: { readonly of: Created }) {
  return of.api_key === null ? (
    <p>This was done before, once. Rotate the key to get a credential that you can read.</p>
  ) : (
    <>
      <p>
        <strong>Copy the credential of "{of.name}" now.</strong> It cannot be shown again.
      </p>
      <CodeBlock text={of.api_key} what="the new credential" />
    </>
  );
}

const MOST_HOURS = 720;

export function RotateKey({ of, send, ...ends }: KeyActionEnds & { readonly of: Key }) {
  const [hours, setHours] = useState('24');
  const count = Number(hours);
  const isValid = /^\d+$/.test(hours.trim()) && count <= MOST_HOURS;
  return (
    <ActionDialog<Created>
      title={`Rotate "${of.name}"`}
      fields={
        <TextField
          label="Hours for which the old credential still works"
          inputMode="numeric"
          value={hours}
          onValue={setHours}
          hint={`0 ends it at once; at most ${String(MOST_HOURS)}.`}
        />
      }
      problem={isValid ? undefined : `Hours: a whole number from 0 to ${String(MOST_HOURS)}.`}
      changes={() => [
        {
          what: 'Credential',
          before: of.hint,
          after:
            count === 0 ? 'a new one, at once' : `a new one; the old works ${hours} hours more`,
        },
      ]}
      confirm="Rotate the key"
      run={(actionId) =>
        send<Created>(`keys/${of.id}/rotate`, {
          method: 'POST',
          headers: { 'idempotency-key': actionId },
          body: { grace_seconds: count * 3_600 },
        })
      }
      done={(rotated) => <NewCredential of={rotated} />}
      {...ends}
    />
  );
}

const STATES = {
  suspend: { title: 'Suspend', after: 'suspended: its requests are refused', danger: false },
  resume: { title: 'Resume', after: 'active: it works again', danger: false },
  revoke: { title: 'Revoke', after: 'revoked for good', danger: true },
} as const;

export function ChangeState({
  of,
  action,
  send,
  ...ends
}: KeyActionEnds & { readonly of: Key; readonly action: keyof typeof STATES }) {
  const { title, after, danger } = STATES[action];
  return (
    <ActionDialog<Key>
      title={`${title} "${of.name}"`}
      changes={() => [{ what: 'State', before: of.state, after }]}
      confirm={`${title} the key`}
      isDangerous={danger}
      run={() => send<Key>(`keys/${of.id}/${action}`, { method: 'POST', body: {} })}
      done={(changed) => (
        <p>
          "{changed.name}" is now {changed.state}.
        </p>
      )}
      {...ends}
    />
  );
}

export function ChangeCaps({ of, send, ...ends }: KeyActionEnds & { readonly of: Key }) {
  const { texts, fields, problem } = useCapFields(of.caps);
  const isUnchanged = capChanges(of.caps, texts).length === 0;
  return (
    <ActionDialog<Key>
      title={`Caps of "${of.name}"`}
      fields={fields}
      problem={problem ?? (isUnchanged ? 'Nothing is changed yet.' : undefined)}
      changes={() => capChanges(of.caps, texts)}
      confirm="Change the caps"
      run={() => send<Key>(`keys/${of.id}`, { method: 'PATCH', body: readCaps(of.caps, texts) })}
      done={(changed) => <p>Caps now: {capText(changed.caps)}.</p>}
      {...ends}
    />
  );
}
