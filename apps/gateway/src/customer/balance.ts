/**
 * `GET /v1/dashboard/balance`: the balance of a key and of its account, read without a call to the
 * upstream.
 */

import type { RequestHandler } from 'express';
import { formatUsd } from '@gateway/billing';
import { MINUTE_MS } from '../base/times.js';
import type { CustomerParts } from './customer-parts.js';
import { keyRoute } from './key-route.js';

const POLICY = { limit: 30, windowMs: MINUTE_MS } as const;

export function balanceRoute(parts: CustomerParts): RequestHandler {
  return keyRoute(
    { endpoint: 'balance', accepted: 'bearer_or_link', limit: POLICY },
    parts,
    async ({ id }) => {
      const key = await parts.store.getKey(id);
      if (key === undefined) throw new Error('an authenticated key has no record');
      const { expiresAt, lastChargedAt, createdAt } = key;
      // The number is printed from the exact decimal: a float would lose digits.
      return {
        contentType: 'application/json',
        text: `{"object":"balance","balance_usd":${formatUsd(key.balance)},"expires_at":${JSON.stringify(
          expiresAt?.toISOString() ?? null,
        )},"is_active":${String(key.isActive)},"last_synced_at":"${(lastChargedAt ?? createdAt).toISOString()}"}`,
      };
    },
  );
}
