/**
 * Copies every table of an embedded ledger into PostgreSQL, row by row and unchanged, and compares
 * each page of rows.
 */

import type { ClientBase } from 'pg';
import type { SQLInputValue, SQLOutputValue } from 'node:sqlite';
import { LedgerMoveError } from '../errors.js';
import { SUM_KEYS } from './sqlite/add-to-sum.js';
import type { Connection } from './sqlite/connection.js';

/**
 * How a column's values are written as text, the same for both databases: amounts with 14 decimals,
 * bytes in hexadecimal, times as milliseconds since the epoch.
 */
type Kind = 'text' | 'integer' | 'real' | 'amount' | 'flag' | 'bytes' | 'time' | 'json';

interface TableCopy {
  readonly table: string;
  readonly columns: Readonly<Record<string, Kind>>;
  /** A unique key to page by. */
  readonly order: readonly string[];
}

/** The columns that hourly and daily totals of usage share. */
const SUM_FIGURES = {
  requests: 'integer',
  input_tokens: 'integer',
  output_tokens: 'integer',
  cache_read_input_tokens: 'integer',
  cache_creation_input_tokens: 'integer',
  cache_creation_1h_input_tokens: 'integer',
  input_rate: 'amount',
  output_rate: 'amount',
  cache_read_rate: 'amount',
  cache_write_5m_rate: 'amount',
  cache_write_1h_rate: 'amount',
  written_off: 'amount',
} as const;

