/**
 * `GET /v1/dashboard/account`: whose key it is, what its account has, and how long that lasts. It
 * is what the customer's page shows first.
 */

import { formatUsd } from '@gateway/billing';
import { DAY_MS, MINUTE_MS } from '../base/times.js';
import * as schema from '../endpoints/schemas.js';
import type { CustomerParts } from './customer-parts.js';
import { keyEndpoint } from './key-route.js';
import { lastsUntil } from './runway.js';
import { maySeeAccount, someKeysOf } from './statement.js';

const POLICY = { limit: 120, windowMs: MINUTE_MS } as const;

/** The pace is that of these days, of which today is the last. */
const PACE_DAYS = 7;

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
    const today = Math.floor(now / DAY_MS) * DAY_MS;
    const from = today - (PACE_DAYS - 1) * DAY_MS;
    const until = new Date(today + DAY_MS);
    const some = someKeysOf(accountId, store);
    const [key, account, unspent, sums, keys, seesAccount] = await Promise.all([
      store.getKey(id),
      store.getAccount(accountId),
      store.readUnspent(accountId),
      store.readUsage({ by: ['key'], from: new Date(from), until, accountId }),
      some,
      maySeeAccount(asking, parts, () => some),
    ]);
    if (key === undefined || account === undefined || unspent === undefined) {
      throw new Error('an authenticated key has no record');
    }
    const spentOf = (some: typeof sums) =>
      some.reduce((sum, { listPrice, writtenOff }) => sum + listPrice - writtenOff, 0n);
    const spent = spentOf(sums);
    // A new account has spent all of it in less time. Less than a day says nothing of a pace.
    const paceFrom = Math.min(Math.max(from, account.createdAt.getTime()), now - DAY_MS);
    const end = lastsUntil(unspent, { spent, from: paceFrom, until: now });
    return {
      json: {
        object: 'account_overview',
        operator: parts.operator === undefined ? null : knownAs(parts.operator),
        account_name: account.name,
        balance_usd: formatUsd(account.balance),
        is_shared: keys.some((other) => other.id !== id),
        may_see_account: seesAccount,
        key: {
          id: key.id,
          name: key.name,
          hint: key.hint,
          scope: key.scope,
          is_active: key.isActive,
          expires_at: key.expiresAt?.toISOString() ?? null,
          last_charged_at: key.lastChargedAt?.toISOString() ?? null,
        },
        expiring: unspent.lots.flatMap(({ expiresAt, remaining }) =>
          expiresAt === null
            ? []
            : [{ remaining_usd: formatUsd(remaining), expires_at: expiresAt.toISOString() }],
        ),
        pace: {
          days: PACE_DAYS,
          spent_usd: formatUsd(spent),
          spent_by_key_usd: formatUsd(spentOf(sums.filter(({ keyId }) => keyId === id))),
        },
        lasts_until: end?.toISOString() ?? null,
      },
    };
  },
);

function knownAs({ name, contact }: NonNullable<CustomerParts['operator']>) {
  return { name, contact };
}
