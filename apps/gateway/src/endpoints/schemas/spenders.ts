/** Who spends an account's money, and how much: groups, members and budgets. */

import { z } from 'zod';
import { BUDGET_PERIODS, BUDGET_SCOPES } from '@gateway/balance-store';
import type {
  BudgetRaise,
  BudgetRecord,
  BudgetUse,
  GroupRecord,
  MemberRecord,
} from '@gateway/balance-store';
import { formatUsd } from '@gateway/billing';
import type { ResultOf } from '../endpoint.js';
import { cellsOf, linesOf, membersFrom, viewFor } from '../resource.js';
import type { OwnBudget } from '../spenders/own-budgets.js';
import {
  addedName,
  count,
  groupsIn,
  isoOf,
  metadataText,
  orNull,
  text,
  time,
  usd,
} from './basics.js';

const ofOwn = membersFrom<OwnBudget>();

const ownBudget = viewFor(
  'holders',
  {
    budget_id: ofOwn.everyone(text, ({ budget }) => budget.id),
    subject: ofOwn.everyone(
      orNull(text).meta({ description: 'whose it is, of a budget that each one has' }),
      ({ subject }) => (subject === '' ? null : subject),
    ),
    name: ofOwn.everyone(text, ({ budget }) => budget.name),
    period: ofOwn.everyone(z.enum(BUDGET_PERIODS), ({ budget }) => budget.period),
    until: ofOwn.everyone(orNull(time), ({ budget }) => isoOf(budget.until)),
    amount_usd: ofOwn.everyone(usd.meta({ description: 'with raises' }), ({ amount }) =>
      formatUsd(amount),
    ),
    used_usd: ofOwn.everyone(usd, ({ used }) => formatUsd(used)),
    action: ofOwn.everyone(z.enum(['refuse', 'notify']), ({ budget }) => budget.action),
    created_by: ofOwn.everyone(z.enum(['operator', 'holder']), ({ budget }) => budget.createdBy),
  },
  { id: 'OwnBudget' },
);

/** Read only where somebody asks for them. */
interface WithBudgets {
  readonly budgets?: readonly OwnBudget[];
}

const ownBudgets = z
  .array(ownBudget.schema)
  .exactOptional()
  .meta({ description: 'with=budgets: its own budgets, and what it used of each in its period' });

const ofGroup = membersFrom<GroupRecord & WithBudgets>();

export const groupMembers = {
  object: ofGroup.everyone(z.literal('group'), () => 'group' as const),
  id: ofGroup.everyone(text, ({ id }) => id, 'id'),
  account_id: ofGroup.everyone(text, ({ accountId }) => accountId, 'account'),
  parent_id: ofGroup.everyone(
    orNull(text).meta({ description: 'the group above it' }),
    ({ path }) => groupsIn(path).at(-2) ?? null,
    'in',
  ),
  groups: ofGroup.everyone(
    z.array(text).meta({ description: 'itself, last, after the groups above it' }),
    ({ path }) => groupsIn(path),
  ),
  name: ofGroup.everyone(text, ({ name }) => name, 'name'),
  external_id: ofGroup.everyone(orNull(text), ({ externalId }) => externalId, 'external id'),
  metadata: ofGroup.everyone(z.record(text, text), ({ metadata }) => metadata, 'metadata'),
  created_at: ofGroup.everyone(time, ({ createdAt }) => createdAt.toISOString(), 'created'),
  budgets: ofGroup.everyone(ownBudgets, ({ budgets }) => budgets?.map(ownBudget.view)),
} as const;

export const { schema: group, view: groupView } = viewFor('operators', groupMembers, {
  id: 'Group',
});

/** A group in the command line. */
export const groupLines = linesOf(groupMembers, [
  'id',
  'account_id',
  'parent_id',
  'name',
  'external_id',
  ['metadata', metadataText],
  'created_at',
]);

/** A list of groups in the command line. */
export const groupCells = cellsOf(
  groupMembers,
  ['id', 'parent_id', 'name', 'external_id'],
  ['external_id', 'parent_id'],
);

const ofMember = membersFrom<MemberRecord & WithBudgets>();

export const memberMembers = {
  object: ofMember.everyone(z.literal('member'), () => 'member' as const),
  id: ofMember.everyone(text, ({ id }) => id, 'id'),
  account_id: ofMember.everyone(text, ({ accountId }) => accountId, 'account'),
  group_id: ofMember.everyone(orNull(text), ({ groupId }) => groupId, 'group', 'none'),
  groups: ofMember.everyone(
    z.array(text).meta({ description: 'its group, last, after the groups above it' }),
    ({ groups }) => groupsIn(groups),
  ),
  name: ofMember.everyone(text, ({ name }) => name, 'name'),
  external_id: ofMember.everyone(orNull(text), ({ externalId }) => externalId, 'external id'),
  email: ofMember.everyone(orNull(text), ({ email }) => email, 'mail'),
  metadata: ofMember.everyone(z.record(text, text), ({ metadata }) => metadata, 'metadata'),
  state: ofMember.everyone(
    z.enum(['active', 'ended']).meta({
      description: 'ended: its keys are revoked, and no request can name it; its history stays',
    }),
    ({ state }) => state,
    'state',
  ),
  created_at: ofMember.everyone(time, ({ createdAt }) => createdAt.toISOString(), 'created'),
  budgets: ofMember.everyone(ownBudgets, ({ budgets }) => budgets?.map(ownBudget.view)),
} as const;

