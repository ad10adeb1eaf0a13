/**
 * Who spends an account's money: members (people and programs) in groups. A charge records the
 * member, its groups, a tag and a run, as they were when the request was admitted.
 */

import type { Actor } from './account.js';
import type { Metadata } from './metadata.js';

/** What a charge is attributed to besides its key. Fixed when the request is admitted. */
export interface Spender {
  readonly memberId?: string | undefined;
  /** The ids of the member's group and of the groups above it, from the top: `/grp_1/grp_2/`. */
  readonly groups?: string | undefined;
  /** A text that the client chose, such as one of its own customers. 1 to 200 characters. */
  readonly tag?: string | undefined;
  /** A coding session, or another run of a program. 1 to 200 characters. */
  readonly run?: string | undefined;
}

/** A node of the tree of an account's groups, such as a course, a chair or a cost centre. */
export interface GroupRecord {
  readonly id: string;
  readonly accountId: string;
  /** The ids of the groups from the top down to this one: `/grp_1/grp_2/`. It never changes. */
  readonly path: string;
  readonly name: string;
  /** The operator's own id. Unique among the account's groups. */
  readonly externalId: string | null;
  readonly metadata: Metadata;
  readonly createdAt: Date;
}

export interface NewGroup {
  readonly accountId: string;
  /** The group above it; none for one at the top. */
  readonly parentId?: string | undefined;
  readonly name: string;
  readonly externalId?: string | undefined;
  readonly metadata?: Metadata | undefined;
}

export interface GroupChange {
  readonly name?: string | undefined;
  readonly externalId?: string | null | undefined;
  readonly metadata?: Metadata | undefined;
}

/** `ended`: its keys are revoked, and no key can name it. What it spent stays recorded. */
export type MemberState = 'active' | 'ended';

/** A person or a program that spends the money of an account. */
export interface MemberRecord {
  readonly id: string;
  readonly accountId: string;
  readonly groupId: string | null;
  /** The path of its group; empty if it is in none. */
  readonly groups: string;
  readonly name: string;
  /** The operator's own id. Unique among the account's members. */
  readonly externalId: string | null;
  readonly email: string | null;
  readonly metadata: Metadata;
  readonly state: MemberState;
  readonly createdAt: Date;
}

export interface NewMember {
  readonly accountId: string;
  readonly groupId?: string | undefined;
  readonly name: string;
  readonly externalId?: string | undefined;
  readonly email?: string | undefined;
  readonly metadata?: Metadata | undefined;
}

export interface MemberChange {
  readonly name?: string | undefined;
  /** `null`: in no group. Charges before the change stay with the former group. */
  readonly groupId?: string | null | undefined;
  readonly externalId?: string | null | undefined;
  readonly email?: string | null | undefined;
  readonly metadata?: Metadata | undefined;
}

export interface SpenderFilter {
  readonly accountId: string;
  /** Part of the name. Case is ignored. */
  readonly name?: string | undefined;
  readonly externalId?: string | undefined;
  readonly limit: number;
  /** The id of the last one of the previous page. */
  readonly after?: string | undefined;
}

export interface MemberFilter extends SpenderFilter {
  readonly email?: string | undefined;
  /** Only members of this group or of groups below it. */
  readonly groupId?: string | undefined;
  readonly state?: MemberState | undefined;
}

/** How a creation of a group, a member or a budget ended. */
export type SpenderOutcome<Record> =
  | { readonly outcome: 'created' | 'replayed'; readonly record: Record }
  /** The creation id was used before for something else. */
  | { readonly outcome: 'conflict' }
  | { readonly outcome: 'unknown_account' | 'account_closed' }
  /** `subject` is no member, group or key of the account. */
  | { readonly outcome: 'unknown_group' | 'unknown_subject' }
  /**
   * The next budget of a chain is no reserve of the account, or has ended; or the chain would come
   * back to one of its budgets, or have more than four.
   */
  | { readonly outcome: 'unfit_next' }
  | { readonly outcome: 'external_id_taken' }
  /** The account has as many as it may have. */
  | { readonly outcome: 'too_many' };

/** Members, groups and budgets that one account may have of each. */
export const MAX_MEMBERS = 50_000;
export const MAX_GROUPS = 2_000;
export const MAX_BUDGETS = 2_000;
/** Holders of keys may create so many of them, so that there is room for what operators set. */
export function mostOf(most: number, by: Pick<Actor, 'holderOf'>): number {
  return by.holderOf === undefined ? most : most / 2;
}
/** Of the groups from the top to a member. */
export const MAX_DEPTH = 10;

export interface Attributed {
  /** Chosen by the caller; a replay with the same id changes nothing. */
  readonly creationId?: string | undefined;
  readonly by: Actor;
}

/** The operations of a balance store on members and groups. */
export interface Members {
  createGroup(group: NewGroup, options: Attributed): Promise<SpenderOutcome<GroupRecord>>;
  getGroup(groupId: string): Promise<GroupRecord | undefined>;
  /** In the order of ids, which is that of creation. */
  listGroups(filter: SpenderFilter): Promise<readonly GroupRecord[]>;
  /** @throws {ExternalIdTakenError} */
  updateGroup(groupId: string, change: GroupChange, by: Actor): Promise<GroupRecord | undefined>;

  createMember(member: NewMember, options: Attributed): Promise<SpenderOutcome<MemberRecord>>;
  getMember(memberId: string): Promise<MemberRecord | undefined>;
  /** In the order of ids, which is that of creation. */
  listMembers(filter: MemberFilter): Promise<readonly MemberRecord[]>;
  /**
   * @returns `unknown_group` if the account has no such group
   * @throws {ExternalIdTakenError}
   */
  updateMember(
    memberId: string,
    change: MemberChange,
    by: Actor,
  ): Promise<MemberRecord | 'unknown_group' | undefined>;
  /** Ends a member for good: revokes its keys. Ending it again changes nothing. */
  endMember(memberId: string, by: Actor): Promise<MemberRecord | undefined>;
}