const TABLES: readonly TableCopy[] = [
  {
    table: 'account',
    columns: {
      id: 'text',
      name: 'text',
      external_id: 'text',
      metadata: 'json',
      state: 'text',
      low_balance: 'amount',
      balance: 'amount',
      spent: 'amount',
      credited: 'amount',
      adjusted: 'amount',
      expired: 'amount',
      written_off: 'amount',
      uncovered: 'amount',
      allotted: 'amount',
      seq: 'integer',
      created_at: 'time',
      last_charged_at: 'time',
    },
    order: ['id'],
  },
  {
    table: 'api_key',
    columns: {
      id: 'text',
      account_id: 'text',
      name: 'text',
      external_id: 'text',
      metadata: 'json',
      hint: 'text',
      credential_hmac: 'bytes',
      previous_hmac: 'bytes',
      previous_until: 'time',
      pepper_id: 'text',
      previous_pepper_id: 'text',
      state: 'text',
      scope: 'text',
      models: 'json',
      expires_at: 'time',
      expiry_told_at: 'time',
      concurrency: 'integer',
      burst: 'integer',
      requests_per_minute: 'real',
      cap_day: 'amount',
      cap_week: 'amount',
      cap_month: 'amount',
      cap_total: 'amount',
      spent: 'amount',
      written_off: 'amount',
      day_start: 'integer',
      day_base: 'amount',
      week_start: 'integer',
      week_base: 'amount',
      month_start: 'integer',
      month_base: 'amount',
      created_at: 'time',
      last_charged_at: 'time',
    },
    order: ['id'],
  },
  {
    table: 'ledger',
    columns: {
      id: 'text',
      account_id: 'text',
      seq: 'integer',
      kind: 'text',
      delta: 'amount',
      balance_after: 'amount',
      written_off: 'amount',
      over_cap: 'amount',
      input_hash: 'bytes',
      created_at: 'time',
      key_id: 'text',
      model: 'text',
      input_tokens: 'integer',
      output_tokens: 'integer',
      cache_read_input_tokens: 'integer',
      cache_creation_input_tokens: 'integer',
      cache_creation_1h_input_tokens: 'integer',
      input_rate: 'amount',
      output_rate: 'amount',
      cache_read_rate: 'amount',
      cache_write_5m_rate: 'amount',
      cache_write_1h_rate: 'amount',
      endpoint: 'text',
      streamed: 'flag',
      upstream_id: 'text',
      upstream_account: 'text',
      remarks: 'text',
      actor: 'text',
      source: 'text',
      expires_at: 'time',
      reason: 'text',
      reference: 'text',
      note_id: 'text',
    },
    order: ['account_id', 'seq'],
  },
  {
    table: 'usage_hour',
    columns: {
      account_id: 'text',
      hour: 'integer',
      key_id: 'text',
      model: 'text',
      endpoint: 'text',
      upstream_account: 'text',
      rates_id: 'text',
      rolled_up: 'flag',
      ...SUM_FIGURES,
    },
    order: SUM_KEYS.usage_hour,
  },
  {
    table: 'usage_day',
    columns: {
      account_id: 'text',
      key_id: 'text',
      day: 'integer',
      model: 'text',
      endpoint: 'text',
      upstream_account: 'text',
      rates_id: 'text',
      ...SUM_FIGURES,
    },
    order: SUM_KEYS.usage_day,
  },
  {
    table: 'credit_lot',
    columns: {
      entry_id: 'text',
      account_id: 'text',
      source: 'text',
      expires_at: 'time',
      remaining: 'amount',
    },
    order: ['entry_id'],
  },
  {
    table: 'creation',
    columns: {
      id: 'text',
      input_hash: 'bytes',
      account_id: 'text',
      key_id: 'text',
      created_at: 'time',
    },
    order: ['id'],
  },
  {
    table: 'event',
    columns: {
      seq: 'integer',
      id: 'text',
      type: 'text',
      account_id: 'text',
      key_id: 'text',
      data: 'json',
      created_at: 'time',
      attempts: 'integer',
      due_at: 'time',
      delivered_at: 'time',
      last_error: 'text',
    },
    order: ['seq'],
  },
  {
    table: 'document',
    columns: {
      seq: 'integer',
      kind: 'text',
      id: 'text',
      account_id: 'text',
      version: 'integer',
      data: 'json',
      balance_below: 'amount',
      created_at: 'time',
      updated_at: 'time',
    },
    order: ['seq'],
  },
  {
    table: 'trail',
    columns: {
      seq: 'integer',
      created_at: 'time',
      actor: 'text',
      address: 'text',
      action: 'text',
      account_id: 'text',
      key_id: 'text',
      details: 'text',
      personal_id: 'text',
    },
    order: ['seq'],
  },
  {
    table: 'personal_text',
    columns: {
      id: 'text',
      account_id: 'text',
      salt: 'text',
      text: 'text',
    },
    order: ['id'],
  },
  {
    table: 'hold',
    columns: {
      request_id: 'text',
      account_id: 'text',
      key_id: 'text',
      amount: 'amount',
      created_at: 'time',
      expires_at: 'time',
      orphaned_at: 'time',
    },
    order: ['request_id'],
  },
  {
    table: 'ledger_block',
    columns: {
      id: 'integer',
      previous_hash: 'bytes',
      hash: 'bytes',
      entries: 'integer',
      sealed_at: 'time',
    },
    order: ['id'],
  },
  {
    table: 'ledger_seal',
    columns: {
      account_id: 'text',
      from_seq: 'integer',
      to_seq: 'integer',
      block_id: 'integer',
      digests: 'bytes',
    },
    order: ['account_id', 'from_seq'],
  },
  {
    table: 'ledger_archive',
    columns: {
      id: 'integer',
      until_at: 'time',
      created_at: 'time',
      charges: 'integer',
      charged: 'amount',
      written_off: 'amount',
      last_block: 'integer',
      last_hash: 'text',
      carry_digest: 'text',
      usage_digest: 'text',
      file_digest: 'text',
    },
    order: ['id'],
  },
  {
    table: 'ledger_carry',
    columns: {
      account_id: 'text',
      from_seq: 'integer',
      to_seq: 'integer',
      key_id: 'text',
      archive_id: 'integer',
      charges: 'integer',
      charged: 'amount',
      written_off: 'amount',
      over_cap: 'amount',
      first_at: 'time',
      last_at: 'time',
      balance_after: 'amount',
    },
    order: ['account_id', 'from_seq', 'key_id'],
  },
  {
    table: 'quarantine',
    columns: {
      request_id: 'text',
      key_id: 'text',
      model: 'text',
      reason: 'text',
      detail: 'json',
      created_at: 'time',
    },
    order: ['request_id'],
  },
  {
    table: 'settle_conflict',
    columns: {
      request_id: 'text',
      input_hash: 'bytes',
      key_id: 'text',
      amount: 'amount',
      created_at: 'time',
    },
    order: ['request_id', 'input_hash'],
  },
];

const ROWS_PER_PAGE = 500;

/** One row, each column as text. */
type Row = Readonly<Record<string, string | null>>;

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
  for (const copy of TABLES) counts.set(copy.table, await copyTable(copy, source, target));
  return counts;
}