export const { schema: member, view: memberView } = viewFor('operators', memberMembers, {
  id: 'Member',
});

/** A member in the command line. */
export const memberLines = linesOf(memberMembers, [
  'id',
  'account_id',
  'group_id',
  'name',
  'external_id',
  'email',
  ['metadata', metadataText],
  'state',
  'created_at',
]);

/** A list of members in the command line. */
export const memberCells = cellsOf(
  memberMembers,
  ['id', 'name', 'external_id', 'email', 'group_id', 'state'],
  ['group_id', 'external_id', 'email', 'state'],
);

/** With the names of what it names, where they were read. */
interface NamedBudget extends BudgetRecord {
  readonly names?: ReadonlyMap<string, string>;
}

const ofBudget = membersFrom<NamedBudget>();

export const budgetMembers = {
  object: ofBudget.everyone(z.literal('budget'), () => 'budget' as const),
  id: ofBudget.everyone(text, ({ id }) => id, 'id'),
  account_id: ofBudget.everyone(text, ({ accountId }) => accountId, 'account'),
  name: ofBudget.everyone(text, ({ name }) => name, 'name'),
  scope: ofBudget.everyone(z.enum(BUDGET_SCOPES), ({ scope }) => scope, 'for'),
  subject: ofBudget.everyone(
    orNull(text).meta({
      description:
        'the id of the group, with all groups below it, of the member or of the key, or the text ' +
        'of the tag or the run; null: each one has this budget, or it is for the whole account',
    }),
    ({ subject }) => subject,
  ),
  within_group: ofBudget.everyone(
    orNull(text).meta({
      description: 'counts only what members of this group, or of groups below it, spend',
    }),
    ({ withinGroup }) => withinGroup,
  ),
  only_for: ofBudget.everyone(
    orNull(text).meta({
      description: 'of a run that a request gave a budget: the member or the key whose run it is',
    }),
    ({ onlyFor }) => onlyFor,
    'only for',
  ),
  subject_name: ofBudget.everyone(addedName, ({ subject, names }) => nameOf(subject, names)),
  within_group_name: ofBudget.everyone(addedName, ({ withinGroup, names }) =>
    nameOf(withinGroup, names),
  ),
  only_for_name: ofBudget.everyone(addedName, ({ onlyFor, names }) => nameOf(onlyFor, names)),
  amount_usd: ofBudget.everyone(usd, ({ amount }) => formatUsd(amount), 'amount'),
  period: ofBudget.everyone(
    z.enum(BUDGET_PERIODS).meta({
      description: 'weeks begin on Mondays; once: from `from` to `until`, or for ever',
    }),
    ({ period }) => period,
    'period',
  ),
  time_zone: ofBudget.everyone(
    text.meta({ description: 'in which periods begin' }),
    ({ zone }) => zone,
  ),
  from: ofBudget.everyone(orNull(time), ({ from }) => isoOf(from), 'from'),
  until: ofBudget.everyone(
    orNull(time).meta({ description: 'when it ends to count' }),
    ({ until }) => isoOf(until),
    'until',
  ),
  action: ofBudget.everyone(
    z.enum(['refuse', 'notify']).meta({ description: 'what happens when it is used up' }),
    ({ action }) => action,
    'when used up',
  ),
  shares: ofBudget.everyone(
    z.array(z.int()).meta({ description: 'percent of it at which an event is written' }),
    ({ shares }) => [...shares],
    'notices at (%)',
    'none',
  ),
  contact: ofBudget.everyone(
    orNull(text).meta({ description: 'whom a spender is told to ask for more' }),
    ({ contact }) => contact,
    'contact',
  ),
  then: ofBudget.everyone(
    orNull(text).meta({ description: 'the reserve that pays when it is used up' }),
    ({ thenId }) => thenId,
    'then',
    'none',
  ),
  then_name: ofBudget.everyone(addedName, ({ thenId, names }) => nameOf(thenId, names)),
  is_ended: ofBudget.everyone(
    z.boolean().meta({ description: 'whether it was ended: it counts and refuses nothing more' }),
    ({ isEnded }) => isEnded,
    'state',
  ),
  created_at: ofBudget.everyone(time, ({ createdAt }) => createdAt.toISOString(), 'created'),
  created_by: ofBudget.everyone(
    z.enum(['operator', 'holder']).meta({
      description: 'holders of keys with the scope manage may change only what a holder created',
    }),
    ({ createdBy }) => createdBy,
    'created by',
  ),
} as const;

function nameOf(id: string | null, names: NamedBudget['names']): string | null | undefined {
  return names === undefined ? undefined : (names.get(id ?? '') ?? null);
}

export const { schema: budget, view: budgetView } = viewFor('operators', budgetMembers, {
  id: 'Budget',
});

