/** Operations on groups and members: who spends the money of an account. */

import { z } from 'zod';
import {
  MAX_DEPTH,
  MAX_GROUPS,
  MAX_MEMBERS,
  mostOf,
  subjectOfBudget,
} from '@gateway/balance-store';
import type { BudgetRecord, MemberRecord } from '@gateway/balance-store';
import { creationIdBy } from '../../base/repeat-ids.js';
import {
  externalId,
  groupId,
  help,
  idempotencyId,
  memberId,
  metadata,
  name,
  noticeEmail,
  ofCursor,
  ofOneAccount,
  pageSize,
  partOfName,
  withExternalId,
} from '../fields.js';
import { cursorAfter, lastOf, list } from '../list.js';
import { invalidInput, notFound, refusingTakenIds } from '../operation-error.js';
import * as schema from '../schemas.js';
import { groupView, memberView } from '../schemas/spenders.js';
import { groupsIn } from '../schemas/basics.js';
import { createdBy } from './created-spender.js';
import { withOwnBudgets } from './own-budgets.js';
import { operation } from './spender-operation.js';
import type { SpenderContext } from './spender-operation.js';

const oneMember = z.strictObject({ member_id: memberId });
const withBudgets = z
  .enum(['budgets'])
  .optional()
  .register(help, { says: 'also what each one used of its own budgets' });

const groupOperations = {
  createGroup: operation({
    method: 'post',
    path: '/admin/groups',
    summary: 'A new group of members, such as a course or a cost centre',
    right: 'change',
    input: z.strictObject({
      account_id: ofOneAccount,
      parent_id: groupId
        .optional()
        .register(help, { says: 'the group above it; default: none. It never changes' }),
      name,
      external_id: externalId.optional(),
      metadata: metadata.optional(),
      idempotency_key: idempotencyId.optional(),
    }),
    output: schema.newGroup,
    async run(input, { store, by }) {
      const { parent_id: parentId } = input;
      const result = await store.createGroup(
        {
          accountId: input.account_id,
          parentId,
          name: input.name,
          externalId: input.external_id,
          metadata: input.metadata,
        },
        { creationId: creationIdBy(by, input.idempotency_key), by },
      );
      if (result.outcome === 'too_many' && (await isDeepest(parentId, store))) {
        const problem = `parent_id: groups are at most ${String(MAX_DEPTH)} levels deep`;
        throw invalidInput(problem);
      }
      const described = { owner: 'group', groupField: 'parent_id' } as const;
      const most = { most: mostOf(MAX_GROUPS, by), what: 'groups' };
      const { record, replayed } = createdBy(result, { ...described, ...most });
      return { ...groupView(record), replayed };
    },
  }),

  listGroups: operation({
    method: 'get',
    path: '/admin/groups',
    summary: 'The groups of an account, the oldest first',
    right: 'read',
    input: z.strictObject({
      account_id: ofOneAccount,
      limit: pageSize,
      after: groupId.optional().register(help, ofCursor),
      name: partOfName,
      external_id: withExternalId,
      with: withBudgets,
    }),
    output: schema.listOf(schema.group),
    async run({ account_id, external_id, with: also, ...page }, { store, now }) {
      const filter = { ...page, accountId: account_id, externalId: external_id };
      const groups = await store.listGroups(filter);
      const shown =
        also === undefined
          ? groups
          : await withOwnBudgets(
              groups,
              ({ scope, subject }, { id }) =>
                scope === 'group' && subject === id ? '' : undefined,
              { store, now },
            );
      return list(shown.map(groupView), lastOf(groups, page));
    },
  }),

  showGroup: operation({
    method: 'get',
    path: '/admin/groups/:group_id',
    summary: 'One group',
    right: 'read',
    input: z.strictObject({ group_id: groupId }),
    output: schema.group,
    run: async ({ group_id }, { store }) =>
      groupView((await store.getGroup(group_id)) ?? unknown('group')),
  }),

  updateGroup: operation({
    method: 'patch',
    path: '/admin/groups/:group_id',
    summary: 'Changes a group',
    right: 'change',
    input: z.strictObject({
      group_id: groupId,
      name: name.optional(),
      external_id: externalId
        .nullable()
        .optional()
        .register(help, { says: 'your own id for the group, or none to remove it' }),
      metadata: metadata.optional(),
    }),
    output: schema.group,
    async run({ group_id, name, external_id: externalId, metadata }, { store, by }) {
      const change = { name, externalId, metadata };
      const record = await refusingTakenIds('group', () => store.updateGroup(group_id, change, by));
      return groupView(record ?? unknown('group'));
    },
  }),
} as const;

