/** Actions on a key for customers and operators: the same dialogs, on different endpoints. */

import { useState } from 'preact/hooks';
import { ActionDialog } from '../controls/actions.js';
import type { DialogCallbacks } from '../controls/actions.js';
import { patiently } from '../api/api.js';
import type { Answer, Failure } from '../api/api.js';
import { countText } from '../text/count-text.js';
import { boundText, capChanges, capText, readCaps, useCapFields } from './key-parts.js';
import type { KeyFacts } from './key-parts.js';
import { Choice, CodeBlock, FailureNote, TextField } from '../controls/parts.js';
import { DAY_MS } from '../text/times.js';

type Created = KeyFacts & { readonly api_key: string | null };
export type StateChange = 'suspend' | 'resume' | 'revoke';
type CapChanges = ReturnType<typeof readCaps>;

/**
 * The requests that the actions make. The customer's page and the console each implement this with
 * their own endpoints.
 */
export interface KeyRequests {
  readonly create: (given: {
    readonly name: string;
    readonly caps: CapChanges;
    readonly scope: KeyFacts['scope'];
    readonly actionId: string;
  }) => Promise<Answer<Created>>;
  readonly rotate: (
    key: KeyFacts,
    graceSeconds: number,
    actionId: string,
  ) => Promise<Answer<Created>>;
  readonly changeState: (id: string, action: StateChange) => Promise<Answer<KeyFacts>>;
  readonly changeCaps: (id: string, caps: CapChanges) => Promise<Answer<KeyFacts>>;
}

export interface KeyDialogProps extends DialogCallbacks {
  readonly requests: KeyRequests;
}

const SCOPES = [
  ['use', 'Use: to send requests'],
  ['manage', 'Manage: also to manage the keys of the account'],
] as const;

export function CreateKey({
  requests,
  withScope = false,
  ...callbacks
}: DialogCallbacks & {
  readonly requests: Pick<KeyRequests, 'create'>;
  /** Whether the scope can be chosen. */
  readonly withScope?: boolean;
}) {
  const [name, setName] = useState('');
  const [scope, setScope] = useState<'use' | 'manage'>('use');
  const caps = useCapFields(undefined);
  return (
    <ActionDialog<Created>
      title="Create a key"
      fields={
        <>
          <TextField label="Name" required maxLength={200} value={name} onValue={setName} />
          {withScope && <Choice label="Scope" value={scope} options={SCOPES} onValue={setScope} />}
          {caps.fields}
        </>
      }
      problem={name.trim() === '' ? 'Name: say whose key it is.' : caps.problem}
      confirm="Create the key"
      run={(actionId) =>
        requests.create({
          name: name.trim(),
          caps: readCaps(undefined, caps.texts),
          scope,
          actionId,
        })
      }
      done={(created) => <NewCredential of={created} />}
      isSecret={hasCredential}
      {...callbacks}
    />
  );
}

export function hasCredential({ api_key: credential }: Pick<Created, 'api_key'>): boolean {
  return credential !== null;
}

export function NewCredential({ of }: { readonly of: Pick<Created, 'api_key' | 'name'> }) {
  return of.api_key === null ? (
    <p>
      This request was carried out before, so the credential cannot be shown again. Rotate the key
      to get a new one.
    </p>
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

export function RotateKey({
  of,
  requests,
  ...callbacks
}: KeyDialogProps & { readonly of: KeyFacts }) {
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
          hint={`At most ${String(MOST_HOURS)}. With 0, the old credential stops working at once.`}
        />
      }
      problem={isValid ? undefined : `Hours: a whole number from 0 to ${String(MOST_HOURS)}.`}
      changes={() => [
        {
          what: 'Credential',
          before: of.hint,
          after:
            count === 0
              ? 'a new one, at once'
              : `a new one; the old one works for ${hours} more hours`,
        },
      ]}
      confirm="Rotate the key"
      run={(actionId) => requests.rotate(of, count * 3_600, actionId)}
      done={(rotated) => <NewCredential of={rotated} />}
      isSecret={hasCredential}
      typed={count === 0 ? nameToType(of) : undefined}
      {...callbacks}
    />
  );
}

