/** Closed months and issued statements: reads and inserts both. */

import type { IssuedStatement, StatementFilter } from '../../closed-month.js';
import {
  CLOSING_MEMBERS,
  STATEMENT_MEMBERS,
  issuedStatementOf,
} from '../../ledger/rows/stored-closed-month.js';
import type { Row } from '../../ledger/tables/tables.js';
import type { Connection } from './connection.js';
import { insertRow, readerOf, select } from './tables.js';
import type { SqliteRow } from './tables.js';

const readClosing = readerOf('ClosedMonth', CLOSING_MEMBERS);
const readStatement = readerOf('IssuedStatement', STATEMENT_MEMBERS);

const SELECT_CLOSINGS = `SELECT ${select('ClosedMonth', CLOSING_MEMBERS)} FROM closed_month ORDER BY until_at`;
const SELECT_STATEMENTS = `SELECT ${select('IssuedStatement', STATEMENT_MEMBERS)} FROM issued_statement`;

/** Oldest first. */
export function listClosedMonths(connection: Connection): readonly Row<'ClosedMonth'>[] {
  return connection.all<SqliteRow<'ClosedMonth'>>(SELECT_CLOSINGS).map(readClosing);
}

/** By account. */
export function listStatements(
  connection: Connection,
  { month, accountId, afterAccount = '', limit }: StatementFilter,
): readonly IssuedStatement[] {
  const only = accountId === undefined ? '' : 'AND account_id = ? ';
  const of = [month, afterAccount, ...(accountId === undefined ? [] : [accountId])];
  const last = connection.get<{ readonly last: string | null }>(
    'SELECT max(account_id) AS last FROM (SELECT DISTINCT account_id FROM issued_statement ' +
      `WHERE month = ? AND account_id > ? ${only}ORDER BY account_id LIMIT ?)`,
    ...of,
    limit,
  )?.last;
  return connection
    .all<SqliteRow<'IssuedStatement'>>(
      `${SELECT_STATEMENTS} WHERE month = ? AND account_id > ? ${only}AND account_id <= ? ORDER BY account_id, kind DESC`,
      ...of,
      last ?? '',
    )
    .map((row) => issuedStatementOf(readStatement(row)));
}

export function statementsAfter(
  connection: Connection,
  { issuer, number }: { readonly issuer: string; readonly number: number },
  limit: number,
): readonly Row<'IssuedStatement'>[] {
  return connection
    .all<SqliteRow<'IssuedStatement'>>(
      `${SELECT_STATEMENTS} WHERE (issuer, number) > (?, ?) ORDER BY issuer, number LIMIT ?`,
      issuer,
      number,
      limit,
    )
    .map(readStatement);
}

/** What a transaction reads and writes of both. Only one transaction writes at a time. */
export function closedMonthsIn(connection: Connection) {
  return {
    lockClosings: () => Promise.resolve(),
    closedMonths: () => Promise.resolve(listClosedMonths(connection)),
    insertClosedMonth(row: Row<'ClosedMonth'>): Promise<void> {
      insertRow(connection, 'ClosedMonth', row);
      return Promise.resolve();
    },
    issuedStatement(month: string, accountId: string, kind: string) {
      const row = connection.get<SqliteRow<'IssuedStatement'>>(
        `${SELECT_STATEMENTS} WHERE month = ? AND account_id = ? AND kind = ?`,
        month,
        accountId,
        kind,
      );
      return Promise.resolve(row === undefined ? undefined : readStatement(row));
    },
    lastStatement(issuer: string): Promise<number> {
      const row = connection.get<{ readonly last: number | null }>(
        'SELECT max(number) AS last FROM issued_statement WHERE issuer = ?',
        issuer,
      );
      return Promise.resolve(row?.last ?? 0);
    },
    insertStatement(row: Row<'IssuedStatement'>): Promise<void> {
      insertRow(connection, 'IssuedStatement', row);
      return Promise.resolve();
    },
  };
}