async function copyTable(copy: TableCopy, source: Connection, target: ClientBase): Promise<number> {
  const { table, order } = copy;
  let copied = 0;
  let last: readonly string[] | undefined;
  for (;;) {
    const page = readSourcePage(copy, last, source);
    const end = page.at(-1);
    if (end === undefined) break;
    const isThere = async () =>
      JSON.stringify(await readTargetPage(copy, last, target)) === JSON.stringify(page);
    if (!(await isThere())) {
      await insertPage(copy, page, target);
      if (!(await isThere())) throw notEmpty(table);
    }
    copied += page.length;
    last = order.map((column) => end[column] ?? '');
  }
  const { rows } = await target.query<{ count: number }>(
    `SELECT count(*)::int AS count FROM ${table}`,
  );
  if (rows[0]?.count !== copied) throw notEmpty(table);
  if (table === 'event' || table === 'document') await skipNumbers(table, target);
  return copied;
}

/** New rows are numbered after those that were copied. */
async function skipNumbers(table: 'event' | 'document', target: ClientBase): Promise<void> {
  await target.query(
    `SELECT setval(pg_get_serial_sequence('${table}', 'seq'), max(t.seq)) FROM ${table} t ` +
      'HAVING max(t.seq) IS NOT NULL',
  );
}

function readSourcePage(
  { table, columns, order }: TableCopy,
  last: readonly string[] | undefined,
  source: Connection,
): readonly Row[] {
  const position = order.map(() => '?').join(', ');
  const rows = source.all<Readonly<Record<string, SQLOutputValue>>>(
    `SELECT ${Object.keys(columns).join(', ')} FROM ${table} ` +
      (last === undefined ? '' : `WHERE (${order.join(', ')}) > (${position}) `) +
      `ORDER BY ${order.join(', ')} LIMIT ${String(ROWS_PER_PAGE)}`,
    ...(last ?? []).map((text, index) => boundValue(text, columns[order[index] ?? ''])),
  );
  return rows.map((row) =>
    Object.fromEntries(
      Object.entries(columns).map(([column, kind]) => [column, textOf(row[column] ?? null, kind)]),
    ),
  );
}

function textOf(value: SQLOutputValue, kind: Kind): string | null {
  if (value === null) return null;
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex');
  if (kind === 'flag') return String(value === 1);
  return canonical(String(value), kind);
}

function boundValue(text: string, kind: Kind | undefined): SQLInputValue {
  if (kind === 'integer') return BigInt(text);
  if (kind === 'flag') return text === 'true' ? 1 : 0;
  return kind === 'bytes' ? Buffer.from(text, 'hex') : text;
}

async function readTargetPage(
  { table, columns, order }: TableCopy,
  last: readonly string[] | undefined,
  target: ClientBase,
): Promise<readonly Row[]> {
  const read = Object.entries(columns).map(
    ([column, kind]) => `${readAs(column, kind)} "${column}"`,
  );
  const position = order.map((column, index) =>
    writeAs(`$${String(index + 1)}::text`, columns[column] ?? 'text'),
  );
  // Each column is named with its table. Without it, `ORDER BY` would mean the column of the
  // result, which is a text, and 10 would come before 9.
  const names = order.map((column) => `${table}."${column}"`).join(', ');
  const { rows } = await target.query<Row>(
    `SELECT ${read.join(', ')} FROM ${table} ` +
      (last === undefined ? '' : `WHERE (${names}) > (${position.join(', ')}) `) +
      `ORDER BY ${names} LIMIT ${String(ROWS_PER_PAGE)}`,
    last === undefined ? [] : [...last],
  );
  return rows.map((row) =>
    Object.fromEntries(
      Object.entries(columns).map(([column, kind]) => {
        const text = row[column] ?? null;
        return [column, text === null ? null : canonical(text, kind)];
      }),
    ),
  );
}

async function insertPage(
  { table, columns }: TableCopy,
  page: readonly Row[],
  target: ClientBase,
): Promise<void> {
  const names = Object.keys(columns);
  const values = Object.entries(columns).map(([column, kind]) => writeAs(`r."${column}"`, kind));
  try {
    await target.query(
      `INSERT INTO ${table} (${names.map((name) => `"${name}"`).join(', ')}) ` +
        `SELECT ${values.join(', ')} FROM json_to_recordset($1::json) ` +
        `AS r (${names.map((name) => `"${name}" text`).join(', ')})`,
      [JSON.stringify(page)],
    );
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === '23505') throw notEmpty(table);
    throw error;
  }
}

/** A column of PostgreSQL as text. */
function readAs(column: string, kind: Kind): string {
  switch (kind) {
    case 'bytes':
      return `encode("${column}", 'hex')`;
    case 'time':
      return `(extract(epoch FROM "${column}") * 1000)::bigint::text`;
    default:
      return `"${column}"::text`;
  }
}

/** A text as a value of PostgreSQL. */
function writeAs(text: string, kind: Kind): string {
  switch (kind) {
    case 'text':
      return text;
    case 'integer':
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
