/** Reads the trail. */

import type { FoundErasures } from '../../ledger/requests/request-tables.js';
import { trailEntryOf } from '../../ledger/rows/stored-trail.js';
import { membersWithout } from '../../ledger/tables/tables.js';
import type { TrailEntry, TrailFilter } from '../../trail.js';
import type { Connection } from './connection.js';
import { readerOf, select } from './tables.js';
import type { SqliteRow } from './tables.js';

export type TrailRow = SqliteRow<'Trail'>;

const MEMBERS = membersWithout('Trail', []);
export const TRAIL_COLUMNS = select('Trail', MEMBERS, 't');
const readTrail = readerOf('Trail', MEMBERS);

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
    .map(({ text, ...row }) => trailEntryOf(readTrail(row), text ?? undefined));
}

export function erasuresAfter(connection: Connection, seq: bigint, since: Date): FoundErasures {
  const found = connection.get<{ readonly last: number | null; readonly accountIds: string }>(
    'SELECT max(seq) AS last, json_group_array(account_id) FILTER ' +
      "(WHERE action = 'account.erase' AND created_at >= ?) AS accountIds " +
      'FROM trail WHERE seq > ?',
    since.getTime(),
    seq,
  );
  return {
    accountIds: JSON.parse(found?.accountIds ?? '[]') as readonly string[],
    last: BigInt(found?.last ?? seq),
  };
}
