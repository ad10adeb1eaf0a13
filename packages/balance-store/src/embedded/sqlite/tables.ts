/** How SQLite reads and writes the columns of the ledger's tables. */

import {
  insertion,
  numberedInsertion,
  rowReader,
  selection,
  update,
} from '../../ledger/tables/tables.js';
import type {
  ColumnOf,
  Conversions,
  Kind,
  Model,
  Row,
  SomeColumns,
} from '../../ledger/tables/tables.js';
import type { SQLInputValue } from 'node:sqlite';
import type { Connection } from './connection.js';
import { textOf, unitsOf } from './money.js';

const READ: Conversions = {
  amount: unitsOf,
  bigint: BigInt,
  flag: (flag: number) => flag === 1,
  time: (ms: number) => new Date(ms),
  json: (text: string): unknown => JSON.parse(text),
};
const WRITE: Conversions = {
  amount: textOf,
  flag: Number,
  time: (time: Date) => time.getTime(),
  json: JSON.stringify,
};

/** How SQLite returns each kind. Times are milliseconds since the epoch. */
interface SqliteValues extends Record<Kind, unknown> {
  readonly text: string;
  readonly integer: number;
  readonly bigint: number;
  readonly real: number;
  readonly amount: string;
  readonly flag: number;
  readonly bytes: Uint8Array;
  readonly time: number;
  readonly json: string;
}

export type SqliteRow<Of extends Model> = Row<Of, SqliteValues>;

/** @param table - Its name, if the query reads several tables. */
export function select<Of extends Model>(
  model: Of,
  members: readonly ColumnOf<Of>[],
  table?: string,
): string {
  return selection(model, members, ({ name }) => (table === undefined ? name : `${table}.${name}`));
}

export function readerOf<Of extends Model, Name extends ColumnOf<Of>>(
  model: Of,
  members: readonly Name[],
) {
  return rowReader<Of, Name>(model, members, READ);
}

export function insertRow<Of extends Model>(
  connection: Connection,
  model: Of,
  row: SomeColumns<Of>,
  onConflict = '',
): number {
  const { sql, values } = insertion(model, row, WRITE);
  return connection.run(`${sql} ${onConflict}`, ...(values as SQLInputValue[]));
}

/** Inserts a row that is numbered after all others. */
export function appendRow(connection: Connection, model: 'Trail', row: SomeColumns<'Trail'>): void {
  const { sql, values } = numberedInsertion(model, row, WRITE);
  connection.run(sql, ...(values as SQLInputValue[]));
}

export function updateRow<Of extends Model>(
  connection: Connection,
  model: Of,
  id: string,
  change: SomeColumns<Of>,
): void {
  const statement = update(model, id, change, WRITE);
  if (statement === undefined) return;
  connection.run(statement.sql, ...(statement.values as SQLInputValue[]));
}
