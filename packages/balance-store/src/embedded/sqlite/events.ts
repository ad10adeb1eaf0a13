/** Writes events, takes them for delivery, and lists them. */

import { randomUUID } from 'node:crypto';
import type { EventState, EventType, NewEvent, StoredEvent } from '../../event.js';
import { NO_RECEIVER } from '../../ledger/ledger-database.js';
import type { EventPruning } from '../../ledger/ledger-database.js';
import type { Connection } from './connection.js';
import { dateOf } from './time.js';

/** Call it within a transaction. @param now - Milliseconds since the epoch. */
export function insertEvent(connection: Connection, event: NewEvent, now: number): void {
  connection.run(
    'INSERT INTO event (id, type, account_id, key_id, data, created_at, due_at) ' +
      'VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING',
    event.id ?? `evt_${randomUUID()}`,
    event.type,
    event.accountId,
    event.keyId ?? null,
    JSON.stringify(event.data),
    now,
    now,
  );
}

interface EventRow {
  readonly seq: number;
  readonly id: string;
  readonly type: EventType;
  readonly accountId: string;
  readonly keyId: string | null;
  readonly data: string;
  readonly createdAt: number;
  readonly attempts: number;
  readonly deliveredAt: number | null;
  readonly lastError: string | null;
}

const COLUMNS =
  'seq, id, type, account_id AS accountId, key_id AS keyId, data, created_at AS createdAt, ' +
  'attempts, delivered_at AS deliveredAt, last_error AS lastError';

const IN_STATE = {
  pending: 'due_at IS NOT NULL',
  delivered: 'delivered_at IS NOT NULL',
  undelivered: 'due_at IS NULL AND delivered_at IS NULL',
} as const;

export function listEvents(
  connection: Connection,
  {
    order,
    state,
    accountId,
    after,
    limit,
  }: {
    readonly order?: 'oldest' | 'newest' | undefined;
    readonly state?: EventState | undefined;
    readonly accountId?: string | undefined;
    readonly after?: bigint | undefined;
    readonly limit: number;
  },
): readonly StoredEvent[] {
  const isNewestFirst = order === 'newest';
  const conditions = ['TRUE'];
  if (after !== undefined) conditions.push(isNewestFirst ? 'seq < ?' : 'seq > ?');
  if (state !== undefined) conditions.push(IN_STATE[state]);
  if (accountId !== undefined) conditions.push('account_id = ?');
  return connection
    .all<EventRow>(
      `SELECT ${COLUMNS} FROM event WHERE ${conditions.join(' AND ')} ` +
        `ORDER BY seq ${isNewestFirst ? 'DESC' : ''} LIMIT ?`,
      ...(after === undefined ? [] : [after]),
      ...(accountId === undefined ? [] : [accountId]),
      limit,
    )
    .map(eventOf);
}

export function takeDueEvents(
  connection: Connection,
  { limit, leaseMs }: { readonly limit: number; readonly leaseMs: number },
): readonly StoredEvent[] {
  return connection.write(() => {
    const now = Date.now();
    const rows = connection.all<EventRow>(
      `SELECT ${COLUMNS} FROM event WHERE seq IN ` +
        '(SELECT min(seq) FROM event WHERE due_at IS NOT NULL GROUP BY account_id) ' +
        'AND due_at <= ? ORDER BY seq LIMIT ?',
      now,
      limit,
    );
    for (const { seq } of rows) {
      connection.run('UPDATE event SET due_at = ? WHERE seq = ?', now + leaseMs, seq);
    }
    return rows.map(eventOf);
  });
}

export function finishEvent(
  connection: Connection,
  seq: bigint,
  {
    isDelivered,
    error,
    retryAt,
  }: {
    readonly isDelivered: boolean;
    readonly error: string | null;
    readonly retryAt: Date | null;
  },
): void {
  connection.write(() => {
    connection.run(
      'UPDATE event SET attempts = attempts + 1, delivered_at = ?, due_at = ?, last_error = ? ' +
        'WHERE seq = ? AND delivered_at IS NULL',
      isDelivered ? Date.now() : null,
      retryAt?.getTime() ?? null,
      error,
      seq,
    );
  });
}

export function pruneEvents(
  connection: Connection,
  { finishedBefore, giveUpBefore, limit }: EventPruning,
): number {
  return connection.write(() => {
    if (giveUpBefore !== null) {
      connection.run(
        'UPDATE event SET due_at = NULL, last_error = ? WHERE seq IN (SELECT seq FROM event ' +
          'WHERE due_at IS NOT NULL AND attempts = 0 AND created_at < ? LIMIT ?)',
        NO_RECEIVER,
        giveUpBefore.getTime(),
        limit,
      );
    }
    // The limit is in the inner query, so that it does not read the whole table.
    return connection.run(
      'DELETE FROM event WHERE seq IN (SELECT seq FROM (SELECT seq, created_at FROM event ' +
        'WHERE due_at IS NULL ORDER BY seq LIMIT ?) WHERE created_at < ?)',
      limit,
      finishedBefore.getTime(),
    );
  });
}

function eventOf(row: EventRow): StoredEvent {
  return {
    ...row,
    seq: BigInt(row.seq),
    keyId: row.keyId ?? undefined,
    data: JSON.parse(row.data) as StoredEvent['data'],
    createdAt: new Date(row.createdAt),
    deliveredAt: dateOf(row.deliveredAt),
  };
}
