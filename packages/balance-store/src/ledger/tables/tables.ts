/**
 * The rows of the ledger's tables, derived from `prisma/schema.prisma`: their types, their columns,
 * and the statements that insert and update them. Both databases use the same statements, with a
 * `?` for each value, and differ only in how they write a value of each kind.
 */

import { TABLES } from '../../generated/tables.js';

export type Model = keyof typeof TABLES;
type Columns<Of extends Model> = (typeof TABLES)[Of]['columns'];
export type ColumnOf<Of extends Model> = keyof Columns<Of> & string;

/** The type of each kind of column in the code. Amounts are in units of 10^-14 USD. */
export interface Values {
  readonly text: string;
  readonly integer: number;
  readonly bigint: bigint;
  readonly real: number;
  readonly amount: bigint;
  readonly flag: boolean;
  readonly bytes: Uint8Array;
  readonly time: Date;
  readonly json: unknown;
}

export type Kind = keyof Values;

export interface Column {
  readonly name: string;
  readonly kind: Kind;
  readonly isNullable: boolean;
  /** Whether the text describes a person, so that erasing an account clears it. */
  readonly isPersonal?: true;
  /** Whether it decides what an account or key may do, so that an audit compares it. */
  readonly isRight?: true;
  /** Whether operators set it, when they create an account and later. */
  readonly isSetting?: true;
  /** Whether a digest leaves it out where it is absent. */
  readonly isAdded?: true;
}

/** A row, each column under its name in the code. @typeParam Types - The type of each kind. */
export type Row<Of extends Model, Types extends Record<Kind, unknown> = Values> = {
  readonly [Name in ColumnOf<Of>]: Columns<Of>[Name] extends Column
    ? | Types[Columns<Of>[Name]['kind']]
      | (Columns<Of>[Name]['isNullable'] extends true ? null : never)
    : never;
};

/** Some columns of a row. Those that are `undefined` are not written. */
export type SomeColumns<Of extends Model> = {
  readonly [Name in ColumnOf<Of>]?: Row<Of>[Name] | undefined;
};

export function columnsOf(model: Model): Readonly<Record<string, Column>> {
  return TABLES[model].columns;
}

/** The name of a table in the databases. */
export function tableOf(model: Model): string {
  return TABLES[model].table;
}

export function columnOf<Of extends Model>(model: Of, member: ColumnOf<Of>): Column {
  const column = columnsOf(model)[member];
  if (column === undefined) throw new Error(`${model} has no column ${member}`);
  return column;
}

/** All columns of a table but these. */
export function membersWithout<Of extends Model, Name extends ColumnOf<Of>>(
  model: Of,
  without: readonly Name[],
): readonly Exclude<ColumnOf<Of>, Name>[] {
  const left = new Set<string>(without);
  return Object.keys(columnsOf(model)).filter((member) => !left.has(member)) as Exclude<
    ColumnOf<Of>,
    Name
  >[];
}

/** The columns of the primary key. */
export function keyOf<Of extends Model>(model: Of): readonly Column[] {
  return TABLES[model].key.map((member) => columnOf(model, member as ColumnOf<Of>));
}

/**
 * A list of columns for SELECT, each under its name in the code.
 *
 * @param write - A column as the database returns it.
 */
export function selection<Of extends Model>(
  model: Of,
  members: readonly ColumnOf<Of>[],
  write: (column: Column) => string,
): string {
  return members.map((member) => `${write(columnOf(model, member))} AS "${member}"`).join(', ');
}

/** For some kinds, how a value is converted. Values of the other kinds stay as they are. */
export type Conversions = { readonly [Of in Kind]?: (value: never) => unknown };

/** @returns a function that converts a row as the database returns it; null stays null */
export function rowReader<Of extends Model, Name extends ColumnOf<Of>>(
  model: Of,
  members: readonly Name[],
  conversions: Conversions,
): <Found extends Readonly<Record<Name, unknown>>>(
  found: Found,
) => Omit<Found, Name> & Pick<Row<Of>, Name> {
  const steps = members.flatMap((member) => {
    const convert = conversions[columnOf(model, member).kind] as Convert | undefined;
    return convert === undefined ? [] : [{ member, convert }];
  });
  return <Found extends Readonly<Record<Name, unknown>>>(found: Found) => {
    const row: Record<string, unknown> = { ...found };
    for (const { member, convert } of steps) {
      const value = row[member];
      if (value !== null) row[member] = convert(value);
    }
    return row as Omit<Found, Name> & Pick<Row<Of>, Name>;
  };
}

type Convert = (value: unknown) => unknown;

export interface Statement {
  /** With a `?` for each value. */
  readonly sql: string;
  readonly values: readonly unknown[];
}

export function insertion<Of extends Model>(
  model: Of,
  row: SomeColumns<Of>,
  conversions: Conversions,
): Statement {
  const { names, values } = written(model, row, conversions);
  const marks = names.map(() => '?').join(', ');
  return {
    sql: `INSERT INTO ${TABLES[model].table} (${names.join(', ')}) VALUES (${marks})`,
    values,
  };
}

/** Numbers the row after all rows of the table, in its column `seq`. */
export function numberedInsertion(
  model: 'Trail',
  row: SomeColumns<'Trail'>,
  conversions: Conversions,
): Statement {
  const { names, values } = written(model, row, conversions);
  const { table } = TABLES[model];
  return {
    sql:
      `INSERT INTO ${table} (seq, ${names.join(', ')}) ` +
      `SELECT coalesce(max(seq), 0) + 1${', ?'.repeat(names.length)} FROM ${table}`,
    values,
  };
}

/** @returns `undefined` if no column changes */
export function update<Of extends Model>(
  model: Of,
  id: string,
  change: SomeColumns<Of>,
  conversions: Conversions,
): Statement | undefined {
  const { names, values } = written(model, change, conversions);
  if (names.length === 0) return undefined;
  const sets = names.map((name) => `${name} = ?`).join(', ');
  return {
    sql: `UPDATE ${TABLES[model].table} SET ${sets} WHERE id = ?`,
    values: [...values, id],
  };
}

function written<Of extends Model>(model: Of, row: SomeColumns<Of>, conversions: Conversions) {
  const names: string[] = [];
  const values: unknown[] = [];
  for (const [member, { name, kind }] of Object.entries(columnsOf(model))) {
    const value: unknown = row[member as ColumnOf<Of>];
    if (value === undefined) continue;
    const convert = conversions[kind] as Convert | undefined;
    names.push(name);
    values.push(value === null || convert === undefined ? value : convert(value));
  }
  return { names, values };
}
