/** Finds or makes the member that a request of a key with that right names. */

import type { Request } from 'express';
import { MAX_MEMBERS, StoreUnavailableError } from '@gateway/balance-store';
import type { KeyRecord, MemberRecord, Naming } from '@gateway/balance-store';
import { newRefusal } from '../../base/errors/refusal.js';
import type { Refusal } from '../../base/errors/refusal.js';
import { isMailAddress } from '../../base/mail-address.js';
import { addressGroup } from '../../http/client-address.js';
import { storeUnavailable } from '../../http/refusal.js';
import { UNKNOWN_KEY } from '../credentials.js';
import { givenNames } from './given-names.js';
import type { GivenName } from './given-names.js';
import { isMemberId } from './member-names.js';
import type { MemberNames } from './member-names.js';

export type NamedSpender =
  | { readonly outcome: 'named'; readonly member: MemberRecord }
  /** The request names nobody: the key's own member spends. */
  | { readonly outcome: 'unnamed' }
  | { readonly outcome: 'refused'; readonly refusal: Refusal };

const UNNAMED = { outcome: 'unnamed' } as const;

/**
 * @param naming - That of the key.
 * @param user - The member of that name of a translated request.
 */
export async function nameMember(
  key: KeyRecord,
  naming: Naming,
  { req, user }: { readonly req: Request; readonly user: string | undefined },
  members: MemberNames,
): Promise<NamedSpender> {
  const given = givenNames(req, user);
  if ('refusal' in given) return refused(given.refusal);
  const { names } = given;
  const [best] = names;
  if (best === undefined) return UNNAMED;
  try {
    for (const name of names) {
      const member = await members.find(key.accountId, name.text);
      if (member === 'ambiguous') return refused(newRefusal('ambiguous_member', valuesOf(name)));
      if (member !== undefined) return unlessEnded(member, name);
    }
    if (naming.unknown === 'refuse' || isMemberId(best.text))
      return refused(newRefusal('unknown_member', valuesOf(best)));
    return await createNamed(key, naming, { names, best, address: addressGroup(req.ip) }, members);
  } catch (error) {
    if (!(error instanceof StoreUnavailableError)) throw error;
    return refused(storeUnavailable(error));
  }
}

async function createNamed(
  { id: name, accountId }: KeyRecord,
  { groupId }: Naming,
  given: {
    readonly names: readonly GivenName[];
    readonly best: GivenName;
    readonly address: string;
  },
  members: MemberNames,
): Promise<NamedSpender> {
  const { names, best, address } = given;
  const { text: externalId } = best;
  const email = names.map(({ text }) => text).find(isMailAddress);
  const made = await members.create(
    { accountId, groupId, name: email ?? externalId, externalId, email },
    { name, holderOf: accountId, address },
  );
  if (made === 'closed') return refused(UNKNOWN_KEY);
  if (made === 'too_many') {
    return refused(newRefusal('too_many_members', { ...valuesOf(best), most: MAX_MEMBERS }));
  }
  return unlessEnded(made, best);
}

function unlessEnded(member: MemberRecord, name: GivenName): NamedSpender {
  return member.state === 'ended'
    ? refused(newRefusal('member_ended', valuesOf(name)))
    : { outcome: 'named', member };
}

function valuesOf({ text, from }: GivenName) {
  return { param: from, member: JSON.stringify(text) };
}

function refused(refusal: Refusal): NamedSpender {
  return { outcome: 'refused', refusal };
}
