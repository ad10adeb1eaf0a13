/** Reads and writes the rows about archives and their carries. Deletes the archived charges. */

import type { LedgerArchive } from '../../archive.js';
import type { CarryPosition, CarryRow } from '../../ledger/archive/carry-row.js';
import type { SeqRange } from '../../ledger/ledger-database.js';
import {
  archiveColumnsOf,
  archiveOf,
  carryColumnsOf,
  carryOf,
} from '../../ledger/archive/stored-archive.js';
import { membersWithout } from '../../ledger/tables.js';
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
const SELECT_CARRIES = `SELECT ${select('LedgerCarry', CARRY_MEMBERS)} FROM ledger_carry`;
const readCarry = readerOf('LedgerCarry', CARRY_MEMBERS);

/** Carried sums ordered by account, entry number and key, beginning after the given position. */
export function listCarries(
  connection: Connection,
  { accountId, from, keyId }: CarryPosition,
  lastAccountId: string | undefined,
  limit: number,
): readonly CarryRow[] {
  const values = [accountId, from, keyId];
  const after = `${SELECT_CARRIES} WHERE (account_id, from_seq, key_id) > (?, ?, ?)`;
  const order = 'ORDER BY account_id, from_seq, key_id LIMIT ?';
  const rows =
    lastAccountId === undefined
      ? connection.all<SqliteRow<'LedgerCarry'>>(`${after} ${order}`, ...values, limit)
      : connection.all<SqliteRow<'LedgerCarry'>>(
          `${after} AND account_id <= ? ${order}`,
          ...values,
          lastAccountId,
          limit,
        );
  return rows.map((row) => carryOf(readCarry(row)));
}

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
