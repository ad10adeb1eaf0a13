/** How PostgreSQL reads and writes the columns of the ledger's tables. */

import { TABLES } from '../generated/tables.js';
import {
  columnsOf,
  insertion,
  numberedInsertion,
  rowReader,
  selection,
  update,
} from '../ledger/tables/tables.js';
import type {
  Column,
  ColumnOf,
  Conversions,
  Kind,
  Model,
  Row,
  SomeColumns,
} from '../ledger/tables/tables.js';
import { numericFromUnits, unitsFromNumeric } from '../numeric.js';
import { numbered } from './query.js';
import type { TransactionQueries } from './query.js';

const READ: Conversions = { amount: unitsFromNumeric, bigint: BigInt };
const WRITE: Conversions = {
  amount: numericFromUnits,
  bigint: String,
  json: JSON.stringify,
  bytes: (bytes: Uint8Array) => Buffer.from(bytes),
};

/** How `pg` returns each kind, selected by {@link select}. */
export interface PostgresValues {
  readonly text: string;
  readonly integer: number;
  readonly bigint: string;
  readonly real: number;
  readonly amount: string;
  readonly flag: boolean;
  readonly bytes: Buffer;
  readonly time: Date;
  readonly json: unknown;
}

export function select<Of extends Model>(model: Of, members: readonly ColumnOf<Of>[]): string {
  return selection(model, members, ({ name, kind }) =>
    kind === 'amount' || kind === 'bigint' ? `${name}::text` : name,
  );
}

export function readerOf<Of extends Model, Name extends ColumnOf<Of>>(
  model: Of,
  members: readonly Name[],
) {
  return rowReader<Of, Name>(model, members, READ);
}

export async function insertRow<Of extends Model>(
  { rows }: TransactionQueries,
  model: Of,
  row: SomeColumns<Of>,
  onConflict = '',
): Promise<void> {
  const { sql, values } = insertion(model, row, WRITE);
  await rows(numbered(`${sql} ${onConflict}`), values);
}

/** Inserts a row that is numbered after all others. */
export async function appendRow(
  { rows }: TransactionQueries,
  model: 'Trail',
  row: SomeColumns<'Trail'>,
): Promise<void> {
  const { sql, values } = numberedInsertion(model, row, WRITE);
  await rows(numbered(sql), values);
}

export async function updateRow<Of extends Model>(
  { rows }: TransactionQueries,
  model: Of,
  id: string,
  change: SomeColumns<Of>,
): Promise<void> {
  const statement = update(model, id, change, WRITE);
  if (statement !== undefined) await rows(numbered(statement.sql), statement.values);
}

/** Inserts many rows in one statement. */
export async function insertRows<Of extends Model>(
  { rows: query }: TransactionQueries,
  model: Of,
  rows: readonly Row<Of>[],
): Promise<void> {
  const { table, columns, values } = recordset(model);
  await query(`INSERT INTO ${table} (${columns}) ${values}`, [
    JSON.stringify(rows.map((row) => textsOf(model, row))),
  ]);
}

/**
 * The columns of a table, and a SELECT that reads their values from a JSON array: one object for
 * each row, with each column as text.
 *
 * @param parameter - The array.
 */
export function recordset(model: Model, parameter = '$1') {
  const all = Object.values(columnsOf(model));
  const columns = all.map(({ name }) => `"${name}"`).join(', ');
  const typed = all.map(({ name }) => `"${name}" text`).join(', ');
  const read = all.map(({ name, kind }) => fromText(`r."${name}"`, kind)).join(', ');
  const values = `SELECT ${read} FROM json_to_recordset(${parameter}::json) AS r (${typed})`;
  return { table: TABLES[model].table, columns, values };
}

/** A row with each column as text, under its name in the table. */
export function textsOf<Of extends Model>(
  model: Of,
  row: Row<Of>,
): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(columnsOf(model)).map(([member, { name, kind }]) => {
      const value: unknown = row[member as ColumnOf<Of>];
      const convert = TEXTS[kind] as ((value: unknown) => string) | undefined;
      return [name, value === null || convert === undefined ? value : convert(value)];
    }),
  );
}

const TEXTS: Conversions = {
  integer: String,
  bigint: String,
  real: String,
  amount: numericFromUnits,
  flag: String,
  bytes: (bytes: Uint8Array) => Buffer.from(bytes).toString('hex'),
  time: (time: Date) => String(time.getTime()),
  json: JSON.stringify,
};

/** A text as a value of PostgreSQL, the reverse of {@link asText}. */
export function fromText(text: string, kind: Kind): string {
  switch (kind) {
    case 'text':
      return text;
    case 'integer':
    case 'bigint':
      return `${text}::bigint`;
    case 'real':
      return `${text}::float8`;
    case 'amount':
      return `${text}::numeric`;
    case 'flag':
      return `${text}::boolean`;
    case 'bytes':
      return `decode(${text}, 'hex')`;
    case 'time':
      return `'epoch'::timestamptz + ${text}::bigint * interval '1 millisecond'`;
    case 'json':
      return `${text}::jsonb`;
  }
}

/** The columns of a model as text, in the order in which they are sealed. */
export function sealedColumns(model: 'Ledger' | 'Trail'): string {
  return Object.values(columnsOf(model)).map(asText).join(', ');
}

/** A column as text, in the form that is sealed and that SQLite's text has too. */
export function asText({ name, kind }: Column): string {
  switch (kind) {
    case 'bytes':
      return `encode(${name}, 'hex')`;
    case 'time':
      return `(extract(epoch FROM ${name}) * 1000)::bigint::text`;
    default:
      return `${name}::text`;
  }
}
