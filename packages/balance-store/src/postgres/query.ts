/** Runs one query on one pooled connection, and classifies its errors. */

import { types } from 'node:util';
import { Pool } from 'pg';
import type { PoolClient, PoolConfig, QueryResultRow } from 'pg';
import { reachingDatabase as reaching } from '../ledger/base/reaching-database.js';
import { LONGEST_TIMER_MS, withTimeout } from '../ledger/base/timeout.js';

export interface Query {
  readonly text: string;
  readonly values?: readonly unknown[];
  /** Makes it a prepared statement, prepared once per connection under this name. */
  readonly name?: string;
  /** The connection is dropped when the answer takes longer. */
  readonly timeoutMs: number;
}

/** If no connection is free or can be opened within this time, the database is unavailable. */
const CONNECT_TIMEOUT_MS = 5_000;
/** For reads that a client waits for: a database that hangs must not hang admission. */
export const READ_TIMEOUT_MS = 5_000;
/** For writes, which may wait for a row lock. */
export const WRITE_TIMEOUT_MS = 10_000;
/** For whole transactions, for pages of an audit, and for sealing. */
export const LONG_TIMEOUT_MS = 30_000;

/** @param config - Connections are kept alive, and given up after {@link CONNECT_TIMEOUT_MS}. */
export function openPool(config: PoolConfig): Pool {
  const pool = new Pool({
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    // Below the time after which routers forget an idle connection without a word.
    keepAliveInitialDelayMillis: 30_000,
    ...config,
  });
  // A broken connection emits `error`, which ends the process if there is no listener. The
  // listeners do nothing: a query on that connection rejects by itself, and the pool opens a new
  // connection.
  pool.on('error', () => undefined);
  pool.on('connect', (client) => client.on('error', () => undefined));
  return pool;
}

export async function queryRows<Row extends QueryResultRow>(
  pool: Pool,
  query: Query,
): Promise<readonly Row[]> {
  const result = await onConnection(pool, query, (client) => client.query<Row>(configOf(query)));
  return result.rows;
}

/** Like {@link queryRows}, with each row as an array, which is cheaper for large answers. */
export async function queryArrays<Row extends unknown[]>(
  pool: Pool,
  query: Query,
): Promise<readonly Row[]> {
  const result = await onConnection(pool, query, (client) =>
    client.query<Row>({ ...configOf(query), rowMode: 'array' as const }),
  );
  return result.rows;
}

/** Keeps the connection if the server refused the statement; drops it after any other error. */
async function onConnection<Result>(
  pool: Pool,
  { timeoutMs }: Query,
  work: (client: PoolClient) => Promise<Result>,
): Promise<Result> {
  const client = await pool.connect();
  try {
    const result = await withTimeout(work(client), timeoutMs);
    client.release();
    return result;
  } catch (error) {
    client.release(sqlStateOf(error) === undefined || isUnavailable(error));
    throw error;
  }
}

/** Runs statements of one transaction. */
export interface TransactionQueries {
  readonly rows: <Row extends QueryResultRow>(
    text: string,
    values?: readonly unknown[],
  ) => Promise<readonly Row[]>;
}

/**
 * An acknowledged change must be on disk, whatever the server's default is. If this process or its
 * connection is lost, the server itself must end the transaction and release its locks: otherwise
 * it would do so only when TCP gives up the connection, after two hours.
 */
const SAFE_WRITES =
  "SELECT set_config('idle_in_transaction_session_timeout', '30s', true), " +
  "set_config('lock_timeout', '25s', true), " +
  "set_config('synchronous_commit', CASE current_setting('synchronous_commit') " +
  "WHEN 'off' THEN 'on' ELSE current_setting('synchronous_commit') END, true)";

/**
 * Runs `work` in a transaction that is on disk when this resolves. If `work` throws, nothing is
 * changed.
 *
 * @param isolation - `snapshot`: all reads see the same state, and nothing is written.
 * @param timeoutMs - For the whole transaction.
 */
