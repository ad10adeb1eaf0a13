/**
 * The steps that make budgets what a file declares. A budget is known by its name in its account.
 * What it counts never changes, as in all of the product: another one takes its place.
 */

import { MAX_BUDGETS } from '@gateway/balance-store';
import { problemsOfTerms } from '../../endpoints/spenders/budgets.js';
import type { OperationInput } from '../../operator/operations/operations.js';
import type { AccountState, Budget } from './account-state.js';
import { asSent } from './declared-file.js';
import type { Declared, Placed } from './declared-file.js';
import { pathText, readPath } from './group-tree.js';
import type { MemberIds } from './plan-members.js';
import { planReserves } from './plan-reserves.js';
import type { Reserves } from './plan-reserves.js';
import { STAGES, differencesOf } from './steps.js';
import type { PlanBuilder } from './steps.js';

type DeclaredBudget = Declared['budgets'][number];

export function planBudgets(
  declared: readonly Placed<DeclaredBudget>[],
  account: AccountState,
  members: MemberIds,
  plan: PlanBuilder,
): void {
  const reserves = planReserves(declared, account, plan);
  let created = 0;
  for (const one of declared) {
    const { item, at } = one;
    const [existing, ...others] = account.budgets.filter(({ name }) => name === item.name);
    if (others.length > 0) {
      plan.refuse(`${at}.name: several budgets are called ${item.name}: rename all but one`);
    } else if (item.state === 'ended') {
      if (existing === undefined) plan.leave('budgets');
      else planEnd(existing, plan);
    } else {
      const scope = item.scope ?? existing?.scope;
      const named = namesIn({ at, item: { ...item, scope } }, account, members);
      if (typeof named === 'string') plan.refuse(named);
      else if (existing !== undefined) planChange(one, existing, { ...named, reserves }, plan);
      else {
        created += 1;
        planCreation(one, account, { ...named, reserves }, plan);
      }
    }
  }
  if (account.budgets.length + created > MAX_BUDGETS) {
    plan.refuse(`an account has at most ${String(MAX_BUDGETS)} budgets`);
  }
}

/** The ids of what a budget names, when the steps before have run. */
interface Named {
  readonly subject: () => string | undefined;
  readonly withinGroup: () => string | undefined;
}

interface Terms extends Named {
  readonly reserves: Reserves;
}

/** @returns the problem, if it names what there is not */
function namesIn(
  { item, at }: Placed<DeclaredBudget>,
  account: AccountState,
  members: MemberIds,
): Named | string {
  const { scope, subject, within_group: within } = item;
  const withinGroup = () => (within === undefined ? undefined : account.groups.idOf(within));
  if (within !== undefined && !account.groups.has(within)) {
    return `${at}.within_group: the account has no group ${pathText(within)}`;
  }
  if (subject === undefined) return { subject: () => undefined, withinGroup };
  switch (scope) {
    case 'group': {
      const read = readPath(subject);
      if ('problem' in read) return `${at}.subject: ${read.problem}`;
      if (!account.groups.has(read.path)) {
        return `${at}.subject: the account has no group ${subject}`;
      }
      return { subject: () => account.groups.idOf(read.path), withinGroup };
    }
    case 'member':
      if (!members.has(subject)) return `${at}.subject: the account has no member ${subject}`;
      return { subject: () => members.idOf(subject), withinGroup };
    case 'key': {
      const key = account.keys.find(({ external_id }) => external_id === subject);
      if (key === undefined) return `${at}.subject: the account has no key ${subject}`;
      return { subject: () => key.id, withinGroup };
    }
    default:
      return { subject: () => subject, withinGroup };
  }
}

function planCreation(
  { item, at }: Placed<DeclaredBudget>,
  account: AccountState,
  { subject: subjectId, withinGroup, reserves }: Terms,
  plan: PlanBuilder,
): void {
  const { scope, amount_usd, period, subject, within_group } = item;
  for (const [field, value] of Object.entries({ scope, amount_usd, period })) {
    if (value === undefined) plan.refuse(`${at}.${field}: must be given for a new budget`);
  }
  if (scope === undefined || amount_usd === undefined || period === undefined) return;
  const terms = { scope, period, within_group: within_group && pathText(within_group) };
  for (const [field, problem] of problemsOfTerms({ ...terms, subject: subject && IDS[scope] })) {
    plan.refuse(`${at}.${field}: ${problem}`);
  }
  const { name, account: _account, state: _state, contact, then, ...rest } = item;
  const shown = { ...asSent(rest), ...(within_group && { within_group: pathText(within_group) }) };
  const others = { contact: contact ?? undefined, then: then ?? undefined };
  plan.add({
    stage: STAGES.budgets + reserves.after(name),
    does: 'create',
    what: `budget ${name}`,
    differences: differencesOf({ ...shown, ...others }, {}),
    async run(call) {
      const input = {
        ...asSent(rest),
        ...(contact == null ? {} : { contact }),
        account_id: account.id(),
        name,
        subject: subjectId(),
        within_group: withinGroup(),
        then: then == null ? undefined : reserves.idOf(then),
      } as OperationInput<'createBudget'>;
      const { id } = await call('createBudget', input);
      reserves.isCreated(name, id);
    },
  });
}

/** Ids of the form that subjects have, in place of those that are not known yet. */
const IDS = {
  account: 'any',
  group: 'grp_any',
  member: 'mem_any',
  key: 'key_any',
  tag: 'any',
  run: 'any',
  reserve: 'any',
} as const;

const TERMS = ['scope', 'subject', 'within_group', 'period', 'time_zone', 'from', 'until'] as const;

function planChange(
  { item, at }: Placed<DeclaredBudget>,
  existing: Budget,
  named: Terms,
  plan: PlanBuilder,
): void {
  const { scope, subject, within_group, amount_usd, action, shares, contact, then } = item;
  // Without them, a declared scope is that of a budget that each one has.
  const isWhole = scope !== undefined;
  const terms: Readonly<Record<string, unknown>> = {
    ...asSent(item),
    subject: isWhole || subject !== undefined ? (named.subject() ?? null) : undefined,
    within_group: isWhole || within_group !== undefined ? (named.withinGroup() ?? null) : undefined,
  };
  const other = TERMS.find(
    (term) => terms[term] !== undefined && terms[term] !== (existing[term] ?? null),
  );
  if (other !== undefined) {
    const cure = 'end the budget, or give the new one another name';
    plan.refuse(`${at}.${other}: what a budget counts never changes: ${cure}`);
    return;
  }
  const { reserves } = named;
  const changed = differencesOf(asSent({ amount_usd, action, shares, contact }), existing);
  const payer = differencesOf({ then }, { then: reserves.nameOf(existing.then) });
  const differences = [...changed, ...payer];
  if (differences.length === 0) {
    plan.leave('budgets');
    return;
  }
  plan.add({
    stage: STAGES.budgets + reserves.after(existing.name),
    does: 'change',
    what: `budget ${existing.name}`,
    differences,
    async run(call) {
      await call('updateBudget', {
        budget_id: existing.id,
        ...Object.fromEntries(changed.map(({ field, after }) => [field, after])),
        ...(payer.length === 0 ? {} : { then: then == null ? null : reserves.idOf(then) }),
      });
    },
  });
}

function planEnd(budget: Budget, plan: PlanBuilder): void {
  plan.add({
    stage: STAGES.ends,
    does: 'end',
    what: `budget ${budget.name}`,
    differences: [],
    async run(call) {
      await call('endBudget', { budget_id: budget.id });
    },
  });
}
