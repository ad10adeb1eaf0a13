/** Reads ledger entries: one, or pages of them. */

import type { EntryFilter, LedgerEntry } from '../../ledger-entry.js';
import type { EntryPosition } from '../../ledger/entry-cursor.js';
import type { Connection } from './connection.js';
import { unitsOf } from './money.js';

export interface EntryRow {
  readonly id: string;
  readonly key_id: string;
  readonly seq: number;
  readonly kind: 'charge' | 'top_up';
  readonly delta: string;
  readonly balance_after: string;
  readonly written_off: string;
  readonly input_hash: Uint8Array;
  readonly created_at: number;
  readonly model: string | null;
  readonly input_tokens: number | null;
  readonly output_tokens: number | null;
  readonly cache_read_input_tokens: number | null;
  readonly cache_creation_input_tokens: number | null;
  readonly cache_creation_1h_input_tokens: number | null;
  readonly input_rate: string | null;
  readonly output_rate: string | null;
  readonly cache_read_rate: string | null;
  readonly cache_write_5m_rate: string | null;
  readonly cache_write_1h_rate: string | null;
  readonly endpoint: string | null;
  readonly streamed: number | null;
  readonly upstream_id: string | null;
  readonly remarks: string | null;
  readonly actor: string | null;
}

export function findEntry(
  connection: Connection,
  keyId: string,
  id: string,
): LedgerEntry | undefined {
  const row = connection.get<EntryRow>(
    'SELECT * FROM ledger WHERE id = ? AND key_id = ?',
    id,
    keyId,
  );
  return row === undefined ? undefined : entryOf(row);
}

export function findEntries(
  connection: Connection,
  ids: readonly string[],
): readonly LedgerEntry[] {
  return connection
    .all<EntryRow>(
      'SELECT * FROM ledger WHERE id IN (SELECT value FROM json_each(?))',
      JSON.stringify(ids),
    )
    .map(entryOf);
}

/** Newest first: by number the entries of one key, by time and id those of all keys. */
export function listEntries(
  connection: Connection,
  { keyId, kind, model, from, until, limit }: Omit<EntryFilter, 'cursor'>,
  before: EntryPosition | undefined,
): readonly LedgerEntry[] {
  const conditions: [sql: string, ...values: (string | number | bigint)[]][] = [];
  if (keyId !== undefined) conditions.push(['key_id = ?', keyId]);
  if (kind !== undefined) conditions.push(['kind = ?', kind]);
  if (model !== undefined) conditions.push(['model = ?', model]);
  if (from !== undefined) conditions.push(['created_at >= ?', from.getTime()]);
  if (until !== undefined) conditions.push(['created_at < ?', until.getTime()]);
  if (before !== undefined && 'seq' in before) conditions.push(['seq < ?', before.seq]);
  if (before !== undefined && 'id' in before) {
    const time = before.createdAt.getTime();
    // The second condition implies the first, but an index can serve only the first.
    conditions.push(['created_at <= ?', time]);
    conditions.push(['(created_at < ? OR id < ?)', time, before.id]);
  }
  const where = conditions.map(([sql]) => sql).join(' AND ');
  const rows = connection.all<EntryRow>(
    `SELECT * FROM ledger ${where === '' ? '' : `WHERE ${where}`} ` +
      `ORDER BY ${keyId === undefined ? 'created_at DESC, id DESC' : 'seq DESC'} LIMIT ?`,
    ...conditions.flatMap(([, ...values]) => values),
    limit,
  );
  return rows.map(entryOf);
}

function entryOf(row: EntryRow): LedgerEntry {
  const common = {
    id: row.id,
    keyId: row.key_id,
    seq: BigInt(row.seq),
    delta: unitsOf(row.delta),
    balanceAfter: unitsOf(row.balance_after),
    createdAt: new Date(row.created_at),
  };
  if (row.kind === 'top_up') return { ...common, kind: 'top_up', actor: recorded(row.actor) };
  return {
    ...common,
    kind: 'charge',
    writtenOff: unitsOf(row.written_off),
    model: recorded(row.model),
    usage: {
      inputTokens: recorded(row.input_tokens),
      outputTokens: recorded(row.output_tokens),
      cacheReadInputTokens: recorded(row.cache_read_input_tokens),
      cacheCreationInputTokens: recorded(row.cache_creation_input_tokens),
      cacheCreation1hInputTokens: recorded(row.cache_creation_1h_input_tokens),
    },
    rates: {
      inputPerToken: unitsOf(recorded(row.input_rate)),
      outputPerToken: unitsOf(recorded(row.output_rate)),
      cacheReadPerToken: unitsOf(recorded(row.cache_read_rate)),
      cacheWrite5mPerToken: unitsOf(recorded(row.cache_write_5m_rate)),
      cacheWrite1hPerToken: unitsOf(recorded(row.cache_write_1h_rate)),
    },
    endpoint: recorded(row.endpoint),
    streamed: row.streamed === 1,
    upstreamId: row.upstream_id ?? undefined,
    remarks: row.remarks ?? undefined,
  };
}

/** Reads a column that a table constraint guarantees for this kind of entry. */
function recorded<Value>(value: Value | null): Value {
  if (value === null) throw new Error('a ledger entry lacks a column that its kind requires');
  return value;
}
