/** Closed months and issued statements: reads and inserts both. */

import type { Pool } from 'pg';
import type { IssuedStatement, StatementFilter } from '../closed-month.js';
import {
  CLOSING_MEMBERS,
  STATEMENT_MEMBERS,
  issuedStatementOf,
} from '../ledger/rows/stored-closed-month.js';
import type { Row } from '../ledger/tables/tables.js';
import { ADVISORY_LOCKS } from './advisory-locks.js';
import { LONG_TIMEOUT_MS, queryRows } from './query.js';
import type { TransactionQueries } from './query.js';
import { insertRow, readerOf, select } from './tables.js';
import type { PostgresValues } from './tables.js';

const readClosing = readerOf('ClosedMonth', CLOSING_MEMBERS);
const readStatement = readerOf('IssuedStatement', STATEMENT_MEMBERS);

const SELECT_CLOSINGS =
  `SELECT ${select('ClosedMonth', CLOSING_MEMBERS)} FROM closed_month ` +
  'ORDER BY closed_month.until_at';
const SELECT_STATEMENTS = `SELECT ${select('IssuedStatement', STATEMENT_MEMBERS)} FROM issued_statement s`;

type Rows = TransactionQueries['rows'];

const rowsOf =
  (pool: Pool): Rows =>
  (text, values = []) =>
    queryRows(pool, { text, values, timeoutMs: LONG_TIMEOUT_MS });

/** Oldest first. */
export async function listClosedMonths(pool: Pool): Promise<readonly Row<'ClosedMonth'>[]> {
  return (await rowsOf(pool)<Row<'ClosedMonth', PostgresValues>>(SELECT_CLOSINGS)).map(readClosing);
}

/** By account. */
export async function listStatements(
  pool: Pool,
  { month, accountId, afterAccount = '', limit }: StatementFilter,
): Promise<readonly IssuedStatement[]> {
  const rows = await rowsOf(pool)<Row<'IssuedStatement', PostgresValues>>(
    `${SELECT_STATEMENTS} WHERE s.month = $1 AND ($2::text IS NULL OR s.account_id = $2) ` +
      'AND s.account_id > $3 AND s.account_id <= coalesce((SELECT max(account_id) FROM ' +
      '(SELECT DISTINCT account_id FROM issued_statement WHERE month = $1 AND account_id > $3 ' +
      "AND ($2::text IS NULL OR account_id = $2) ORDER BY account_id LIMIT $4) page), '') " +
      'ORDER BY s.account_id, s.kind DESC',
    [month, accountId ?? null, afterAccount, limit],
  );
  return rows.map((row) => issuedStatementOf(readStatement(row)));
}

export async function statementsAfter(
  pool: Pool,
  { issuer, number }: { readonly issuer: string; readonly number: number },
  limit: number,
): Promise<readonly Row<'IssuedStatement'>[]> {
  const rows = await rowsOf(pool)<Row<'IssuedStatement', PostgresValues>>(
    `${SELECT_STATEMENTS} WHERE (s.issuer, s.number) > ($1, $2) ORDER BY s.issuer, s.number ` +
      'LIMIT $3',
    [issuer, number, limit],
  );
  return rows.map(readStatement);
}

/** What a transaction reads and writes of both. */
export function closedMonthsIn(queries: TransactionQueries) {
  const { rows } = queries;
  return {
    async lockClosings(): Promise<void> {
      await rows(`SELECT pg_advisory_xact_lock(${String(ADVISORY_LOCKS.closing)})`);
    },
    async closedMonths(): Promise<readonly Row<'ClosedMonth'>[]> {
      return (await rows<Row<'ClosedMonth', PostgresValues>>(SELECT_CLOSINGS)).map(readClosing);
    },
    insertClosedMonth: (row: Row<'ClosedMonth'>): Promise<void> =>
      insertRow(queries, 'ClosedMonth', row),
    async issuedStatement(month: string, accountId: string, kind: string) {
      const [row] = await rows<Row<'IssuedStatement', PostgresValues>>(
        `${SELECT_STATEMENTS} WHERE s.month = $1 AND s.account_id = $2 AND s.kind = $3`,
        [month, accountId, kind],
      );
      return row === undefined ? undefined : readStatement(row);
    },
    async lastStatement(issuer: string): Promise<number> {
      const [row] = await rows<{ last: number | null }>(
        'SELECT max(number) AS last FROM issued_statement WHERE issuer = $1',
        [issuer],
      );
      return row?.last ?? 0;
    },
    insertStatement: (row: Row<'IssuedStatement'>): Promise<void> =>
      insertRow(queries, 'IssuedStatement', row),
  };
}
