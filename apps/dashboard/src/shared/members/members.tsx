/** Who spends the money of an account: its groups, its members and its budgets. */

import { pageLimit, usePages } from '../api/pages.js';
import { route } from '../api/router.js';
import { optionOf } from '../controls/parts.js';
import { BudgetList } from './budget-list.js';
import { GroupTree } from './group-tree.js';
import { MemberList, STATES } from './member-list.js';
import type { Manager } from './member-requests.js';
import { mayChangeBudget } from './member-requests.js';

/** As many as the gateway sends at once: the tree needs the groups above each one. */
const MOST_GROUPS = 1_000;

/** @param props.place - Where this is on the page. */
export function Members({
  place,
  manager,
}: {
  readonly place: readonly string[];
  readonly manager: Manager;
}) {
  const { requests } = manager;
  const of = place.join('/');
  const { name, group_id, kind } = route.value.query;
  const state = optionOf(STATES, kind);
  const filter = { name, group_id, state: state === 'all' ? undefined : state };
  const groups = usePages(`groups of ${of}`, (after, signal) =>
    requests.groups({ limit: MOST_GROUPS, after, signal }),
  );
  const members = usePages(`members of ${of} ${JSON.stringify(filter)}`, (after, signal) =>
    requests.members(filter, { limit: pageLimit(after), after, signal }),
  );
  const budgets = usePages(`budgets of ${of}`, (after, signal) =>
    requests.budgets({ limit: pageLimit(after), after, signal }),
  );
  // Each list shows something of the others: a group its budgets, a budget the name of its group.
  const changed = () => {
    for (const list of [groups, members, budgets]) list.reload();
  };
  const reserves = (budgets.items ?? []).filter(
    (budget) => budget.scope === 'reserve' && mayChangeBudget(manager, budget),
  );
  const shared = { manager, changed, groups: groups.items ?? [], reserves };
  return (
    <div class="stack">
      <div class="beside">
        <GroupTree list={groups} manager={manager} place={place} changed={changed} />
        <MemberList list={members} place={place} {...shared} />
      </div>
      <BudgetList list={budgets} {...shared} />
    </div>
  );
}
