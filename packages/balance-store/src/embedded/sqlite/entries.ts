/** Reads ledger entries: one, or pages of them. */

import type { EntryFilter, LedgerEntry } from '../../ledger-entry.js';
import type { Spender } from '../../spender.js';
import type { EntryPosition } from '../../ledger/queries/entry-cursor.js';
import { ENTRY_MEMBERS, ledgerEntryOf } from '../../ledger/rows/stored-entry.js';
import { spenderOf } from '../../ledger/rows/spenders.js';
import { membersWithout } from '../../ledger/tables/tables.js';
import type { Connection } from './connection.js';
import { ZERO } from './money.js';
import { rowsOf } from './spenders.js';
import { readerOf, select } from './tables.js';
import type { SqliteRow } from './tables.js';

export type EntryRow = SqliteRow<'Ledger'>;

export const SELECT_ENTRIES = `SELECT ${select('Ledger', membersWithout('Ledger', []))} FROM ledger`;

const readEntry = readerOf('Ledger', ENTRY_MEMBERS);

export function findEntry(
  connection: Connection,
  keyId: string,
  id: string,
): LedgerEntry | undefined {
  const row = connection.get<EntryRow>(
    `${SELECT_ENTRIES} WHERE id = ? AND (key_id = ? OR (kind <> 'charge' ` +
      'AND account_id = (SELECT account_id FROM api_key WHERE id = ?)))',
    id,
    keyId,
    keyId,
  );
  return row === undefined ? undefined : entryOf(connection, row);
}

export function findEntries(
  connection: Connection,
  ids: readonly string[],
): readonly LedgerEntry[] {
  return connection
    .all<EntryRow>(
      `${SELECT_ENTRIES} WHERE id IN (SELECT value FROM json_each(?))`,
      JSON.stringify(ids),
    )
    .map((row) => entryOf(connection, row));
}

/**
 * Newest first. Entries of one account are ordered by number, those of all accounts by time and id.
 */
export function listEntries(
  connection: Connection,
  {
    accountId,
    keyId,
    kind,
    withoutCharges = false,
    withoutFees = false,
    model,
    upstreamId,
    from,
    until,
    limit,
  }: Omit<EntryFilter, 'cursor'>,
  before: EntryPosition | undefined,
): readonly LedgerEntry[] {
  const conditions: [sql: string, ...values: (string | number | bigint)[]][] = [];
  // SQLite cannot know that few entries have one id. The plus keeps it from reading the account.
  const account = upstreamId === undefined ? 'account_id' : '+account_id';
  if (accountId !== undefined) conditions.push([`${account} = ?`, accountId]);
  if (keyId !== undefined) conditions.push(["(key_id = ? OR kind <> 'charge')", keyId]);
  if (withoutCharges) conditions.push(["kind <> 'charge'"]);
  if (withoutFees) conditions.push([`(kind <> 'adjustment' OR delta <> '${ZERO}')`]);
  if (kind !== undefined) conditions.push(['kind = ?', kind]);
  if (model !== undefined) conditions.push(['model = ?', model]);
  if (upstreamId !== undefined) conditions.push(['upstream_id = ?', upstreamId]);
  if (from !== undefined) conditions.push(['created_at >= ?', from.getTime()]);
  if (until !== undefined) conditions.push(['created_at < ?', until.getTime()]);
  if (before !== undefined && 'seq' in before) conditions.push(['seq < ?', before.seq]);
  if (before !== undefined && 'id' in before) {
    const time = before.createdAt.getTime();
    // Together these two conditions mean: an earlier time, or the same time and a smaller id. They
    // are written so that the index on `created_at` can serve the first of them.
    conditions.push(['created_at <= ?', time]);
    conditions.push(['(created_at < ? OR id < ?)', time, before.id]);
  }
  const where = conditions.map(([sql]) => sql).join(' AND ');
  const rows = connection.all<EntryRow>(
    `${SELECT_ENTRIES} ${where === '' ? '' : `WHERE ${where}`} ` +
      `ORDER BY ${accountId === undefined ? 'created_at DESC, id DESC' : 'seq DESC'} LIMIT ?`,
    ...conditions.flatMap(([, ...values]) => values),
    limit,
  );
  return rows.map((row) => entryOf(connection, row));
}

function entryOf(connection: Connection, row: EntryRow): LedgerEntry {
  return ledgerEntryOf(
    readEntry(row),
    row.noteId === null ? undefined : noteOf(connection, row.noteId),
    row.spenderId === null ? undefined : spenderBy(connection, row.spenderId),
  );
}

function spenderBy(connection: Connection, id: string): Spender | undefined {
  const [row] = rowsOf(connection, 'Spender', 'WHERE id = ?', [id]);
  return row === undefined ? undefined : spenderOf(row);
}

function noteOf(connection: Connection, id: string): string | undefined {
  return connection.get<{ readonly text: string }>(
    'SELECT text FROM personal_text WHERE id = ?',
    id,
  )?.text;
}
