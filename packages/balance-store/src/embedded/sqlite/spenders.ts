/** How the embedded ledger reads and writes groups, members, budgets and spenders. */

import type { SQLInputValue } from 'node:sqlite';
import { TABLES } from '../../generated/tables.js';
import { spenderRowsOf, spenderTableOf } from '../../ledger/queries/spenders.js';
import type { SpenderSql, SpenderTable } from '../../ledger/queries/spenders.js';
import type { SpenderRows } from '../../ledger/rows/spender-rows.js';
import { MAX_SPENDERS, OTHER, spenderOf, spenderRowOf } from '../../ledger/rows/spenders.js';
import type { ColumnOf, Model, Row, SomeColumns } from '../../ledger/tables/tables.js';
import { columnsOf } from '../../ledger/tables/tables.js';
import type { Spender } from '../../spender.js';
import type { Connection } from './connection.js';
import { unitsOf } from './money.js';
import { sumUsd } from './sums.js';
import { insertRow, readerOf, select, updateRow } from './tables.js';

/** The rows of a table. @param tail - What follows the name of the table, with its `?`. */
export function rowsOf<Of extends Model>(
  connection: Connection,
  model: Of,
  tail: string,
  values: readonly SQLInputValue[],
): readonly Row<Of>[] {
  const { text, read } = wholeRows(model);
  return connection
    .all<Readonly<Record<string, unknown>>>(`${text} ${tail}`, ...values)
    .map((row) => read(row) as Row<Of>);
}

interface WholeRows {
  readonly text: string;
  readonly read: (row: Readonly<Record<string, unknown>>) => unknown;
}

/** What reads each table: each hold of an account with budgets needs two of them. */
const knownTables = new Map<Model, WholeRows>();

function wholeRows(model: Model): WholeRows {
  let known = knownTables.get(model);
  if (known === undefined) {
    const members = Object.keys(columnsOf(model)) as ColumnOf<Model>[];
    const text = `SELECT ${select(model, members)} FROM ${TABLES[model].table}`;
    known = { text, read: readerOf(model, members) };
    knownTables.set(model, known);
  }
  return known;
}

function sqlOf(connection: Connection): SpenderSql {
  return {
    rows: (model, tail, values) => Promise.resolve(rowsOf(connection, model, tail, values)),
    query: <Found extends object>(text: string, values: readonly SQLInputValue[]) =>
      Promise.resolve(connection.all<Found>(text, ...values)),
    lower: (column) => `fold_case(${column})`,
    sum: sumUsd,
    texts: 'SELECT value FROM json_each(?)',
    time: (at) => at.getTime(),
    units: unitsOf,
  };
}

export function spendersIn(connection: Connection): SpenderRows {
  return spenderRowsOf({
    ...sqlOf(connection),
    insert<Of extends Model>(model: Of, row: Row<Of>) {
      insertRow(connection, model, row as SomeColumns<Of>);
      return Promise.resolve();
    },
    insertAll<Of extends Model>(model: Of, rows: readonly Row<Of>[]) {
      for (const row of rows) insertRow(connection, model, row as SomeColumns<Of>);
      return Promise.resolve();
    },
    update<Of extends Model>(model: Of, id: string, change: SomeColumns<Of>) {
      updateRow(connection, model, id, change);
      return Promise.resolve();
    },
  });
}

/** Reads for operators and holders. @param connection - Not within a transaction of others. */
export function spenderTable(connection: Connection): SpenderTable {
  return spenderTableOf(sqlOf(connection));
}

/** A spender as it is recorded: without some labels if there are too many, or they are erased. */
export interface RecordedSpender {
  readonly id: string;
  readonly spender: Spender;
}

/**
 * Under what the charges of a spender are recorded. Call it within a transaction.
 *
 * @param known - Those that were found before. Spenders never change, so they stay right.
 */
export function recordedSpender(
  connection: Connection,
  { id: accountId, labelSalt }: { readonly id: string; readonly labelSalt: string },
  spender: Spender,
  known: Map<string, RecordedSpender>,
): RecordedSpender {
  const { memberId = '', groups = '', tag = '', run = '' } = spender;
  const name = [accountId, memberId, groups, tag, run].join('\n');
  const found = known.get(name);
  if (found !== undefined) return found;
  const own = spenderRowOf(accountId, labelSalt, spender);
  const row = addSpender(connection, own, () =>
    spenderRowOf(accountId, labelSalt, {
      ...spender,
      ...(spender.tag === undefined ? {} : { tag: OTHER }),
      ...(spender.run === undefined ? {} : { run: OTHER }),
    }),
  );
  if (known.size >= MAX_KNOWN) known.clear();
  const recorded = { id: row.id, spender: spenderOf(row) };
  known.set(name, recorded);
  return recorded;
}

const MAX_KNOWN = 5_000;

type NewSpender = Omit<Row<'Spender'>, 'number'>;

/** @param otherOf - The row that stands for all that are too many. */
function addSpender(
  connection: Connection,
  row: NewSpender,
  otherOf: () => NewSpender,
): NewSpender {
  if (connection.get('SELECT 1 FROM spender WHERE id = ?', row.id) !== undefined) return row;
  const last = connection.get<{ readonly number: number | null }>(
    'SELECT max(number) AS number FROM spender WHERE account_id = ?',
    row.accountId,
  );
  const number = (last?.number ?? 0) + 1;
  const kept = number > MAX_SPENDERS && row.labels !== null ? otherOf() : row;
  insertRow(connection, 'Spender', { ...kept, number }, 'ON CONFLICT (id) DO NOTHING');
  return kept;
}
