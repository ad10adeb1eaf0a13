/** The steps that make the members of an account what a file declares. */

import { MAX_MEMBERS } from '@gateway/balance-store';
import { metadata } from '../../endpoints/fields.js';
import type { OperationInput } from '../../operator/operations/operations.js';
import type { AccountState, Member } from './account-state.js';
import { pathText } from './group-tree.js';
import type { GroupPath } from './group-tree.js';
import { STAGES, differencesOf } from './steps.js';
import type { PlanBuilder } from './steps.js';

/** What is absent is not declared; `null` is declared to be none. */
export interface DeclaredMember {
  /** Where a field is in the file, for problems. */
  readonly place: (field: string) => string;
  readonly externalId: string;
  readonly name?: string | undefined;
  readonly email?: string | null | undefined;
  readonly group?: GroupPath | null | undefined;
  /** Pairs that are not named stay. */
  readonly metadata?: Readonly<Record<string, string | null>> | undefined;
  readonly state?: 'active' | 'ended' | undefined;
}

/** The ids of members by their external ids, also of those that a plan creates. */
export interface MemberIds {
  idOf(externalId: string): string | undefined;
  has(externalId: string): boolean;
}

/**
 * @returns the ids of all members, once the steps have run
 */
export function planMembers(
  declared: readonly DeclaredMember[],
  account: AccountState,
  plan: PlanBuilder,
): MemberIds {
  const created = new Map<string, string>();
  const planned = new Set<string>();
  for (const member of declared) {
    const existing = account.members.get(member.externalId);
    if (isRefused(member, existing, account, plan)) continue;
    if (member.state === 'ended') {
      if (existing === undefined || existing.state === 'ended') plan.leave('members');
      else planEnd(existing, plan);
    } else if (existing === undefined) {
      planned.add(member.externalId);
      planCreation(member, account, plan, (id) => created.set(member.externalId, id));
    } else {
      planChange(member, existing, account, plan);
    }
  }
  if (account.memberCount + planned.size > MAX_MEMBERS) {
    plan.refuse(`an account has at most ${String(MAX_MEMBERS)} members`);
  }
  return {
    idOf: (externalId) => account.members.get(externalId)?.id ?? created.get(externalId),
    has: (externalId) => account.members.has(externalId) || planned.has(externalId),
  };
}

/** Also plans the groups that are missing. */
function isRefused(
  member: DeclaredMember,
  existing: Member | undefined,
  account: AccountState,
  plan: PlanBuilder,
): boolean {
  const { place, group, name, state } = member;
  const problems: string[] = [];
  if (existing?.state === 'ended' && state !== 'ended') {
    const problem = 'belongs to a member that has ended, which cannot be undone';
    problems.push(`${place('external_id')}: ${problem}`);
  }
  if (existing === undefined && name === undefined && state !== 'ended') {
    problems.push(`${place('name')}: must be given for a new member`);
  }
  if (group != null && account.groups.isAmbiguous(group)) {
    const problem = `several groups are called ${pathText(group)}: rename all but one`;
    problems.push(`${place('group')}: ${problem}`);
  }
  const pairs = metadata.safeParse(mergedMetadata(member, existing));
  if (!pairs.success) {
    problems.push(`${place('metadata')}: ${pairs.error.issues[0]?.message ?? 'cannot be used'}`);
  }
  for (const problem of problems) plan.refuse(problem);
  if (problems.length === 0 && group != null) account.groups.plan(group, account.id, plan);
  return problems.length > 0;
}

export function mergedMetadata(
  { metadata: pairs }: Pick<DeclaredMember, 'metadata'>,
  existing: { readonly metadata: Readonly<Record<string, string>> } | undefined,
): Readonly<Record<string, string>> {
  const merged = Object.entries({ ...existing?.metadata, ...pairs });
  return Object.fromEntries(
    merged.flatMap(([name, value]) => (value === null ? [] : [[name, value] as const])),
  );
}

export const memberText = (externalId: string, name: string): string =>
  `member ${externalId} (${name})`;

function planCreation(
  { externalId, name = '', email, group, metadata: pairs }: DeclaredMember,
  account: AccountState,
  plan: PlanBuilder,
  onCreated: (id: string) => void,
): void {
  plan.add({
    stage: STAGES.members,
    does: 'create',
    what: memberText(externalId, name),
    differences: [
      ...(group == null ? [] : [{ field: 'group', before: null, after: pathText(group) }]),
      ...(email == null ? [] : [{ field: 'email', before: null, after: email }]),
    ],
    isShared: true,
    async run(call) {
      const { id } = await call('createMember', {
        account_id: account.id(),
        name,
        external_id: externalId,
        metadata: mergedMetadata({ metadata: pairs }, undefined),
        ...(email == null ? {} : { email }),
        ...(group == null ? {} : { group_id: account.groups.idOf(group) }),
      });
      onCreated(id);
    },
  });
}

function planChange(
  member: DeclaredMember,
  existing: Member,
  account: AccountState,
  plan: PlanBuilder,
): void {
  const { name, email, group, metadata: pairs } = member;
  const before = existing.group_id === null ? null : account.groups.pathOf(existing.group_id);
  const merged = mergedMetadata(member, existing);
  const moved = group === null ? null : group === undefined ? undefined : pathText(group);
  const changed = pairs === undefined ? [] : metadataDifferences(existing.metadata, merged);
  const differences = [
    ...differencesOf({ name, email }, existing),
    ...differencesOf({ group: moved }, { group: before }),
    ...changed,
  ];
  if (differences.length === 0) {
    plan.leave('members');
    return;
  }
  const fields = new Set(differences.map(({ field }) => field));
  plan.add({
    stage: STAGES.members,
    does: 'change',
    what: memberText(member.externalId, existing.name),
    differences,
    async run(call) {
      const change: OperationInput<'updateMember'> = {
        member_id: existing.id,
        ...(fields.has('name') ? { name } : {}),
        ...(fields.has('email') ? { email } : {}),
        ...(fields.has('group')
          ? { group_id: group == null ? null : account.groups.idOf(group) }
          : {}),
        ...(changed.length > 0 ? { metadata: merged } : {}),
      };
      await call('updateMember', change);
    },
  });
}

/** One difference for each pair, so that a person sees which one changes. */
export function metadataDifferences(
  before: Readonly<Record<string, string>>,
  after: Readonly<Record<string, string>>,
) {
  const named = (pairs: Readonly<Record<string, string>>) =>
    Object.fromEntries(Object.entries(pairs).map(([name, value]) => [`metadata.${name}`, value]));
  const removed = Object.keys(before).filter((name) => !(name in after));
  const gone = Object.fromEntries(removed.map((name) => [`metadata.${name}`, null]));
  return differencesOf({ ...named(after), ...gone }, named(before));
}

export function planEnd(member: Member, plan: PlanBuilder): void {
  plan.add({
    stage: STAGES.ends,
    does: 'end',
    what: `${memberText(member.external_id ?? member.id, member.name)}, and revoke the keys`,
    differences: [],
    async run(call) {
      await call('endMember', { member_id: member.id });
    },
  });
}