export const memberOperations = {
  ...groupOperations,

  createMember: operation({
    method: 'post',
    path: '/admin/members',
    summary: "A new member: a person or a program that spends an account's money",
    right: 'change',
    input: z.strictObject({
      account_id: ofOneAccount,
      group_id: groupId.optional().register(help, { says: 'its group; default: none' }),
      name,
      external_id: externalId.optional(),
      email: noticeEmail.optional().register(help, { says: 'its mail address' }),
      metadata: metadata.optional(),
      idempotency_key: idempotencyId.optional(),
    }),
    output: schema.newMember,
    async run(input, { store, by }) {
      const result = await store.createMember(
        {
          accountId: input.account_id,
          groupId: input.group_id,
          name: input.name,
          externalId: input.external_id,
          email: input.email,
          metadata: input.metadata,
        },
        { creationId: creationIdBy(by, input.idempotency_key), by },
      );
      const { record, replayed } = createdBy(result, {
        groupField: 'group_id',
        most: mostOf(MAX_MEMBERS, by),
        what: 'members',
      });
      return { ...memberView(record), replayed };
    },
  }),

  listMembers: operation({
    method: 'get',
    path: '/admin/members',
    summary: 'The members of an account, the oldest first',
    right: 'read',
    input: z.strictObject({
      account_id: ofOneAccount,
      limit: pageSize,
      after: memberId.optional().register(help, ofCursor),
      name: partOfName,
      external_id: withExternalId,
      email: noticeEmail
        .optional()
        .register(help, { says: 'only those with this mail address; case is ignored' }),
      group_id: groupId
        .optional()
        .register(help, { says: 'only those of this group and the groups below it' }),
      state: z.enum(['active', 'ended']).optional(),
      with: withBudgets,
    }),
    output: schema.listOf(schema.member),
    async run({ account_id, external_id, group_id, with: also, ...input }, { store, now }) {
      const members = await store.listMembers({
        ...input,
        accountId: account_id,
        externalId: external_id,
        groupId: group_id,
      });
      const shown =
        also === undefined ? members : await withOwnBudgets(members, memberSubject, { store, now });
      return list(shown.map(memberView), lastOf(members, input));
    },
  }),

  showMember: operation({
    method: 'get',
    path: '/admin/members/:member_id',
    summary: 'One member',
    right: 'read',
    input: oneMember,
    output: schema.member,
    run: async ({ member_id }, { store }) =>
      memberView((await store.getMember(member_id)) ?? unknown('member')),
  }),

  updateMember: operation({
    method: 'patch',
    path: '/admin/members/:member_id',
    summary: 'Changes a member. What it spent before stays with its former group',
    right: 'change',
    input: z.strictObject({
      member_id: memberId,
      name: name.optional(),
      group_id: groupId.nullable().optional().register(help, { says: 'its group, or none' }),
      external_id: externalId
        .nullable()
        .optional()
        .register(help, { says: 'your own id for the member, or none to remove it' }),
      email: noticeEmail
        .nullable()
        .optional()
        .register(help, { says: 'its mail address, or none' }),
      metadata: metadata.optional(),
    }),
    output: schema.member,
    async run({ member_id, ...input }, { store, by }) {
      const { name, group_id: groupId, external_id: externalId, email, metadata } = input;
      const change = { name, groupId, externalId, email, metadata };
      const record = await refusingTakenIds('member', () =>
        store.updateMember(member_id, change, by),
      );
      if (record === 'unknown_group') throw notFound('group_id', 'group');
      return memberView(record ?? unknown('member'));
    },
  }),

  endMember: operation({
    method: 'post',
    path: '/admin/members/:member_id/end',
    summary: 'Ends a member for good, and revokes its keys; its history stays',
    right: 'change',
    input: oneMember,
    output: schema.endedMember,
    async run({ member_id }, { store, by }) {
      const before = (await store.getMember(member_id)) ?? unknown('member');
      const revoked_keys = before.state === 'ended' ? 0 : await countKeys(before, store);
      const record = (await store.endMember(member_id, by)) ?? unknown('member');
      return { ...memberView(record), revoked_keys };
    },
  }),
} as const;

/** Whose use of a budget is that of the member alone. */
function memberSubject(budget: BudgetRecord, { id, groups }: MemberRecord): string | undefined {
  if (budget.scope !== 'member') return undefined;
  return subjectOfBudget(budget, '', { memberId: id, groups });
}

/** Whether no group can be below it. */
async function isDeepest(
  parentId: string | undefined,
  store: Pick<SpenderContext['store'], 'getGroup'>,
): Promise<boolean> {
  const parent = parentId === undefined ? undefined : await store.getGroup(parentId);
  return parent !== undefined && groupsIn(parent.path).length >= MAX_DEPTH;
}

/** How many keys of a member are not revoked. */
async function countKeys(
  { id: memberId, accountId }: MemberRecord,
  store: Pick<SpenderContext['store'], 'listKeys'>,
): Promise<number> {
  const page = { limit: 1_000, order: 'newest' } as const;
  let count = 0;
  for (let after: string | undefined; ;) {
    const filter = { ...page, accountId, memberId, withoutRevoked: true, after } as const;
    const keys = await store.listKeys(filter);
    count += keys.length;
    after = cursorAfter(keys, page);
    if (after === undefined) return count;
  }
}

function unknown(what: 'group' | 'member'): never {
  throw notFound(`${what}_id`, what);
}