export function inTransaction<Result>(
  pool: Pool,
  isolation: 'write' | 'snapshot',
  work: (queries: TransactionQueries) => Promise<Result>,
  timeoutMs = LONG_TIMEOUT_MS,
): Promise<Result> {
  return onConnection(pool, { text: '', timeoutMs }, async (client) => {
    await client.query(
      isolation === 'write' ? 'BEGIN' : 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY',
    );
    try {
      if (isolation === 'write') await client.query(SAFE_WRITES);
      const result = await work({
        rows: async <Row extends QueryResultRow>(text: string, values: readonly unknown[] = []) =>
          (await client.query<Row>(configOf({ text, values, timeoutMs }))).rows,
      });
      await client.query('COMMIT');
      return result;
    } catch (error) {
      // If the connection was lost, the server has rolled back by itself.
      await client.query('ROLLBACK').catch(() => undefined);
      throw error;
    }
  });
}

/** Replaces each `?` of a statement by PostgreSQL's form: `$1`, `$2` and so on. */
export function numbered(text: string): string {
  let count = 0;
  return text.replace(/\?/g, () => {
    count += 1;
    return `$${String(count)}`;
  });
}

function configOf({ text, values = [], name }: Query) {
  return {
    text,
    values: [...values],
    // Turns off the pool's `query_timeout`, which is there for Prisma's queries. Its timer also
    // fires when this process's event loop was blocked and the answer has already arrived.
    // `withTimeout` allows for that.
    query_timeout: LONGEST_TIMER_MS,
    ...(name === undefined ? {} : { name }),
  };
}

/**
 * PostgreSQL's error code (SQLSTATE, five characters); `undefined` for faults of the connection.
 */
function sqlStateOf(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined;
  if (typeof error.code !== 'string') return undefined;
  return /^[0-9A-Z]{5}$/.test(error.code) && 'severity' in error ? error.code : undefined;
}

/** Whether the server answered, and refused the statement because of what it says. */
export function isSqlError(error: unknown): boolean {
  const state = sqlStateOf(error);
  return state !== undefined && !isUnavailableState(state);
}

/** Whether a row or a value is at fault, so that the same statement will always fail. */
export function isDataError(error: unknown): boolean {
  const state = sqlStateOf(error) ?? '';
  // 54 is "program limit exceeded": a text too long for its index.
  return state.startsWith('22') || state.startsWith('23') || state.startsWith('54');
}

/** Whether another transaction inserted the same id or external id after this one's look-up. */
export function isUniqueViolation(error: unknown): boolean {
  return sqlStateOf(error) === '23505';
}

/**
 * The accounts with credit that has expired at this time and is not booked, because of which
 * `settle_batch` settled nothing; `undefined` for any other error.
 */
export function expiredCreditIn(
  error: unknown,
): { readonly accountIds: readonly string[]; readonly at: Date } | undefined {
  if (sqlStateOf(error) !== 'GWEXP') return undefined;
  const { detail, hint } = error as { readonly detail?: unknown; readonly hint?: unknown };
  const accountIds = JSON.parse(String(detail)) as readonly string[];
  return { accountIds, at: new Date(Number(hint)) };
}

/** Whether the server could not write a file because its disk is full. */
export function isDiskFull(error: unknown): boolean {
  return sqlStateOf(error) === '53100';
}

/**
 * Whether the database is at fault and not the statement: it cannot be reached, was shut down, is
 * out of resources or read-only, or ended the statement because of a deadlock.
 *
 * @param state - PostgreSQL's error code (SQLSTATE).
 */
export function isUnavailableState(state: string): boolean {
  return /^(08|40|53|55|57|58|25006|25P03)/.test(state);
}

function isUnavailable(error: unknown): boolean {
  const state = sqlStateOf(error);
  if (state !== undefined) return isUnavailableState(state);
  // Faults of a connection are plain errors; errors of any other class are this package's own.
  return types.isNativeError(error) && (error.name === 'Error' || error.name === 'AggregateError');
}

/** Runs database work, and reports PostgreSQL's faults as `StoreUnavailableError`. */
export function reachingDatabase<Result>(
  work: () => Promise<Result>,
  unavailable = isUnavailable,
): Promise<Result> {
  return reaching(work, unavailable);
}
