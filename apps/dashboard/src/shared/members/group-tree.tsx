/** The groups of an account as a tree, each with what it used of its budgets. */

import { useState } from 'preact/hooks';
import { ActionDialog } from '../controls/actions.js';
import type { DialogCallbacks } from '../controls/actions.js';
import { Choice, Empty, FailureNote, TextField } from '../controls/parts.js';
import type { Paged } from '../api/pages.js';
import { route, to } from '../api/router.js';
import { countText } from '../text/count-text.js';
import { Uses } from './budget-text.js';
import type { Group, Manager, MemberRequests } from './member-requests.js';

/** More groups than these are closed at first, so that the members are on the first screen. */
const MOST_OPEN = 12;

export function GroupTree(props: {
  readonly list: Paged<Group>;
  readonly manager: Manager;
  /** Where the page lists members. */
  readonly place: readonly string[];
  readonly changed: () => void;
}) {
  const { list, manager, place, changed } = props;
  const [isCreating, setIsCreating] = useState(false);
  const { items: groups, failure, isLoading } = list;
  const tree = treeOf(groups ?? []);
  return (
    <section class="card" aria-label="Groups" aria-busy={isLoading}>
      <div class="row spread">
        <h2>Groups</h2>
        {manager.mayAct && (
          <button
            type="button"
            onClick={() => {
              setIsCreating(true);
            }}
          >
            Add a group
          </button>
        )}
      </div>
      {failure !== undefined && (
        <FailureNote
          failure={failure}
          what="the groups"
          retry={list.reload}
          isStale={groups !== undefined}
        />
      )}
      {groups?.length === 0 && <Empty>There are no groups. Members need none.</Empty>}
      {groups !== undefined && groups.length > 0 && (
        <details open={groups.length <= MOST_OPEN}>
          <summary>{countText(groups.length, 'group')}</summary>
          <Branch of={null} tree={tree} place={place} />
        </details>
      )}
      {list.hasMore && (
        <button type="button" disabled={isLoading} onClick={list.more}>
          Load more groups
        </button>
      )}
      {isCreating && (
        <CreateGroup
          requests={manager.requests}
          groups={groups ?? []}
          onDone={changed}
          onClose={() => {
            setIsCreating(false);
          }}
        />
      )}
    </section>
  );
}

type Tree = ReadonlyMap<string | null, readonly Group[]>;

function treeOf(groups: readonly Group[]): Tree {
  const children = new Map<string | null, Group[]>();
  for (const group of groups) {
    const siblings = children.get(group.parent_id) ?? [];
    siblings.push(group);
    children.set(group.parent_id, siblings);
  }
  return children;
}

function Branch(props: {
  readonly of: string | null;
  readonly tree: Tree;
  readonly place: readonly string[];
}) {
  const { of, tree, place } = props;
  const groups = tree.get(of) ?? [];
  if (groups.length === 0) return null;
  const { query } = route.value;
  return (
    <ul class="tree">
      {groups.map(({ id, name, budgets }) => {
        const isChosen = query['group_id'] === id;
        return (
          <li key={id} data-group={id}>
            <a
              href={to(place, { ...query, group_id: isChosen ? '' : id })}
              aria-current={isChosen ? 'true' : undefined}
            >
              {name}
            </a>
            <Uses of={name} budgets={budgets} />
            <Branch of={id} tree={tree} place={place} />
          </li>
        );
      })}
    </ul>
  );
}

/** The groups in the order of the tree, each indented below the one above it. */
export function groupOptions(
  groups: readonly Group[],
): readonly (readonly [id: string, name: string])[] {
  const children = treeOf(groups);
  const below = (of: string | null, depth: number): (readonly [string, string])[] =>
    (children.get(of) ?? []).flatMap(({ id, name }) => [
      [id, `${'\u2003'.repeat(depth)}${name}`] as const,
      ...below(id, depth + 1),
    ]);
  return below(null, 0);
}

function CreateGroup({
  requests,
  groups,
  ...callbacks
}: DialogCallbacks & { readonly requests: MemberRequests; readonly groups: readonly Group[] }) {
  const [name, setName] = useState('');
  const [parentId, setParentId] = useState('');
  return (
    <ActionDialog<Group>
      title="Add a group"
      fields={
        <>
          <TextField
            label="Name"
            required
            maxLength={200}
            value={name}
            onValue={setName}
            hint="Such as a course, a chair or a cost centre."
          />
          <Choice
            label="Below"
            value={parentId}
            options={[['', 'no other group'], ...groupOptions(groups)]}
            onValue={setParentId}
          />
        </>
      }
      problem={name.trim() === '' ? 'Name: what people call the group.' : undefined}
      confirm="Add the group"
      run={(actionId) =>
        requests.createGroup(
          { name: name.trim(), parent_id: parentId === '' ? undefined : parentId },
          actionId,
        )
      }
      done={(group) => <p>The group "{group.name}" is there. Members can be put into it.</p>}
      {...callbacks}
    />
  );
}
