/**
 * Whether a PostgreSQL server can keep a ledger at all, and whether charges can be recorded in it
 * at the moment.
 */

import { randomInt, randomUUID } from 'node:crypto';
import type { Pool, PoolClient } from 'pg';
import { DatabaseUnsuitableError } from '../errors.js';
import type { ChargingCheck } from '../ledger/charging/charge-watch.js';
import { withTimeout } from '../ledger/base/timeout.js';
import { StoreUnavailableError } from '../store.js';
import type { Settlement } from '../store.js';
import { ADVISORY_LOCKS } from './advisory-locks.js';
import { placeQueryOf, releaseQueryOf } from './holds.js';
import {
  READ_TIMEOUT_MS,
  WRITE_TIMEOUT_MS,
  inTransaction,
  isDiskFull,
  queryRows,
} from './query.js';
import type { TransactionQueries } from './query.js';
import { settleQueryOf } from './settle.js';
import { standingsQueryOf } from './standing-reader.js';

/** As in `server_version_num`. PostgreSQL 12 lacks `gen_random_uuid`, which `settle_batch` uses. */
const OLDEST_VERSION = 130_000;
/**
 * A pooler usually gives the connection that was used last to the next transaction. Other clients
 * of the pooler may prevent that, so it is tried several times.
 */
const ROUNDS = 3;
/** PostgreSQL's codes for a prepared statement that is missing, or that exists already. */
const PREPARED_ELSEWHERE = new Set(['26000', '42P05']);

const PROBE_LIFETIME_MS = 1_000;

/**
 * Writes a temporary file on the disk of the database, a MiB larger than a segment of the server's
 * log: 17 MiB, or more if `initdb` was called so, up to 65. Writes nothing into the log, and takes
 * 30 ms. If the disk takes more than two seconds, this says nothing about its room.
 */
const FILE_SETTINGS =
  "SELECT set_config('temp_tablespaces', '', true), set_config('work_mem', '64kB', true), " +
  "set_config('statement_timeout', '2s', true)";
const WRITE_FILE =
  "WITH file AS MATERIALIZED (SELECT repeat(' ', 1048576) AS mib FROM generate_series(0, " +
  "least(pg_size_bytes(current_setting('wal_segment_size')), 67108864) / 1048576)) " +
  'SELECT count(mib) FROM file';

const SESSION = { name: 'gateway_session', text: 'SELECT pg_backend_pid() AS pid' };

/**
 * Tries on two sessions what the ledger relies on. Leaves nothing behind.
 *
 * @param pool - Allows two connections.
 * @throws {DatabaseUnsuitableError} if the server is too old, a pooler gives the transactions of
 * one session to several connections, or an advisory lock does not keep others out
 */
export async function assertServerFits(pool: Pool): Promise<void> {
  const one = await pool.connect();
  let other: PoolClient | undefined;
  try {
    other = await pool.connect();
    await withTimeout(tryBoth(one, other), WRITE_TIMEOUT_MS);
    one.release();
    other.release();
  } catch (error) {
    // Closing the connections releases their locks.
    one.release(true);
    other?.release(true);
    throw isPreparedElsewhere(error) ? behindPooler() : error;
  }
}

async function tryBoth(one: PoolClient, other: PoolClient): Promise<void> {
  const { rows } = await one.query<{ number: number; text: string }>(
    "SELECT current_setting('server_version_num')::int AS number, " +
      "current_setting('server_version') AS text",
  );
  const version = rows[0];
  if (version === undefined || version.number < OLDEST_VERSION) {
    throw new DatabaseUnsuitableError(
      `the ledger needs PostgreSQL 13 or newer, and the server has version ${version?.text ?? '?'}: ` +
        'upgrade it',
    );
  }
  for (let round = 0; round < ROUNDS; round += 1) {
    const before = await pidOf(one);
    await other.query('BEGIN');
    await pidOf(other);
    const after = await pidOf(one);
    await other.query('ROLLBACK');
    if (before !== after) throw behindPooler();
  }
  await tryLocks(one, other);
}

async function tryLocks(one: PoolClient, other: PoolClient): Promise<void> {
  const key = `${String(ADVISORY_LOCKS.probe)}, ${String(randomInt(2 ** 31))}`;
  const taken = async (client: PoolClient, name: string): Promise<boolean> => {
    const { rows } = await client.query<{ taken: boolean }>(`SELECT ${name}(${key}) AS taken`);
    return rows[0]?.taken === true;
  };
  const ofSession = 'pg_try_advisory_lock';
  const ofTransaction = 'pg_try_advisory_xact_lock';
  const isHeld = await taken(one, ofSession);
  const isShared = (await taken(other, ofSession)) || (await taken(other, ofTransaction));
  const isReleased = await taken(one, 'pg_advisory_unlock');
  await other.query('BEGIN');
  const isHeldAgain = await taken(other, ofTransaction);
  const isSharedAgain = await taken(one, ofSession);
  await other.query('ROLLBACK');
  if (isHeld && isReleased && isHeldAgain && !isShared && !isSharedAgain) return;
  throw new DatabaseUnsuitableError(
    'an advisory lock of the database does not keep other sessions out, so two migrations or two ' +
      'archives could run at once: use PostgreSQL itself, not a database that only speaks its ' +
      'protocol, and no pooler in transaction mode',
  );
}

async function pidOf(client: PoolClient): Promise<number | undefined> {
  return (await client.query<{ pid: number }>(SESSION)).rows[0]?.pid;
}

function isPreparedElsewhere(error: unknown): boolean {
  if (typeof error !== 'object' || error === null || !('code' in error)) return false;
  return PREPARED_ELSEWHERE.has(String(error.code));
}

