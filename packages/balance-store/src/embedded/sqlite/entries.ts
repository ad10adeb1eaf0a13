/** Reads ledger entries: one, or pages of them. */

import type { EntryFilter, LedgerEntry } from '../../ledger-entry.js';
import type { EntryPosition } from '../../ledger/entry-cursor.js';
import { ledgerEntryOf } from '../../ledger/stored-entry.js';
import type { StoredEntry } from '../../ledger/stored-entry.js';
import type { Connection } from './connection.js';
import { unitsOf } from './money.js';
import { dateOf } from './time.js';

/** A row as {@link SELECT_ENTRIES} returns it. */
export interface EntryRow extends Omit<
  StoredEntry<string>,
  'seq' | 'createdAt' | 'streamed' | 'expiresAt'
> {
  readonly seq: number;
  readonly inputHash: Uint8Array;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  readonly streamed: number | null;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number | null;
}

export const SELECT_ENTRIES =
  'SELECT id, account_id AS accountId, seq, kind, delta, balance_after AS balanceAfter, ' +
  'written_off AS writtenOff, over_cap AS overCap, input_hash AS inputHash, ' +
  'created_at AS createdAt, key_id AS keyId, model, ' +
  'input_tokens AS inputTokens, output_tokens AS outputTokens, ' +
  'cache_read_input_tokens AS cacheReadInputTokens, ' +
  'cache_creation_input_tokens AS cacheCreationInputTokens, ' +
  'cache_creation_1h_input_tokens AS cacheCreation1hInputTokens, input_rate AS inputRate, ' +
  'output_rate AS outputRate, cache_read_rate AS cacheReadRate, ' +
  'cache_write_5m_rate AS cacheWrite5mRate, cache_write_1h_rate AS cacheWrite1hRate, ' +
  'endpoint, streamed, upstream_id AS upstreamId, upstream_account AS upstreamAccount, remarks, actor, source, ' +
  'expires_at AS expiresAt, reason, reference, note_id AS noteId FROM ledger';

export function findEntry(
  connection: Connection,
  keyId: string,
  id: string,
): LedgerEntry | undefined {
  const row = connection.get<EntryRow>(
    `${SELECT_ENTRIES} WHERE id = ? AND (key_id = ? OR (kind <> 'charge' ` +
      'AND account_id = (SELECT account_id FROM api_key WHERE id = ?)))',
    id,
    keyId,
    keyId,
  );
  return row === undefined ? undefined : entryOf(connection, row);
}

export function findEntries(
  connection: Connection,
  ids: readonly string[],
): readonly LedgerEntry[] {
  return connection
    .all<EntryRow>(
      `${SELECT_ENTRIES} WHERE id IN (SELECT value FROM json_each(?))`,
      JSON.stringify(ids),
    )
    .map((row) => entryOf(connection, row));
}

/**
 * Newest first. Entries of one account are ordered by number, those of all accounts by time and id.
 */
export function listEntries(
  connection: Connection,
  {
    accountId,
    keyId,
    kind,
    withoutCharges = false,
    model,
    upstreamId,
    from,
    until,
    limit,
  }: Omit<EntryFilter, 'cursor'>,
  before: EntryPosition | undefined,
): readonly LedgerEntry[] {
  const conditions: [sql: string, ...values: (string | number | bigint)[]][] = [];
  // SQLite cannot know that few entries have one id. The plus keeps it from reading the account.
  const account = upstreamId === undefined ? 'account_id' : '+account_id';
  if (accountId !== undefined) conditions.push([`${account} = ?`, accountId]);
  if (keyId !== undefined) conditions.push(["(key_id = ? OR kind <> 'charge')", keyId]);
  if (withoutCharges) conditions.push(["kind <> 'charge'"]);
  if (kind !== undefined) conditions.push(['kind = ?', kind]);
  if (model !== undefined) conditions.push(['model = ?', model]);
  if (upstreamId !== undefined) conditions.push(['upstream_id = ?', upstreamId]);
  if (from !== undefined) conditions.push(['created_at >= ?', from.getTime()]);
  if (until !== undefined) conditions.push(['created_at < ?', until.getTime()]);
  if (before !== undefined && 'seq' in before) conditions.push(['seq < ?', before.seq]);
  if (before !== undefined && 'id' in before) {
    const time = before.createdAt.getTime();
    // Together these two conditions mean: an earlier time, or the same time and a smaller id. They
    // are written so that the index on `created_at` can serve the first of them.
    conditions.push(['created_at <= ?', time]);
    conditions.push(['(created_at < ? OR id < ?)', time, before.id]);
  }
  const where = conditions.map(([sql]) => sql).join(' AND ');
  const rows = connection.all<EntryRow>(
    `${SELECT_ENTRIES} ${where === '' ? '' : `WHERE ${where}`} ` +
      `ORDER BY ${accountId === undefined ? 'created_at DESC, id DESC' : 'seq DESC'} LIMIT ?`,
    ...conditions.flatMap(([, ...values]) => values),
    limit,
  );
  return rows.map((row) => entryOf(connection, row));
}

function entryOf(connection: Connection, row: EntryRow): LedgerEntry {
  return ledgerEntryOf(
    {
      ...row,
      seq: BigInt(row.seq),
      createdAt: new Date(row.createdAt),
      streamed: isStreamed(row),
      expiresAt: dateOf(row.expiresAt),
    },
    unitsOf,
    row.noteId === null ? undefined : noteOf(connection, row.noteId),
  );
}

function noteOf(connection: Connection, id: string): string | undefined {
  return connection.get<{ readonly text: string }>(
    'SELECT text FROM personal_text WHERE id = ?',
    id,
  )?.text;
}

export function isStreamed({ streamed }: Pick<EntryRow, 'streamed'>): boolean | null {
  return streamed === null ? null : streamed === 1;
}