/**
 * The name that is typed before the credential of a key stops working for good, if somebody seems
 * to use the key: it was charged in the last day.
 */
function nameToType({ name, last_charged_at: last }: KeyFacts): string | undefined {
  const isUsed = last !== null && Date.now() - Date.parse(last) < DAY_MS;
  return isUsed ? name : undefined;
}

const STATES = {
  suspend: { title: 'Suspend', after: 'suspended: its requests are refused', danger: false },
  resume: { title: 'Resume', after: 'active: it works again', danger: false },
  revoke: { title: 'Revoke', after: 'revoked for good', danger: true },
} as const satisfies Readonly<Record<StateChange, object>>;

export function ChangeState({
  of,
  action,
  requests,
  ...callbacks
}: KeyDialogProps & { readonly of: KeyFacts; readonly action: StateChange }) {
  const { title, after, danger } = STATES[action];
  return (
    <ActionDialog<KeyFacts>
      title={`${title} "${of.name}"`}
      changes={() => [{ what: 'State', before: of.state, after }]}
      confirm={`${title} the key`}
      isDangerous={danger}
      typed={action === 'revoke' ? nameToType(of) : undefined}
      run={() => requests.changeState(of.id, action)}
      done={(changed) => (
        <p>
          "{changed.name}" is now {changed.state}.
        </p>
      )}
      {...callbacks}
    />
  );
}

interface Changed {
  readonly key: KeyFacts;
  /** `undefined` if the key was changed. */
  readonly failure: Failure | undefined;
}

/** Changes keys one after the other. One that cannot be changed does not stop the others. */
export function ChangeStates({
  of,
  action,
  requests,
  ...callbacks
}: KeyDialogProps & { readonly of: readonly KeyFacts[]; readonly action: StateChange }) {
  const { title, after, danger } = STATES[action];
  const count = countText(of.length, 'key');
  const isUsed = of.some((key) => nameToType(key) !== undefined);
  return (
    <ActionDialog<readonly Changed[]>
      title={`${title} ${count}`}
      changes={() => [
        {
          what: 'State',
          before: [...new Set(of.map(({ state }) => state))].join(', '),
          after,
        },
      ]}
      facts={[['Keys', of.map(({ name }) => name).join(', ')]]}
      confirm={`${title} ${count}`}
      isDangerous={danger}
      typed={action === 'revoke' && isUsed ? count : undefined}
      run={async () => {
        const value: Changed[] = [];
        for (const key of of) {
          const answer = await patiently(() => requests.changeState(key.id, action));
          value.push({ key, failure: answer.ok ? undefined : answer.failure });
        }
        return { ok: true, value, text: '' };
      }}
      done={(all) => <Outcome of={all} what={after} />}
      {...callbacks}
    />
  );
}

function Outcome({ of, what }: { readonly of: readonly Changed[]; readonly what: string }) {
  const failed = of.filter(({ failure }) => failure !== undefined);
  return (
    <>
      <p>
        {countText(of.length - failed.length, 'key')}: now {what}.
      </p>
      {failed.map(
        ({ key, failure }) =>
          failure !== undefined && (
            <FailureNote key={key.id} failure={failure} what={`"${key.name}"`} isOf={key.name} />
          ),
      )}
    </>
  );
}

export function ChangeCaps({
  of,
  requests,
  ...callbacks
}: KeyDialogProps & { readonly of: KeyFacts }) {
  const { texts, fields, problem } = useCapFields(of.caps);
  const isUnchanged = capChanges(of.caps, texts).length === 0;
  const most = boundText(of);
  return (
    <ActionDialog<KeyFacts>
      title={`Caps of "${of.name}"`}
      fields={
        <>
          {most !== '' && <p class="quiet">Your operator allows at most {most}.</p>}
          {fields}
        </>
      }
      problem={problem ?? (isUnchanged ? 'Nothing is changed yet.' : undefined)}
      changes={() => capChanges(of.caps, texts)}
      confirm="Change the caps"
      run={() => requests.changeCaps(of.id, readCaps(of.caps, texts))}
      done={(changed) => <p>Caps now: {capText(changed.caps)}.</p>}
      {...callbacks}
    />
  );
}
