/** Lists usage that was set aside. */

import type { Pool } from 'pg';
import type { QuarantineFilter, QuarantineRecord } from '../store.js';
import { LONG_TIMEOUT_MS, queryRows } from './query.js';

export function listQuarantined(
  pool: Pool,
  { from, until, limit }: QuarantineFilter,
): Promise<readonly QuarantineRecord[]> {
  return queryRows<QuarantineRecord & Record<string, unknown>>(pool, {
    text:
      'SELECT request_id AS "requestId", key_id AS "keyId", model, reason, ' +
      'created_at AS "createdAt" FROM quarantine WHERE created_at >= $1 AND created_at < $2 ' +
      'ORDER BY created_at, request_id LIMIT $3',
    values: [from, until, limit],
    timeoutMs: LONG_TIMEOUT_MS,
  });
}
