/**
 * Copies every table of an embedded ledger, without the record of requests, into PostgreSQL, row by
 * row and unchanged, and compares each page of rows.
 */

import type { ClientBase } from 'pg';
import type { SQLInputValue, SQLOutputValue } from 'node:sqlite';
import { LedgerMoveError } from '../errors.js';
import { TABLES } from '../generated/tables.js';
import { columnsOf, keyOf } from '../ledger/tables/tables.js';
import type { Kind, Model } from '../ledger/tables/tables.js';
import { asText, fromText, recordset } from '../postgres/tables.js';
import type { Connection } from './sqlite/connection.js';

const MAX_ROWS_PER_PAGE = 500;
/**
 * The next page has so many rows that it should have about so many characters. A block of the hash
 * chain has more than a hundred times as many as most rows.
 */
const CHARACTERS_PER_PAGE = 128 * 1024;

/** One row, each column as text, in the form that PostgreSQL has after {@link asText}. */
type TextRow = Readonly<Record<string, string | null>>;

/**
 * Call it within a transaction on `target`. If the target already holds exactly this ledger,
 * nothing is inserted, so that a move that was interrupted after its commit can be repeated.
 *
 * @returns the number of rows per table.
 * @throws {LedgerMoveError} when the target has other rows.
 */
export async function copyLedger(
  source: Connection,
  target: ClientBase,
): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>();
  // Earlier entries do not say from where money came: see the trigger "refuse_one_sided".
  await target.query("SELECT set_config('farthing.copies_ledger', 'yes', true)");
  for (const model of Object.keys(TABLES) as Model[]) {
    if (TABLES[model].isApart) continue;
    counts.set(TABLES[model].table, await copyTable(model, source, target));
  }
  return counts;
}

async function copyTable(model: Model, source: Connection, target: ClientBase): Promise<number> {
  const { table } = TABLES[model];
  let copied = 0;
  let position: Position = { last: undefined, limit: 1 };
  for (;;) {
    const page = readSourcePage(model, position, source);
    const end = page.at(-1);
    if (end === undefined) break;
    const text = JSON.stringify(page);
    const isThere = async () =>
      JSON.stringify(await readTargetPage(model, position, target)) === text;
    if (!(await isThere())) {
      await insertPage(model, text, target);
      if (!(await isThere())) throw notEmpty(table);
    }
    copied += page.length;
    position = {
      last: keyOf(model).map(({ name }) => end[name] ?? ''),
      limit: limitAfter(page.length, text.length),
    };
  }
  const { rows } = await target.query<{ count: number }>(
    `SELECT count(*)::int AS count FROM ${table}`,
  );
  if (rows[0]?.count !== copied) throw notEmpty(table);
  if (table === 'event' || table === 'document') await skipNumbers(table, target);
  return copied;
}

/** Where a page begins, and how many rows it has at most. */
interface Position {
  /** The key of the row before it. */
  readonly last: readonly string[] | undefined;
  readonly limit: number;
}

function limitAfter(rows: number, characters: number): number {
  const fitting = Math.floor((rows * CHARACTERS_PER_PAGE) / characters);
  return Math.max(1, Math.min(fitting, 2 * rows, MAX_ROWS_PER_PAGE));
}

/** New rows are numbered after those that were copied. */
async function skipNumbers(table: 'event' | 'document', target: ClientBase): Promise<void> {
  await target.query(
    `SELECT setval(pg_get_serial_sequence('${table}', 'seq'), max(t.seq)) FROM ${table} t ` +
      'HAVING max(t.seq) IS NOT NULL',
  );
}

function readSourcePage(
  model: Model,
  { last, limit }: Position,
  source: Connection,
): readonly TextRow[] {
  const columns = Object.values(columnsOf(model));
  const key = keyOf(model);
  const order = key.map(({ name }) => name).join(', ');
  const rows = source.all<Readonly<Record<string, SQLOutputValue>>>(
    `SELECT ${columns.map(({ name }) => name).join(', ')} FROM ${TABLES[model].table} ` +
      (last === undefined ? '' : `WHERE (${order}) > (${key.map(() => '?').join(', ')}) `) +
      `ORDER BY ${order} LIMIT ${String(limit)}`,
    ...(last ?? []).map((text, index) => boundValue(text, key[index]?.kind)),
  );
  return rows.map((row) =>
    Object.fromEntries(columns.map(({ name, kind }) => [name, textOf(row[name] ?? null, kind)])),
  );
}

function textOf(value: SQLOutputValue, kind: Kind): string | null {
  if (value === null) return null;
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex');
  if (kind === 'flag') return String(value === 1);
  return canonical(String(value), kind);
}

function boundValue(text: string, kind: Kind | undefined): SQLInputValue {
  if (kind === 'integer' || kind === 'bigint') return BigInt(text);
  if (kind === 'flag') return text === 'true' ? 1 : 0;
  return kind === 'bytes' ? Buffer.from(text, 'hex') : text;
}

async function readTargetPage(
  model: Model,
  { last, limit }: Position,
  target: ClientBase,
): Promise<readonly TextRow[]> {
  const { table } = TABLES[model];
  const columns = Object.values(columnsOf(model));
  const key = keyOf(model);
  const read = columns.map((column) => `${asText(column)} AS ${column.name}`);
  const position = key.map(({ kind }, index) => fromText(`$${String(index + 1)}::text`, kind));
  // Each column is named with its table. Without it, `ORDER BY` would mean the column of the
  // result, which is a text, and 10 would come before 9.
  const names = key.map(({ name }) => `${table}.${name}`).join(', ');
  const { rows } = await target.query<TextRow>(
    `SELECT ${read.join(', ')} FROM ${table} ` +
      (last === undefined ? '' : `WHERE (${names}) > (${position.join(', ')}) `) +
      `ORDER BY ${names} LIMIT ${String(limit)}`,
    last === undefined ? [] : [...last],
  );
  return rows.map((row) =>
    Object.fromEntries(
      columns.map(({ name, kind }) => {
        const text = row[name] ?? null;
        return [name, text === null ? null : canonical(text, kind)];
      }),
    ),
  );
}

/** @param page - JSON of its rows. */
async function insertPage(model: Model, page: string, target: ClientBase): Promise<void> {
  const { table, columns, values } = recordset(model);
  try {
    await target.query(`INSERT INTO ${table} (${columns}) ${values}`, [page]);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === '23505') throw notEmpty(table);
    throw error;
  }
}

/** The two databases write equal numbers, and equal JSON values, differently. */
function canonical(text: string, kind: Kind): string {
  if (kind === 'real') return String(Number(text));
  return kind === 'json' ? JSON.stringify(JSON.parse(text, sortMembers)) : text;
}

function sortMembers(_name: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}

function notEmpty(table: string): LedgerMoveError {
  return new LedgerMoveError(
    `the database to move to is not empty: its table ${table} holds other rows; nothing was changed`,
  );
}
