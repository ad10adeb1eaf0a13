/**
 * Archives, and the sums that are carried forward for their charges: reads and inserts both, and
 * deletes the archived charges.
 */

import type { Pool } from 'pg';
import type { LedgerArchive } from '../archive.js';
import type { CarryPosition, CarryRow } from '../ledger/rows/carry-row.js';
import type { LedgerScan } from '../ledger/scan/ledger-scan.js';
import type { SeqRange } from '../ledger/database/ledger-database.js';
import {
  archiveColumnsOf,
  archiveOf,
  carryColumnsOf,
  carryOf,
} from '../ledger/rows/stored-archive.js';
import { membersWithout } from '../ledger/tables/tables.js';
import type { Row } from '../ledger/tables/tables.js';
import { ADVISORY_LOCKS } from './advisory-locks.js';
import { LONG_TIMEOUT_MS, inTransaction, queryRows } from './query.js';
import type { TransactionQueries } from './query.js';
import { insertRow, insertRows, readerOf, select } from './tables.js';
import type { PostgresValues } from './tables.js';

const timeoutMs = LONG_TIMEOUT_MS;

const ARCHIVE_MEMBERS = membersWithout('LedgerArchive', []);
const readArchive = readerOf('LedgerArchive', ARCHIVE_MEMBERS);

/** Oldest first. */
export async function listArchives(pool: Pool): Promise<readonly LedgerArchive[]> {
  const rows = await queryRows<Row<'LedgerArchive', PostgresValues>>(pool, {
    text: `SELECT ${select('LedgerArchive', ARCHIVE_MEMBERS)} FROM ledger_archive ORDER BY id`,
    timeoutMs,
  });
  return rows.map((row) => archiveOf(readArchive(row)));
}

const CARRY_MEMBERS = membersWithout('LedgerCarry', []);
const readCarry = readerOf('LedgerCarry', CARRY_MEMBERS);

/**
 * Carried sums ordered by account, entry number and key, beginning after the given position. Only
 * those that count: see `recordArchive`.
 */
export async function listCarries(
  pool: Pool,
  { accountId, from, keyId }: CarryPosition,
  { lastAccountId, keys }: Parameters<LedgerScan['carriesAfter']>[1],
  limit: number,
): Promise<readonly CarryRow[]> {
  const rows = await queryRows<Row<'LedgerCarry', PostgresValues>>(pool, {
    text:
      `SELECT ${select('LedgerCarry', CARRY_MEMBERS)} FROM ledger_carry ` +
      'WHERE archive_id <= (SELECT max(id) FROM ledger_archive) ' +
      'AND (account_id, from_seq, key_id) > ($1, $2::int8, $3) ' +
      'AND ($4::text IS NULL OR account_id <= $4) ' +
      'AND ($6::text IS NULL OR (key_id >= $6 AND key_id < $7)) ' +
      'ORDER BY account_id, from_seq, key_id LIMIT $5',
    values: [
      accountId,
      from.toString(),
      keyId,
      lastAccountId ?? null,
      limit,
      keys?.from ?? null,
      keys?.before ?? null,
    ],
    timeoutMs,
  });
  return rows.map((row) => carryOf(readCarry(row)));
}

export function insertArchive(queries: TransactionQueries, archive: LedgerArchive): Promise<void> {
  return insertRow(queries, 'LedgerArchive', archiveColumnsOf(archive));
}

export async function insertCarries(
  queries: TransactionQueries,
  carries: readonly CarryRow[],
): Promise<void> {
  await insertRows(queries, 'LedgerCarry', carries.map(carryColumnsOf));
}

/**
 * Deletes charges through the index of account and number. Takes no lock that delays new charges.
 *
 * @returns how many charges it deleted
 */
export function deleteCharges(pool: Pool, ranges: readonly SeqRange[]): Promise<number> {
  return inTransaction(pool, 'write', async ({ rows }) => {
    await rows('SET LOCAL enable_seqscan = off');
    const [deleted] = await rows<{ count: number }>(
      'WITH gone AS (DELETE FROM ledger l ' +
        'USING unnest($1::text[], $2::int8[], $3::int8[]) AS r (account_id, from_seq, to_seq) ' +
        'WHERE l.account_id = r.account_id AND l.seq BETWEEN r.from_seq AND r.to_seq ' +
        "AND l.kind = 'charge' RETURNING 1) SELECT count(*)::int4 AS count FROM gone",
      [
        ranges.map(({ accountId }) => accountId),
        ranges.map(({ from }) => from.toString()),
        ranges.map(({ to }) => to.toString()),
      ],
    );
    return deleted?.count ?? 0;
  });
}

/**
 * Keeps other processes from archiving, until it is released or its connection ends.
 *
 * @returns a function that releases the lock; `undefined` if another process has it.
 */
export async function takeArchiveLock(pool: Pool): Promise<(() => Promise<void>) | undefined> {
  const client = await pool.connect();
  try {
    const { rows } = await client.query<{ taken: boolean }>(
      'SELECT pg_try_advisory_lock($1) AS taken',
      [ADVISORY_LOCKS.archive],
    );
    if (rows[0]?.taken !== true) {
      client.release();
      return undefined;
    }
  } catch (error) {
    client.release(true);
    throw error;
  }
  return async () => {
    await client
      .query('SELECT pg_advisory_unlock($1)', [ADVISORY_LOCKS.archive])
      .catch(() => undefined);
    client.release();
  };
}
