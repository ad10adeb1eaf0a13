/** Reads and writes the rows about archives and their carries. Deletes the archived charges. */

import type { LedgerArchive } from '../../archive.js';
import type { CarryPosition, CarryRow } from '../../ledger/archive/carry-row.js';
import type { SeqRange } from '../../ledger/ledger-database.js';
import type { Connection } from './connection.js';
import { textOf, unitsOf } from './money.js';

interface ArchiveRow extends Omit<
  LedgerArchive,
  'until' | 'createdAt' | 'charged' | 'writtenOff' | 'lastBlock'
> {
  readonly until: number;
  readonly createdAt: number;
  readonly charged: string;
  readonly writtenOff: string;
  readonly lastBlock: number;
}

/** All archives, the oldest first. */
export function listArchives(connection: Connection): readonly LedgerArchive[] {
  return connection
    .all<ArchiveRow>(
      'SELECT id AS number, until_at AS until, created_at AS createdAt, charges, charged, ' +
        'written_off AS writtenOff, last_block AS lastBlock, last_hash AS lastHash, ' +
        'carry_digest AS carryDigest, usage_digest AS usageDigest, file_digest AS fileDigest ' +
        'FROM ledger_archive ORDER BY id',
    )
    .map((row) => ({
      ...row,
      until: new Date(row.until),
      createdAt: new Date(row.createdAt),
      charged: unitsOf(row.charged),
      writtenOff: unitsOf(row.writtenOff),
      lastBlock: BigInt(row.lastBlock),
    }));
}

interface StoredCarry extends Omit<
  CarryRow,
  'from' | 'to' | 'charged' | 'writtenOff' | 'overCap' | 'firstAt' | 'lastAt' | 'balanceAfter'
> {
  readonly from: number;
  readonly to: number;
  readonly charged: string;
  readonly writtenOff: string;
  readonly overCap: string;
  readonly firstAt: number;
  readonly lastAt: number;
  readonly balanceAfter: string;
}

const SELECT_CARRIES =
  'SELECT account_id AS accountId, from_seq AS "from", to_seq AS "to", key_id AS keyId, ' +
  'archive_id AS archive, charges, charged, written_off AS writtenOff, over_cap AS overCap, ' +
  'first_at AS firstAt, last_at AS lastAt, balance_after AS balanceAfter FROM ledger_carry';

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
      ? connection.all<StoredCarry>(`${after} ${order}`, ...values, limit)
      : connection.all<StoredCarry>(
          `${after} AND account_id <= ? ${order}`,
          ...values,
          lastAccountId,
          limit,
        );
  return rows.map((row) => ({
    ...row,
    from: BigInt(row.from),
    to: BigInt(row.to),
    charged: unitsOf(row.charged),
    writtenOff: unitsOf(row.writtenOff),
    overCap: unitsOf(row.overCap),
    firstAt: new Date(row.firstAt),
    lastAt: new Date(row.lastAt),
    balanceAfter: unitsOf(row.balanceAfter),
  }));
}

export function insertArchive(connection: Connection, archive: LedgerArchive): void {
  connection.run(
    'INSERT INTO ledger_archive (id, until_at, created_at, charges, charged, written_off, ' +
      'last_block, last_hash, carry_digest, usage_digest, file_digest) ' +
      'VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
    archive.number,
    archive.until.getTime(),
    archive.createdAt.getTime(),
    archive.charges,
    textOf(archive.charged),
    textOf(archive.writtenOff),
    archive.lastBlock,
    archive.lastHash,
    archive.carryDigest,
    archive.usageDigest,
    archive.fileDigest,
  );
}

export function insertCarries(connection: Connection, carries: readonly CarryRow[]): void {
  for (const row of carries) {
    connection.run(
      'INSERT INTO ledger_carry (account_id, from_seq, to_seq, key_id, archive_id, charges, ' +
        'charged, written_off, over_cap, first_at, last_at, balance_after) ' +
        'VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
      row.accountId,
      row.from,
      row.to,
      row.keyId,
      row.archive,
      row.charges,
      textOf(row.charged),
      textOf(row.writtenOff),
      textOf(row.overCap),
      row.firstAt.getTime(),
      row.lastAt.getTime(),
      textOf(row.balanceAfter),
    );
  }
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