type Budget = ResultOf<typeof budget>;

/** A budget in the command line. */
export const budgetLines = linesOf(budgetMembers, [
  'id',
  'account_id',
  'name',
  ['scope', subjectText],
  'only_for',
  'amount_usd',
  ['period', periodText],
  'from',
  'until',
  'action',
  'shares',
  'contact',
  'then',
  ['is_ended', stateText],
  'created_at',
  'created_by',
]);

/** A list of budgets in the command line. */
export const budgetCells = cellsOf(
  budgetMembers,
  [
    'id',
    'name',
    ['scope', subjectText],
    'amount_usd',
    ['period', periodText],
    'action',
    ['is_ended', stateText],
  ],
  ['action', 'is_ended', 'scope', 'period'],
);

function subjectText({ scope, subject, within_group: group }: Budget): string {
  if (scope === 'account') return 'the account';
  if (scope === 'reserve') return 'what other budgets pass on';
  return `${subject === null ? 'each ' : ''}${scope}${subject === null ? '' : ` ${subject}`}${
    group === null ? '' : ` in ${group}`
  }`;
}

function periodText({ period, time_zone: zone }: Budget): string {
  return period === 'once' ? period : `${period} (${zone})`;
}

function stateText({ is_ended: isEnded }: Budget): string {
  return isEnded ? 'ended' : 'in force';
}

const ofRaise = membersFrom<BudgetRaise>();

export const raiseMembers = {
  object: ofRaise.everyone(z.literal('budget_raise'), () => 'budget_raise' as const),
  id: ofRaise.everyone(text, ({ id }) => id, 'id'),
  budget_id: ofRaise.everyone(text, ({ budgetId }) => budgetId, 'budget'),
  account_id: ofRaise.everyone(text, ({ accountId }) => accountId, 'account'),
  subject: ofRaise.everyone(
    orNull(text).meta({ description: 'of a budget that each one has: whose; null: for all' }),
    ({ subject }) => subject,
    'only for',
  ),
  amount_usd: ofRaise.everyone(usd, ({ amount }) => formatUsd(amount), 'amount'),
  from: ofRaise.everyone(time, ({ from }) => from.toISOString(), 'from'),
  until: ofRaise.everyone(time, ({ until }) => until.toISOString(), 'until'),
} as const;

export const { schema: raise, view: raiseView } = viewFor('operators', raiseMembers, {
  id: 'BudgetRaise',
});

/** A raise in the command line. */
export const raiseLines = linesOf(raiseMembers, [
  'id',
  'budget_id',
  'account_id',
  'subject',
  'amount_usd',
  'from',
  'until',
]);

/** The raises of a budget in the command line. */
export const raiseCells = cellsOf(
  raiseMembers,
  ['id', 'subject', 'amount_usd', 'until'],
  ['subject'],
);

/** A use of a budget, with its raises. */
export interface UseOfBudget extends Pick<BudgetUse, 'subject' | 'amount' | 'used' | 'startsAt'> {
  /** That of the member or the key whose it is. */
  readonly name: string | undefined;
}

const ofUse = membersFrom<UseOfBudget>();

const useMembers = {
  subject: ofUse.everyone(
    orNull(text).meta({ description: 'of a budget that each one has: whose it is' }),
    ({ subject }) => (subject === '' ? null : subject),
    'who',
  ),
  subject_name: ofUse.everyone(orNull(text), ({ name }) => name ?? null),
  amount_usd: ofUse.everyone(
    usd.meta({ description: 'with the raises that are in force' }),
    ({ amount }) => formatUsd(amount),
    'amount',
  ),
  used_usd: ofUse.everyone(usd, ({ used }) => formatUsd(used), 'used'),
  starts_at: ofUse.everyone(
    orNull(time).meta({ description: 'when the current period began' }),
    ({ startsAt }) => isoOf(startsAt),
    'since',
  ),
} as const;

export const { schema: budgetUse, view: useView } = viewFor('operators', useMembers, {
  id: 'BudgetUse',
});

/** The uses of a budget in the command line. */
export const useCells = cellsOf(
  useMembers,
  [
    ['subject', ({ subject, subject_name: name }) => name ?? subject ?? 'all'],
    'used_usd',
    'amount_usd',
    'starts_at',
  ],
  ['starts_at'],
);

export const budgetWithUses = budget
  .extend({
    raises: z.array(raise).meta({ description: 'those that have not ended' }),
    uses: z.array(budgetUse).meta({ description: 'in the current period, the most used first' }),
  })
  .meta({ id: 'BudgetWithUses' });

const replayed = { replayed: z.boolean() };
export const newGroup = group.extend(replayed).meta({ id: 'NewGroup' });
export const newMember = member.extend(replayed).meta({ id: 'NewMember' });
export const newBudget = budget.extend(replayed).meta({ id: 'NewBudget' });
export const newRaise = raise.extend(replayed).meta({ id: 'NewBudgetRaise' });

export const endedMember = member
  .extend({ revoked_keys: count.meta({ description: 'how many of its keys this revoked' }) })
  .meta({ id: 'EndedMember' });