function behindPooler(): DatabaseUnsuitableError {
  return new DatabaseUnsuitableError(
    'DATABASE_URL leads through a pooler in transaction mode (or statement mode), in which prepared ' +
      'statements and locks of a session do not work: connect to PostgreSQL itself, or set the ' +
      "pooler's mode to session",
  );
}

/**
 * Asks whether the server answers and would accept writes. Changes nothing.
 *
 * @param others - Pools whose sessions are not used again either if it would not.
 * @throws {StoreUnavailableError} if it is read-only
 */
export async function checkCharging(pool: Pool, others: readonly Pool[]): Promise<ChargingCheck> {
  const askedAt = Date.now();
  const [state] = await queryRows<{ isReadOnly: boolean; isStandby: boolean; now: number }>(pool, {
    text:
      "SELECT current_setting('transaction_read_only') = 'on' AS \"isReadOnly\", " +
      'pg_is_in_recovery() AS "isStandby", ' +
      'extract(epoch FROM clock_timestamp())::float8 * 1000 AS now',
    timeoutMs: READ_TIMEOUT_MS,
  });
  if (state === undefined) throw new StoreUnavailableError('the database gave no answer');
  if (state.isStandby || state.isReadOnly) await closeIdleSessions([pool, ...others]);
  if (state.isStandby) {
    throw new StoreUnavailableError(
      'the database is a standby, which is read-only: promote it, or let DATABASE_URL name the primary',
    );
  }
  if (state.isReadOnly) {
    throw new StoreUnavailableError(
      'the database is read-only: turn default_transaction_read_only off for the database and the role',
    );
  }
  return { clockSkewMs: state.now - (askedAt + Date.now()) / 2 };
}

/**
 * A session stays read-only when the database becomes writable again, and stays with a server when
 * another one becomes the primary.
 */
async function closeIdleSessions(pools: readonly Pool[]): Promise<void> {
  for (const pool of pools) {
    for (let left = pool.idleCount; left > 0; left -= 1) (await pool.connect()).release(true);
  }
}

/**
 * Looks for room on the disk, charges a key that exists only in this transaction, takes the charge
 * back, and commits the lock of a row, so that the server writes its log to disk as for a charge.
 * Waits for no customer's row, and makes none wait.
 *
 * @throws {Error} if a charge cannot be recorded now
 */
export async function probeCharging(pool: Pool, others: readonly Pool[]): Promise<void> {
  await checkCharging(pool, others);
  await inTransaction(
    pool,
    'write',
    async (queries) => {
      await assertRoom(queries);
      await tryRequest(queries);
      await queries.rows('SELECT id FROM _prisma_migrations LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED');
    },
    READ_TIMEOUT_MS,
  );
}

/**
 * If there is no room for the next segment of its log, PostgreSQL ends all sessions and restarts.
 * After that it can record some charges, a probe among them, until it needs the segment again.
 *
 * @throws {StoreUnavailableError} if the disk has no room for it
 */
async function assertRoom({ rows }: TransactionQueries): Promise<void> {
  await rows('SAVEPOINT before_file');
  try {
    await rows(FILE_SETTINGS);
    await rows(WRITE_FILE);
  } catch (error) {
    if (isDiskFull(error)) {
      throw new StoreUnavailableError(
        "the database's disk has no room for the next file of its log: make room",
        { cause: error },
      );
    }
    // Whether a charge can be recorded is tried next.
  }
  await rows('ROLLBACK TO SAVEPOINT before_file');
}

/**
 * Opens all connections of a pool, and lets each compile and plan what requests call: otherwise the
 * first hold of a session takes 5 to 7 ms in place of 1, and a burst meets several such sessions. A
 * connection that the server refuses now is opened when it is needed.
 */
export async function openSessions(pool: Pool): Promise<void> {
  // As they start in one tick, each one gets a connection of its own.
  const sessions = Array.from({ length: pool.options.max }, () =>
    inTransaction(pool, 'write', tryRequest, WRITE_TIMEOUT_MS),
  );
  await Promise.allSettled(sessions);
}

/** Admits and charges a request of a key that exists only meanwhile. Leaves nothing behind. */
async function tryRequest({ rows }: TransactionQueries): Promise<void> {
  const id = `probe-${randomUUID()}`;
  await rows('SAVEPOINT before_probe');
  await rows(
    'WITH made AS (INSERT INTO account (id, name, balance, created_at) VALUES ($1, $1, 1, now()) ' +
      'RETURNING id) ' +
      'INSERT INTO api_key (id, account_id, name, hint, credential_hmac, pepper_id, concurrency, ' +
      "burst, requests_per_minute, created_at) SELECT id, id, id, '', decode(md5(id), 'hex'), '', " +
      '1, 1, 1, now() FROM made',
    [id],
  );
  for (const { text, values } of [
    standingsQueryOf([id]),
    placeQueryOf([{ requestId: id, keyId: id, amount: 1n }], PROBE_LIFETIME_MS),
    releaseQueryOf([id]),
    settleQueryOf([probeSettlement(id)]),
  ]) {
    await rows(text, values);
  }
  await rows('ROLLBACK TO SAVEPOINT before_probe');
}

function probeSettlement(id: string): Settlement {
  return {
    requestId: id,
    keyId: id,
    amount: 1n,
    overdraft: 'bounded',
    model: 'probe',
    usage: {
      inputTokens: 1,
      outputTokens: 0,
      cacheReadInputTokens: 0,
      cacheCreationInputTokens: 0,
      cacheCreation1hInputTokens: 0,
    },
    rates: {
      inputPerToken: 1n,
      outputPerToken: 1n,
      cacheReadPerToken: 1n,
      cacheWrite5mPerToken: 1n,
      cacheWrite1hPerToken: 1n,
    },
    endpoint: 'messages',
    streamed: false,
    upstreamId: undefined,
  };
}
