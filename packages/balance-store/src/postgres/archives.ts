/**
 * Archives, and the sums that are carried forward for their charges: reads and inserts both, and
 * deletes the archived charges.
 */

import type { Pool } from 'pg';
import type { LedgerArchive } from '../archive.js';
import type { CarryPosition, CarryRow } from '../ledger/archive/carry-row.js';
import type { SeqRange } from '../ledger/ledger-database.js';
import { numericFromUnits, unitsFromNumeric } from '../numeric.js';
import { ADVISORY_LOCKS } from './advisory-locks.js';
import { LONG_TIMEOUT_MS, inTransaction, queryRows } from './query.js';
import type { TransactionQueries } from './query.js';

const timeoutMs = LONG_TIMEOUT_MS;

type ArchiveRow = Readonly<
  Record<'charges' | 'charged' | 'writtenOff' | 'lastBlock', string> &
    Omit<LedgerArchive, 'charges' | 'charged' | 'writtenOff' | 'lastBlock'>
>;

/** Oldest first. */
export async function listArchives(pool: Pool): Promise<readonly LedgerArchive[]> {
  const rows = await queryRows<ArchiveRow>(pool, {
    text:
      'SELECT id AS number, until_at AS until, created_at AS "createdAt", charges::text, ' +
      'charged::text, written_off::text AS "writtenOff", last_block::text AS "lastBlock", ' +
      'last_hash AS "lastHash", carry_digest AS "carryDigest", usage_digest AS "usageDigest", ' +
      'file_digest AS "fileDigest" FROM ledger_archive ORDER BY id',
    timeoutMs,
  });
  return rows.map((row) => ({
    ...row,
    charges: Number(row.charges),
    charged: unitsFromNumeric(row.charged),
    writtenOff: unitsFromNumeric(row.writtenOff),
    lastBlock: BigInt(row.lastBlock),
  }));
}

type StoredCarry = Readonly<
  Record<'from' | 'to' | 'charges' | 'charged' | 'writtenOff' | 'overCap' | 'balanceAfter', string>
> &
  Pick<CarryRow, 'accountId' | 'keyId' | 'archive' | 'firstAt' | 'lastAt'>;

/** Carried sums ordered by account, entry number and key, beginning after the given position. */
export async function listCarries(
  pool: Pool,
  { accountId, from, keyId }: CarryPosition,
  lastAccountId: string | undefined,
  limit: number,
): Promise<readonly CarryRow[]> {
  const rows = await queryRows<StoredCarry>(pool, {
    text:
      'SELECT account_id AS "accountId", from_seq::text AS "from", to_seq::text AS "to", ' +
      'key_id AS "keyId", archive_id AS archive, charges::text, charged::text, ' +
      'written_off::text AS "writtenOff", over_cap::text AS "overCap", first_at AS "firstAt", ' +
      'last_at AS "lastAt", balance_after::text AS "balanceAfter" FROM ledger_carry ' +
      'WHERE (account_id, from_seq, key_id) > ($1, $2::int8, $3) ' +
      'AND ($4::text IS NULL OR account_id <= $4) ORDER BY account_id, from_seq, key_id LIMIT $5',
    values: [accountId, from.toString(), keyId, lastAccountId ?? null, limit],
    timeoutMs,
  });
  return rows.map((row) => ({
    ...row,
    from: BigInt(row.from),
    to: BigInt(row.to),
    charges: Number(row.charges),
    charged: unitsFromNumeric(row.charged),
    writtenOff: unitsFromNumeric(row.writtenOff),
    overCap: unitsFromNumeric(row.overCap),
    balanceAfter: unitsFromNumeric(row.balanceAfter),
  }));
}

export async function insertArchive(
  { rows }: TransactionQueries,
  archive: LedgerArchive,
): Promise<void> {
  await rows(
    'INSERT INTO ledger_archive (id, until_at, created_at, charges, charged, written_off, ' +
      'last_block, last_hash, carry_digest, usage_digest, file_digest) ' +
      'VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)',
    [
      archive.number,
      archive.until,
      archive.createdAt,
      archive.charges,
      numericFromUnits(archive.charged),
      numericFromUnits(archive.writtenOff),
      archive.lastBlock.toString(),
      archive.lastHash,
      archive.carryDigest,
      archive.usageDigest,
      archive.fileDigest,
    ],
  );
}

export async function insertCarries(
  { rows }: TransactionQueries,
  carries: readonly CarryRow[],
): Promise<void> {
  const texts = (read: (row: CarryRow) => string) => carries.map(read);
  await rows(
    'INSERT INTO ledger_carry (account_id, from_seq, to_seq, key_id, archive_id, charges, ' +
      'charged, written_off, over_cap, first_at, last_at, balance_after) ' +
      'SELECT * FROM unnest($1::text[], $2::int8[], $3::int8[], $4::text[], $5::int4[], ' +
      '$6::int8[], $7::numeric[], $8::numeric[], $9::numeric[], $10::timestamptz[], ' +
      '$11::timestamptz[], $12::numeric[])',
    [
      texts((row) => row.accountId),
      texts((row) => row.from.toString()),
      texts((row) => row.to.toString()),
      texts((row) => row.keyId),
      texts((row) => String(row.archive)),
      texts((row) => String(row.charges)),
      texts((row) => numericFromUnits(row.charged)),
      texts((row) => numericFromUnits(row.writtenOff)),
      texts((row) => numericFromUnits(row.overCap)),
      texts((row) => row.firstAt.toISOString()),
      texts((row) => row.lastAt.toISOString()),
      texts((row) => numericFromUnits(row.balanceAfter)),
    ],
  );
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
