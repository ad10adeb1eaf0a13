/**
 * The steps that make keys what a file declares. It declares keys that exist: a new one has a
 * credential, which somebody must get, so `keys create` or `members import` makes it.
 */

import type { AccountState, Key } from './account-state.js';
import { asSent } from './declared-file.js';
import type { Declared, Placed } from './declared-file.js';
import { mergedMetadata, metadataDifferences } from './plan-members.js';
import type { MemberIds } from './plan-members.js';
import { STAGES, differencesOf } from './steps.js';
import type { PlanBuilder } from './steps.js';

export function planKeys(
  declared: readonly Placed<Declared['keys'][number]>[],
  account: AccountState,
  members: MemberIds,
  plan: PlanBuilder,
): void {
  const keys = new Map(account.keys.map((key) => [key.external_id, key]));
  for (const { item, at } of declared) {
    const key = keys.get(item.external_id);
    if (item.state === 'ended') {
      if (key === undefined) plan.leave('keys');
      else planRevocation(key, plan);
    } else if (key === undefined) {
      const ways = 'make it with keys create or members import';
      plan.refuse(`${at}.external_id: the account has no such key: ${ways}`);
    } else if (item.member != null && !members.has(item.member)) {
      plan.refuse(`${at}.member: the account has no member ${item.member}`);
    } else {
      planKeyChange(item, key, members, plan);
    }
  }
}

function planRevocation(key: Key, plan: PlanBuilder): void {
  plan.add({
    stage: STAGES.ends,
    does: 'end',
    what: keyText(key),
    differences: [],
    async run(call) {
      await call('revokeKey', { key_id: key.id });
    },
  });
}

const keyText = (key: Key): string => `key ${key.external_id ?? key.id} (${key.name})`;

function planKeyChange(
  item: Declared['keys'][number],
  key: Key,
  members: MemberIds,
  plan: PlanBuilder,
): void {
  const { external_id: _id, state: _state, account: _account, member, metadata, ...rest } = item;
  const merged = mergedMetadata({ metadata }, key);
  const pairs = metadata === undefined ? [] : metadataDifferences(key.metadata, merged);
  const changed = differencesOf(asSent(rest), currentOf(key));
  const memberId = member == null ? member : members.idOf(member);
  const isMoved = member !== undefined && (member === null || memberId !== key.member_id);
  const isOther = isMoved && !(member === null && key.member_id === null);
  const owner = isOther ? [{ field: 'member', before: key.member_id, after: member }] : [];
  const differences = [...changed, ...owner, ...pairs];
  if (differences.length === 0) {
    plan.leave('keys');
    return;
  }
  plan.add({
    stage: STAGES.keys,
    does: 'change',
    what: keyText(key),
    differences,
    async run(call) {
      await call('updateKey', {
        key_id: key.id,
        ...Object.fromEntries(changed.map(({ field, after }) => [field, after])),
        ...(isOther ? { member_id: member === null ? null : members.idOf(member ?? '') } : {}),
        ...(pairs.length === 0 ? {} : { metadata: merged }),
      });
    },
  });
}

/** A key's rules under the names that change them. */
function currentOf({ caps, limits, ...key }: Key): Readonly<Record<string, unknown>> {
  return {
    ...key,
    ...limits,
    cap_day_usd: caps.day.cap_usd,
    cap_week_usd: caps.week.cap_usd,
    cap_month_usd: caps.month.cap_usd,
    cap_total_usd: caps.total.cap_usd,
  };
}
