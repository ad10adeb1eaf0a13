/** The members of an account, with what each used of its budgets, and the actions on them. */

import { useState } from 'preact/hooks';
import { CreateKey } from '../keys/key-actions.js';
import type { KeyRequests } from '../keys/key-actions.js';
import type { Paged } from '../api/pages.js';
import { route, to } from '../api/router.js';
import { FilterForm, emptyText } from '../controls/filter-form.js';
import { ActionButtons, ListHead } from '../controls/list-parts.js';
import { PagedTable } from '../controls/paged-table.js';
import type { Column } from '../controls/paged-table.js';
import { Badge } from '../controls/parts.js';
import { CreateBudget, RaiseBudget, raisable } from './budget-actions.js';
import { Uses, useText } from './budget-text.js';
import { AddMember, ChangeMember, EndMember } from './member-actions.js';
import type { Budget, Group, Manager, Member } from './member-requests.js';

const LABELS = {
  key: 'Key',
  budget: 'Budget',
  raise: 'Raise',
  change: 'Change',
  end: 'End',
} as const;
type Action = keyof typeof LABELS;
type Acting = 'add' | { readonly action: Action; readonly of: Member };

/** The filter by state; the first is in force without a choice. */
export const STATES = [
  ['active', 'Active members'],
  ['ended', 'Members that have ended'],
  ['all', 'All members'],
] as const;

export function MemberList(props: {
  readonly list: Paged<Member>;
  readonly groups: readonly Group[];
  readonly reserves: readonly Budget[];
  readonly manager: Manager;
  readonly place: readonly string[];
  readonly changed: () => void;
}) {
  const { list, groups, reserves, manager, place, changed } = props;
  const [acting, setActing] = useState<Acting>();
  const { query } = route.value;
  const group = groups.find(({ id }) => id === query['group_id']);
  return (
    <section class="card" aria-label="Members">
      <ListHead
        title={`Members${group === undefined ? '' : ` of ${group.name}`}`}
        mayAct={manager.mayAct}
        add="Add a member"
        onAdd={() => {
          setActing('add');
        }}
      />
      <FilterForm kinds={STATES} fields={[{ name: 'name', label: 'Name' }]} button="Search" />
      {group !== undefined && (
        <p>
          <a href={to(place, { ...query, group_id: '' })}>Show the members of all groups</a>
        </p>
      )}
      <PagedTable
        list={list}
        what="the members"
        columns={columnsFor(groups)}
        comesBy="the oldest"
        empty={emptyText(
          { 'the name': query['name'], 'the group': group?.name },
          'There are no members yet.',
        )}
        idOf={({ id }) => id}
        rowName="data-member"
        actions={
          manager.mayAct
            ? (of) => <Buttons of={of} actions={actionsOn(of, manager)} act={setActing} />
            : undefined
        }
        file="members"
      />
      {acting !== undefined && (
        <MemberDialog
          acting={acting}
          groups={groups}
          reserves={reserves}
          manager={manager}
          onDone={changed}
          onClose={() => {
            setActing(undefined);
          }}
        />
      )}
    </section>
  );
}

function columnsFor(groups: readonly Group[]): readonly Column<Member>[] {
  const names = new Map(groups.map(({ id, name }) => [id, name]));
  return [
    {
      label: 'Member',
      value: ({ name }) => name,
      cell: ({ email, state }, name) => (
        <>
          {name} {state === 'ended' && <Badge tone="plain">ended</Badge>}
          {email !== null && <span class="when">{email}</span>}
        </>
      ),
    },
    {
      label: 'Group',
      value: ({ group_id: id }) => (id === null ? null : (names.get(id) ?? id)),
    },
    {
      label: 'Used',
      value: ({ budgets = [] }) => (budgets.length === 0 ? null : budgets.map(useText).join('; ')),
      cell: ({ name, budgets = [] }, shown) =>
        budgets.length === 0 ? shown : <Uses of={name} budgets={budgets} />,
    },
  ];
}

function actionsOn({ state, budgets }: Member, manager: Manager): readonly Action[] {
  if (state === 'ended') return [];
  return ['key', 'budget', ...raiseIf(raisable(manager, budgets).length > 0), 'change', 'end'];
}

function raiseIf(isPossible: boolean): readonly Action[] {
  return isPossible ? ['raise'] : [];
}

function Buttons(props: {
  readonly of: Member;
  readonly actions: readonly Action[];
  readonly act: (acting: Acting) => void;
}) {
  const { of, actions, act } = props;
  return (
    <ActionButtons
      name={of.name}
      actions={actions}
      labels={LABELS}
      danger="end"
      act={(action) => {
        act({ action, of });
      }}
    />
  );
}

function MemberDialog(props: {
  readonly acting: Acting;
  readonly groups: readonly Group[];
  readonly reserves: readonly Budget[];
  readonly manager: Manager;
  readonly onDone: () => void;
  readonly onClose: () => void;
}) {
  const { acting, manager, ...others } = props;
  const { requests } = manager;
  if (acting === 'add') return <AddMember requests={requests} {...others} />;
  const { action, of } = acting;
  switch (action) {
    case 'key': {
      const create: KeyRequests['create'] = (given) => requests.createKey(of.id, given);
      return <CreateKey requests={{ create }} {...others} />;
    }
    case 'budget':
      return <CreateBudget of={of} requests={requests} {...others} />;
    case 'raise': {
      const [first, ...more] = raisable(manager, of.budgets);
      if (first === undefined) return null;
      return (
        <RaiseBudget of={of.name} choices={[first, ...more]} requests={requests} {...others} />
      );
    }
    case 'change':
      return <ChangeMember of={of} requests={requests} {...others} />;
    case 'end':
      return <EndMember of={of} requests={requests} {...others} />;
  }
}
