/** Lists the trail. */

import { trailEntryOf } from '../../ledger/stored-trail.js';
import type { StoredTrail } from '../../ledger/stored-trail.js';
import type { TrailEntry, TrailFilter } from '../../trail.js';
import type { Connection } from './connection.js';

export interface TrailRow extends Omit<StoredTrail, 'seq' | 'createdAt'> {
  readonly seq: number;
  readonly createdAt: number;
}

export const TRAIL_COLUMNS =
  't.seq, t.created_at AS createdAt, t.actor, t.address, t.action, t.account_id AS accountId, ' +
  't.key_id AS keyId, t.details, t.personal_id AS personalId';

export function listTrail(
  connection: Connection,
  { limit, before, accountId, keyId }: TrailFilter,
): readonly TrailEntry[] {
  const conditions: [sql: string, value: string | bigint][] = [];
  if (before !== undefined) conditions.push(['t.seq < ?', before]);
  if (accountId !== undefined) conditions.push(['t.account_id = ?', accountId]);
  if (keyId !== undefined) conditions.push(['t.key_id = ?', keyId]);
  const where = conditions.map(([sql]) => sql).join(' AND ');
  return connection
    .all<TrailRow & { readonly text: string | null }>(
      `SELECT ${TRAIL_COLUMNS}, p.text FROM trail t ` +
        'LEFT JOIN personal_text p ON p.id = t.personal_id ' +
        `${where === '' ? '' : `WHERE ${where}`} ORDER BY t.seq DESC LIMIT ?`,
      ...conditions.map(([, value]) => value),
      limit,
    )
    .map(({ text, ...row }) =>
      trailEntryOf(
        { ...row, seq: BigInt(row.seq), createdAt: new Date(row.createdAt) },
        text ?? undefined,
      ),
    );
}
