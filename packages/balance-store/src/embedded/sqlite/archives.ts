/** Reads and writes the rows about archives and their carries. Deletes the archived charges. */

import type { LedgerArchive } from '../../archive.js';
import type { CarryPosition, CarryRow } from '../../ledger/rows/carry-row.js';
import type { LedgerScan } from '../../ledger/scan/ledger-scan.js';
import type { SeqRange } from '../../ledger/database/ledger-database.js';
import {
  archiveColumnsOf,
  archiveOf,
  carryColumnsOf,
  carryOf,
} from '../../ledger/rows/stored-archive.js';
import { membersWithout } from '../../ledger/tables/tables.js';
import type { Connection } from './connection.js';
import { insertRow, readerOf, select } from './tables.js';
import type { SqliteRow } from './tables.js';

const ARCHIVE_MEMBERS = membersWithout('LedgerArchive', []);
const readArchive = readerOf('LedgerArchive', ARCHIVE_MEMBERS);

/** All archives, the oldest first. */
export function listArchives(connection: Connection): readonly LedgerArchive[] {
  return connection
    .all<SqliteRow<'LedgerArchive'>>(
      `SELECT ${select('LedgerArchive', ARCHIVE_MEMBERS)} FROM ledger_archive ORDER BY id`,
    )
    .map((row) => archiveOf(readArchive(row)));
}

const CARRY_MEMBERS = membersWithout('LedgerCarry', []);
/** Only those that count: see `recordArchive`. */
const SELECT_CARRIES =
  `SELECT ${select('LedgerCarry', CARRY_MEMBERS)} FROM ledger_carry ` +
  'WHERE archive_id <= (SELECT max(id) FROM ledger_archive)';
const readCarry = readerOf('LedgerCarry', CARRY_MEMBERS);

/** Carried sums ordered by account, entry number and key, beginning after the given position. */
export function listCarries(
  connection: Connection,
  { accountId, from, keyId }: CarryPosition,
  { lastAccountId, keys }: Parameters<LedgerScan['carriesAfter']>[1],
  limit: number,
): readonly CarryRow[] {
  const rows = connection.all<SqliteRow<'LedgerCarry'>>(
    `${SELECT_CARRIES} AND (account_id, from_seq, key_id) > (?, ?, ?)` +
      (lastAccountId === undefined ? '' : ' AND account_id <= ?') +
      (keys === undefined ? '' : ` AND ${IN_KEYS}`) +
      ' ORDER BY account_id, from_seq, key_id LIMIT ?',
    accountId,
    from,
    keyId,
    ...(lastAccountId === undefined ? [] : [lastAccountId]),
    ...(keys === undefined ? [] : [keys.from, keys.before]),
    limit,
  );
  return rows.map((row) => carryOf(readCarry(row)));
}

/** Its parameters are the members of a `KeyRange`. */
export const IN_KEYS = '(key_id >= ? AND key_id < ?)';

export function insertArchive(connection: Connection, archive: LedgerArchive): void {
  insertRow(connection, 'LedgerArchive', archiveColumnsOf(archive));
}

export function insertCarries(connection: Connection, carries: readonly CarryRow[]): void {
  for (const row of carries) insertRow(connection, 'LedgerCarry', carryColumnsOf(row));
}

/** @returns how many charges it deleted */
export function deleteCharges(connection: Connection, ranges: readonly SeqRange[]): number {
  return connection.write(() =>
    ranges.reduce(
      (deleted, { accountId, from, to }) =>
        deleted +
        connection.run(
          "DELETE FROM ledger WHERE account_id = ? AND seq BETWEEN ? AND ? AND kind = 'charge'",
          accountId,
          from,
          to,
        ),
      0,
    ),
  );
}
