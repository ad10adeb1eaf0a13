/**
 * Who spends the money of a request. It is decided once, when the request is admitted: what changes
 * afterwards, such as the member's group, changes nothing of the request's hold and charge.
 */

import type { IncomingHttpHeaders } from 'node:http';
import type { KeyRecord, MemberRecord, Spender } from '@gateway/balance-store';
import { sessionOf, tagIn } from '../../observe/requests/client-headers.js';

/**
 * The spender of a key: its member, with the tag and the session that the headers name.
 *
 * @returns `undefined` if there is nothing to attribute a charge to besides the key
 */
export function spenderOfKey(
  { memberId, groups }: Pick<KeyRecord, 'memberId' | 'groups'>,
  headers: IncomingHttpHeaders,
): Spender | undefined {
  const tag = tagIn(headers);
  const run = sessionOf(headers);
  if (memberId === null && tag === undefined && run === undefined) return undefined;
  return {
    memberId: memberId ?? undefined,
    groups: groups === '' ? undefined : groups,
    tag,
    run,
  };
}

/** @param tag - The one that the body names. The header's comes first. */
export function withTag(
  spender: Spender | undefined,
  tag: string | undefined,
): Spender | undefined {
  return tag === undefined || spender?.tag !== undefined ? spender : { ...spender, tag };
}

export function withMember(
  spender: Spender | undefined,
  { id, groups }: Pick<MemberRecord, 'id' | 'groups'>,
): Spender {
  return { ...spender, memberId: id, groups: groups === '' ? undefined : groups };
}
