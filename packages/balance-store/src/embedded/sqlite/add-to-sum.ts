/** Adds figures to one hourly or daily total of usage. */

import { COUNT_COLUMNS, RATE_COLUMNS } from '../../ledger/charge-columns.js';
import { columnOf, keyOf } from '../../ledger/tables.js';
import type { ColumnOf } from '../../ledger/tables.js';
import type { Connection } from './connection.js';
import { ZERO, textOf, unitsOf } from './money.js';

const MODELS = { usage_hour: 'UsageHour', usage_day: 'UsageDay' } as const;

type SumTable = keyof typeof MODELS;

export interface SumFigures {
  readonly requests: number;
  /** In the order of the columns. */
  readonly counts: readonly number[];
  /** In the order of the columns, as they are stored. */
  readonly rates: readonly string[];
  readonly writtenOff: bigint;
  readonly fees: bigint;
  readonly cost: bigint;
  readonly costed: number;
}

// Before the statements, which are made of them.
const AMOUNTS = ['writtenOff', 'fees', 'cost'] as const satisfies readonly (keyof SumFigures)[];
const STATEMENTS = { usage_hour: statementsOf('usage_hour'), usage_day: statementsOf('usage_day') };

/** @param primary - The values of the primary key. */
export function addToSum(
  connection: Connection,
  table: SumTable,
  primary: readonly (string | number)[],
  { requests, counts, costed, rates, ...amounts }: SumFigures,
): void {
  const { add, readAmounts, setAmounts } = STATEMENTS[table];
  connection.run(add, ...primary, requests, ...counts, costed, ...rates);
  // Amounts are text, which SQLite cannot add, so they take two more statements: 9 µs.
  if (AMOUNTS.every((name) => amounts[name] === 0n)) return;
  const row = connection.get<Readonly<Record<(typeof AMOUNTS)[number], string>>>(
    readAmounts,
    ...primary,
  );
  const sums = AMOUNTS.map((name) => textOf(unitsOf(row?.[name] ?? '') + amounts[name]));
  connection.run(setAmounts, ...sums, ...primary);
}

/** An SQL condition that selects one total. Bind its primary key, in the order of its columns. */
export function sumCondition(table: SumTable): string {
  return keysOf(table)
    .map((column) => `${column} = ?`)
    .join(' AND ');
}

function keysOf(table: SumTable): readonly string[] {
  return keyOf(MODELS[table]).map(({ name }) => name);
}

function statementsOf(table: SumTable) {
  const named = (members: readonly ColumnOf<'UsageHour'>[]) =>
    members.map((member) => columnOf('UsageHour', member).name);
  const keys = keysOf(table);
  const isIt = sumCondition(table);
  const added = named(['requests', ...COUNT_COLUMNS, 'costed']);
  const amounts = AMOUNTS.map((member) => [columnOf('UsageHour', member).name, member] as const);
  const columns = [...keys, ...added, ...named(RATE_COLUMNS)];
  return {
    add:
      `INSERT INTO ${table} (${columns.join(', ')}, written_off) ` +
      `VALUES (${'?, '.repeat(columns.length)}'${ZERO}') ON CONFLICT DO UPDATE SET ` +
      added.map((name) => `${name} = ${name} + excluded.${name}`).join(', '),
    readAmounts:
      `SELECT ${amounts.map(([name, member]) => `${name} AS ${member}`).join(', ')} ` +
      `FROM ${table} WHERE ${isIt}`,
    setAmounts:
      `UPDATE ${table} SET ${amounts.map(([name]) => `${name} = ?`).join(', ')} ` + `WHERE ${isIt}`,
  };
}
