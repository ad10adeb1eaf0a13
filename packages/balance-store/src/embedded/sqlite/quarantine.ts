/** Lists usage that was set aside. */

import type { QuarantineFilter, QuarantineRecord } from '../../store.js';
import type { Connection } from './connection.js';

export function listQuarantined(
  connection: Connection,
  { from, until, limit }: QuarantineFilter,
): readonly QuarantineRecord[] {
  return connection
    .all<Omit<QuarantineRecord, 'createdAt'> & { readonly createdAt: number }>(
      'SELECT request_id AS requestId, key_id AS keyId, model, reason, created_at AS createdAt ' +
        'FROM quarantine WHERE created_at >= ? AND created_at < ? ' +
        'ORDER BY created_at, request_id LIMIT ?',
      from.getTime(),
      until.getTime(),
      limit,
    )
    .map((row) => ({ ...row, createdAt: new Date(row.createdAt) }));
}
