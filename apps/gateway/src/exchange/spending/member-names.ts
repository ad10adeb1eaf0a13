/**
 * Finds the members of an account by the names that requests give them: their ids, the operator's
 * own ids, and their mail addresses. Makes a member of a name that is not known.
 */

import type { Actor, MemberRecord, NewMember } from '@gateway/balance-store';
import type { RequestLedger } from '../../ledger/open-store.js';

/** `ambiguous`: several members have this mail address. */
export type FoundMember = MemberRecord | 'ambiguous' | undefined;

/** A member of which only the operator's own id is sure. */
export type NamedMember = NewMember & { readonly externalId: string };

export interface MemberNames {
  /** What was found, or not found, is remembered for up to a second. */
  find(accountId: string, name: string): Promise<FoundMember>;
  /**
   * Creates a member once, however many requests ask for it at the same time, here or in other
   * processes.
   *
   * @returns `too_many` if the account has as many members as it may have; `closed` if it is closed
   */
  create(member: NamedMember, by: Actor): Promise<MemberRecord | 'too_many' | 'closed'>;
}

type Members = Pick<RequestLedger, 'getMember' | 'listMembers' | 'createMember'>;

const REMEMBERED_MS = 1_000;
/** Beyond, the oldest one is forgotten. A name takes up to some 1,000 bytes. */
const MAX_REMEMBERED = 4_096;

/** @param now - In milliseconds, from any origin. */
export function createMemberNames(store: Members, now = () => performance.now()): MemberNames {
  const remembered = new Map<
    string,
    { readonly at: number; readonly found: Promise<FoundMember> }
  >();
  const creations = new Map<string, ReturnType<MemberNames['create']>>();

  return {
    find(accountId, name) {
      const place = placeOf(accountId, name);
      const at = now();
      const known = remembered.get(place);
      if (known !== undefined && at - known.at < REMEMBERED_MS) return known.found;
      const entry = { at, found: lookUp(store, accountId, name) };
      remembered.delete(place);
      const [oldest] = remembered.size >= MAX_REMEMBERED ? remembered.keys() : [];
      if (oldest !== undefined) remembered.delete(oldest);
      remembered.set(place, entry);
      entry.found.catch(() => {
        if (remembered.get(place) === entry) remembered.delete(place);
      });
      return entry.found;
    },
    create(member, by) {
      const place = placeOf(member.accountId, member.externalId);
      const underWay = creations.get(place);
      if (underWay !== undefined) return underWay;
      const creation = createMember(store, member, by).finally(() => {
        creations.delete(place);
        // It was remembered as unknown.
        remembered.delete(place);
      });
      creations.set(place, creation);
      return creation;
    },
  };
}

/** Whether a name has the form of the ledger's own ids. No member is made of such a name. */
export function isMemberId(name: string): boolean {
  return /^mem_\w+$/.test(name);
}

function placeOf(accountId: string, name: string): string {
  return `${accountId}\n${name}`;
}

async function lookUp(store: Members, accountId: string, name: string): Promise<FoundMember> {
  if (isMemberId(name)) {
    const member = await store.getMember(name);
    if (member?.accountId === accountId) return member;
  }
  const [named] = await store.listMembers({ accountId, externalId: name, limit: 1 });
  if (named !== undefined || !name.includes('@')) return named;
  const ofAddress = { accountId, email: name };
  const [first, second] = await store.listMembers({ ...ofAddress, state: 'active', limit: 2 });
  if (second !== undefined) return 'ambiguous';
  return first ?? (await store.listMembers({ ...ofAddress, limit: 1 }))[0];
}

async function createMember(
  store: Members,
  member: NamedMember,
  by: Actor,
): ReturnType<MemberNames['create']> {
  const created = await store.createMember(member, { by });
  switch (created.outcome) {
    case 'created':
    case 'replayed':
      return created.record;
    case 'external_id_taken': {
      // By another process, a moment ago.
      const { accountId, externalId } = member;
      const [taken] = await store.listMembers({ accountId, externalId, limit: 1 });
      if (taken === undefined) throw new Error('a member with a taken id was not found');
      return taken;
    }
    case 'too_many':
      return 'too_many';
    case 'unknown_account':
    case 'account_closed':
      return 'closed';
    case 'conflict':
    case 'unknown_group':
    case 'unknown_subject':
    case 'unfit_next':
      // It has no creation id, and the group of a key's naming is one of its account for good.
      throw new Error(`a member was not created: ${created.outcome}`);
  }
}
