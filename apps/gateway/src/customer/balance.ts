/**
 * `GET /v1/dashboard/balance`: the balance of a key and of its account, read without a call to the
 * upstream.
 */

import { formatUsd } from '@gateway/billing';
import { MINUTE_MS } from '../base/times.js';
import * as schema from '../endpoints/schemas.js';
import { budgetsView, readApplyingBudgets } from './budgets.js';
import { capsView } from './caps.js';
import { keyEndpoint } from './key-route.js';

const POLICY = { limit: 30, windowMs: MINUTE_MS } as const;

export const getBalance = keyEndpoint(
  {
    method: 'get',
    path: '/v1/dashboard/balance',
    id: 'getBalance',
    summary: "The balance of the key's account",
    credential: 'link',
    result: schema.balance,
    name: 'balance',
    limit: POLICY,
  },
  (parts) =>
    async ({ id }) => {
      const key = await parts.store.getKey(id);
      if (key === undefined) throw new Error('an authenticated key has no record');
      const budgets = await readApplyingBudgets(key, parts);
      const { expiresAt, lastChargedAt, createdAt } = key;
      // The number is printed from the exact decimal: a float would lose digits.
      return {
        contentType: 'application/json',
        text: `{"object":"balance","balance_usd":${formatUsd(key.balance)},"expires_at":${JSON.stringify(
          expiresAt?.toISOString() ?? null,
        )},"is_active":${String(key.isActive)},"last_synced_at":"${(lastChargedAt ?? createdAt).toISOString()}","caps":${JSON.stringify(
          capsView(key, new Date(parts.now())),
        )},"budgets":${JSON.stringify(budgetsView(budgets))}}`,
      };
    },
);
