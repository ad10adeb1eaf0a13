/**
 * Copies every table of one ledger into another database, row by row as it is, and compares each
 * page.
 */

import type { ClientBase } from 'pg';
import { LedgerMoveError } from '../errors.js';

interface TableCopy {
  readonly table: string;
  /** A unique key to page by, and the types of its columns. */
  readonly order: readonly (readonly [column: string, type: string])[];
}

const TABLES: readonly TableCopy[] = [
  { table: 'api_key', order: [['id', 'text']] },
  {
    table: 'ledger',
    order: [
      ['key_id', 'text'],
      ['seq', 'int8'],
    ],
  },
  { table: 'hold', order: [['request_id', 'text']] },
  { table: 'ledger_block', order: [['id', 'int8']] },
  {
    table: 'ledger_seal',
    order: [
      ['key_id', 'text'],
      ['from_seq', 'int8'],
    ],
  },
  { table: 'quarantine', order: [['request_id', 'text']] },
  {
    table: 'settle_conflict',
    order: [
      ['request_id', 'text'],
      ['input_hash', 'bytea'],
    ],
  },
];

const ROWS_PER_PAGE = 500;

/**
 * To be called within a transaction on `target`. Rows that are there already and the same are left,
 * so that a move which was interrupted can be repeated.
 *
 * @returns rows per table.
 * @throws {LedgerMoveError} when the target holds anything else.
 */
export async function copyLedger(
  source: ClientBase,
  target: ClientBase,
): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>();
  for (const client of [source, target]) await client.query("SET timezone = 'UTC'");
  for (const copy of TABLES) counts.set(copy.table, await copyTable(copy, source, target));
  return counts;
}

async function copyTable(copy: TableCopy, source: ClientBase, target: ClientBase): Promise<number> {
  const { table } = copy;
  let copied = 0;
  let last: readonly unknown[] | undefined;
  for (;;) {
    const page = await readPage(copy, last, source);
    const rows = JSON.parse(page) as readonly Readonly<Record<string, unknown>>[];
    const end = rows.at(-1);
    if (end === undefined) break;
    if ((await readPage(copy, last, target)) !== page) {
      await insertPage(table, page, target);
      if ((await readPage(copy, last, target)) !== page) throw notEmpty(table);
    }
    copied += rows.length;
    last = copy.order.map(([column]) => end[column]);
  }
  const { rows } = await target.query<{ count: number }>(
    `SELECT count(*)::int AS count FROM ${table}`,
  );
  if (rows[0]?.count !== copied) throw notEmpty(table);
  return copied;
}

/** As JSON text, which both databases write alike: numbers keep every digit. */
async function readPage(
  { table, order }: TableCopy,
  last: readonly unknown[] | undefined,
  client: ClientBase,
): Promise<string> {
  const columns = order.map(([column]) => `"${column}"`).join(', ');
  const position = order.map(([, type], index) => `$${String(index + 1)}::${type}`).join(', ');
  const { rows } = await client.query<{ page: string }>(
    `SELECT coalesce(json_agg(r), '[]')::text AS page FROM (SELECT * FROM ${table} ` +
      (last === undefined ? '' : `WHERE (${columns}) > (${position}) `) +
      `ORDER BY ${columns} LIMIT ${String(ROWS_PER_PAGE)}) r`,
    last === undefined ? [] : [...last],
  );
  return rows[0]?.page ?? '[]';
}

async function insertPage(table: string, page: string, target: ClientBase): Promise<void> {
  try {
    await target.query(
      `INSERT INTO ${table} SELECT * FROM json_populate_recordset(NULL::${table}, $1::json)`,
      [page],
    );
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === '23505') throw notEmpty(table);
    throw error;
  }
}

function notEmpty(table: string): LedgerMoveError {
  return new LedgerMoveError(
    `the database to move to is not empty: its table ${table} holds other rows; nothing was changed`,
  );
}
