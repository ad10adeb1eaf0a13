/** Adds figures to one hourly or daily total of usage. */

import { COUNT_COLUMNS, RATE_COLUMNS } from '../../ledger/tables/charge-columns.js';
import { columnOf, keyOf } from '../../ledger/tables/tables.js';
import type { ColumnOf } from '../../ledger/tables/tables.js';
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
type Amounts = Readonly<Record<(typeof AMOUNTS)[number], string>>;

const STATEMENTS = { usage_hour: statementsOf('usage_hour'), usage_day: statementsOf('usage_day') };

/** @param primary - The values of the primary key. */
export function addToSum(
  connection: Connection,
  table: SumTable,
  primary: readonly (string | number)[],
  { requests, counts, costed, rates, ...amounts }: SumFigures,
): void {
  const { add, addWithAmounts, readAmounts } = STATEMENTS[table];
  const hasAmounts = AMOUNTS.some((name) => amounts[name] !== 0n);
  // Amounts are text, which SQLite cannot add.
  const before = hasAmounts ? connection.get<Amounts>(readAmounts, ...primary) : undefined;
  const sums = AMOUNTS.map((name) => textOf(unitsOf(before?.[name] ?? ZERO) + amounts[name]));
  const statement = hasAmounts ? addWithAmounts : add;
  connection.run(statement, ...primary, requests, ...counts, costed, ...rates, ...sums);
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
  const names = [...columns, ...amounts.map(([name]) => name)];
  const insert =
    `INSERT INTO ${table} (${names.join(', ')}) VALUES (${names.map(() => '?').join(', ')}) ` +
    `ON CONFLICT DO UPDATE SET ${added.map((name) => `${name} = ${name} + excluded.${name}`).join(', ')}`;
  return {
    /** Leaves the amounts of a total that exists. */
    add: insert,
    addWithAmounts: `${insert}, ${amounts.map(([name]) => `${name} = excluded.${name}`).join(', ')}`,
    readAmounts:
      `SELECT ${amounts.map(([name, member]) => `${name} AS ${member}`).join(', ')} ` +
      `FROM ${table} WHERE ${isIt}`,
  };
}
