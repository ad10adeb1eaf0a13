/** The dialogs that add, change and end members. */

import { useState } from 'preact/hooks';
import { ActionDialog } from '../controls/actions.js';
import type { DialogCallbacks } from '../controls/actions.js';
import { Choice, TextField } from '../controls/parts.js';
import { countText } from '../text/count-text.js';
import { groupOptions } from './group-tree.js';
import type { Group, Member, MemberRequests } from './member-requests.js';

interface Props extends DialogCallbacks {
  readonly requests: MemberRequests;
  readonly groups: readonly Group[];
}

interface Typed {
  readonly name: string;
  readonly groupId: string;
  readonly email: string;
}

function useFields(of: Member | undefined, groups: readonly Group[]) {
  const [typed, setTyped] = useState<Typed>({
    name: of?.name ?? '',
    groupId: of?.group_id ?? '',
    email: of?.email ?? '',
  });
  const set = (name: keyof Typed) => (value: string) => {
    setTyped({ ...typed, [name]: value });
  };
  const name = typed.name.trim();
  const email = typed.email.trim();
  return {
    name,
    email: email === '' ? null : email,
    groupId: typed.groupId === '' ? null : typed.groupId,
    problem: name === '' ? 'Name: say who it is.' : undefined,
    fields: (
      <>
        <TextField label="Name" required maxLength={200} value={typed.name} onValue={set('name')} />
        <Choice
          label="Group"
          value={typed.groupId}
          options={[['', 'none'], ...groupOptions(groups)]}
          onValue={set('groupId')}
        />
        <TextField label="Mail" value={typed.email} onValue={set('email')} hint="May be empty." />
      </>
    ),
  };
}

export function AddMember({ requests, groups, ...callbacks }: Props) {
  const { name, email, groupId, problem, fields } = useFields(undefined, groups);
  return (
    <ActionDialog<Member>
      title="Add a member"
      fields={fields}
      problem={problem}
      confirm="Add the member"
      run={(actionId) =>
        requests.createMember(
          {
            name,
            ...(email === null ? {} : { email }),
            ...(groupId === null ? {} : { group_id: groupId }),
          },
          actionId,
        )
      }
      done={(member) => (
        <p>"{member.name}" is a member. To spend, it needs a key: the button "Key" makes one.</p>
      )}
      {...callbacks}
    />
  );
}

export function ChangeMember({
  of,
  requests,
  groups,
  ...callbacks
}: Props & { readonly of: Member }) {
  const { name, email, groupId, problem, fields } = useFields(of, groups);
  const names = new Map(groups.map((group) => [group.id, group.name]));
  const groupText = (id: string | null) => (id === null ? 'none' : (names.get(id) ?? id));
  const changes = [
    { what: 'Name', before: of.name, after: name },
    { what: 'Group', before: groupText(of.group_id), after: groupText(groupId) },
    { what: 'Mail', before: of.email ?? 'none', after: email ?? 'none' },
  ].filter(({ before, after }) => before !== after);
  return (
    <ActionDialog<Member>
      title={`Change "${of.name}"`}
      fields={fields}
      problem={problem ?? (changes.length === 0 ? 'Nothing is changed yet.' : undefined)}
      changes={() => changes}
      warning={groupId !== of.group_id && 'What was spent before stays with the former group.'}
      confirm="Change the member"
      run={() =>
        requests.updateMember(of.id, {
          name,
          email,
          ...(groupId === of.group_id ? {} : { group_id: groupId }),
        })
      }
      done={(member) => <p>"{member.name}" is changed.</p>}
      {...callbacks}
    />
  );
}

export function EndMember({
  of,
  requests,
  onDone,
  onClose,
}: Pick<Props, 'requests' | 'onDone' | 'onClose'> & { readonly of: Member }) {
  return (
    <ActionDialog
      title={`End "${of.name}"`}
      changes={() => [
        { what: 'State', before: of.state, after: 'ended for good: its keys are revoked' },
      ]}
      confirm="End the member"
      isDangerous
      typed={of.name}
      run={() => requests.endMember(of.id)}
      done={({ name, revoked_keys: keys }) => (
        <p>
          "{name}" has ended, and {countText(keys, 'key')} with it. Its history stays.
        </p>
      )}
      onDone={onDone}
      onClose={onClose}
    />
  );
}
