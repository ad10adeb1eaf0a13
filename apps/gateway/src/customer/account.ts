/**
 * `GET /v1/dashboard/account`: whose key it is, what its account has, and how long that lasts. It
 * is what the customer's page shows first.
 */

import { CAP_PERIODS, isAllowance, renewalOf } from '@gateway/balance-store';
import type { AccountRecord, KeyRecord, UnspentCredit } from '@gateway/balance-store';
import { formatUsd } from '@gateway/billing';
import { MINUTE_MS } from '../base/times.js';
import * as schema from '../endpoints/schemas.js';
import { isUsedUp } from '../exchange/admission.js';
import { budgetsView, readApplyingBudgets, usedUpBudget } from './budgets.js';
import { capsView } from './caps.js';
import type { CustomerParts } from './customer-parts.js';
import { keyEndpoint } from './key-route.js';
import { PACE_DAYS, lastsUntil, paceDays, paceOf } from '../ledger/runway.js';
import { maySeeAccount, someKeysOf } from './statement.js';

const POLICY = { limit: 120, windowMs: MINUTE_MS } as const;

export const getAccount = keyEndpoint(
  {
    method: 'get',
    path: '/v1/dashboard/account',
    id: 'getAccount',
    summary: 'Whose key it is, what its account has, and how long that lasts',
    credential: 'link',
    result: schema.accountOverview,
    name: 'account',
    limit: POLICY,
  },
  (parts) => async (asking) => {
    const { store } = parts;
    const { id, accountId } = asking;
    const now = parts.now();
    const some = someKeysOf(accountId, store);
    const [key, account, unspent, sums, keys, seesAccount] = await Promise.all([
      store.getKey(id),
      store.getAccount(accountId),
      store.readUnspent(accountId),
      store.readUsage({ by: ['key'], ...paceDays(now), accountId }),
      some,
      maySeeAccount(asking, parts, () => some),
    ]);
    if (key === undefined || account === undefined || unspent === undefined) {
      throw new Error('an authenticated key has no record');
    }
    const [budgets, member] = await Promise.all([
      readApplyingBudgets(key, parts),
      key.memberId === null ? undefined : store.getMember(key.memberId),
    ]);
    const isHidden = hidesMoney(account, key);
    const spentOf = (some: typeof sums) =>
      some.reduce((sum, { listPrice, writtenOff }) => sum + listPrice - writtenOff, 0n);
    const spent = spentOf(sums);
    const end = lastsUntil(unspent, paceOf(account.createdAt, spent, now));
    return {
      json: {
        object: 'account_overview',
        operator: parts.operator === undefined ? null : knownAs(parts.operator),
        account_name: account.name,
        member: member?.name ?? null,
        budgets: budgetsView(budgets),
        balance_usd: isHidden ? null : formatUsd(account.balance),
        members_see_balance: account.membersSeeBalance,
        is_shared: keys.some((other) => other.id !== id),
        may_see_account: seesAccount,
        key: {
          id: key.id,
          name: key.name,
          hint: key.hint,
          scope: key.scope,
          is_active: key.isActive,
          used_up_cap: usedUpCap(key, new Date(now)),
          used_up_budget: usedUpBudget(key, budgets),
          caps: capsView(key, new Date(now)),
          expires_at: key.expiresAt?.toISOString() ?? null,
          last_charged_at: key.lastChargedAt?.toISOString() ?? null,
        },
        allowance: isHidden ? null : allowanceView(account, unspent),
        expiring: unspent.lots.flatMap(({ expiresAt, remaining }) =>
          isHidden || expiresAt === null
            ? []
            : [{ remaining_usd: formatUsd(remaining), expires_at: expiresAt.toISOString() }],
        ),
        pace: {
          days: PACE_DAYS,
          spent_usd: isHidden ? null : formatUsd(spent),
          spent_by_key_usd: formatUsd(spentOf(sums.filter(({ keyId }) => keyId === id))),
        },
        lasts_until: isHidden ? null : (end?.toISOString() ?? null),
      },
    };
  },
);

/**
 * Whether the account keeps its money from the holder of the key. A setting for people who spend
 * within budgets, not a secret: `GET /v1/dashboard/balance` names it to each key.
 */
function hidesMoney({ membersSeeBalance: shows }: AccountRecord, of: KeyRecord): boolean {
  return shows === false && of.memberId !== null && of.scope !== 'manage';
}

function knownAs({ name, contact }: NonNullable<CustomerParts['operator']>) {
  return { name, contact };
}

/**
 * Of the caps that are used up, the one that renews last. Not from the key's standing, which cannot
 * be read while charges cannot be recorded.
 */
function usedUpCap({ isActive, caps, used }: KeyRecord, now: Date) {
  if (!isActive) return null;
  const usedUp = CAP_PERIODS.flatMap((period) => {
    const cap = caps[period];
    if (cap === null || !isUsedUp({ cap, used: used[period] ?? 0n })) return [];
    return [{ period, cap_usd: formatUsd(cap), renewsAt: renewalOf(period, now) }];
  });
  const timeOf = (at: Date | undefined) => at?.getTime() ?? Infinity;
  const [last] = usedUp.sort((a, b) => timeOf(b.renewsAt) - timeOf(a.renewsAt));
  if (last === undefined) return null;
  const { renewsAt, ...cap } = last;
  return { ...cap, renews_at: renewsAt?.toISOString() ?? null };
}

function allowanceView({ allowance, allowanceDueAt: dueAt }: AccountRecord, of: UnspentCredit) {
  if (allowance === null || dueAt === null) return null;
  const left = of.lots
    .filter(
      ({ entryId, expiresAt }) => isAllowance(entryId) && expiresAt?.getTime() === dueAt.getTime(),
    )
    .reduce((sum, { remaining }) => sum + remaining, 0n);
  return {
    amount_usd: formatUsd(allowance),
    left_usd: formatUsd(left),
    renews_at: dueAt.toISOString(),
  };
}
