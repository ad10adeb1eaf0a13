/** Sets usage aside, and lists what was set aside. */

import { detailOf, storable } from '../../ledger/rows/quarantine-text.js';
import type {
  QuarantineFilter,
  QuarantineRecord,
  QuarantinedUsage,
  Settlement,
} from '../../store.js';
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

/** Durably sets a settlement aside. A second call changes nothing. */
export function quarantineSettlement(
  connection: Connection,
  settlement: Settlement,
  reason: string,
): void {
  insertQuarantine(connection, { ...settlement, reason }, detailOf(settlement));
}

export function insertQuarantine(
  connection: Connection,
  { requestId, keyId, model, reason }: QuarantinedUsage,
  detail: string | null = null,
): void {
  connection.write(() => {
    connection.run(
      'INSERT INTO quarantine (request_id, key_id, model, reason, detail, created_at) ' +
        'VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING',
      ...[requestId, keyId, model, reason].map(storable),
      detail,
      Date.now(),
    );
  });
}
