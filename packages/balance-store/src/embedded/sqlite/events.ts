/** Writes events, takes them for delivery, and lists them. */

import { randomUUID } from 'node:crypto';
import type { EventChannel, EventState, EventType, NewEvent, StoredEvent } from '../../event.js';
import { CHANNEL_COLUMNS, NO_RECEIVER, mailState } from '../../ledger/rows/event-channels.js';
import type { EventPruning } from '../../ledger/database/ledger-database.js';
import { isMailed } from '../../ledger/rows/mailed-events.js';
import type { Connection } from './connection.js';
import { dateOf } from './time.js';

/**
 * Call it within a transaction.
 *
 * @param now - Of the entry that caused it, in milliseconds since the epoch. The clock may be
 * behind it, and an event that is due later than now would wait.
 * @param hasAddress - Whether somebody besides the account can be written to about it.
 */
export function insertEvent(
  connection: Connection,
  event: NewEvent,
  now: number,
  { hasAddress = false }: { readonly hasAddress?: boolean } = {},
): void {
  const due = Date.now();
  connection.run(
    'INSERT INTO event (id, type, account_id, key_id, data, created_at, due_at, mail_due_at) ' +
      'VALUES (?, ?, ?, ?, ?, ?, ?, ' +
      '(SELECT ? FROM account WHERE id = ? AND (notice_email IS NOT NULL OR ?))) ' +
      'ON CONFLICT (id) DO NOTHING',
    event.id ?? `evt_${randomUUID()}`,
    event.type,
    event.accountId,
    event.keyId ?? null,
    JSON.stringify(event.data),
    now,
    due,
    isMailed(event) ? due : null,
    event.accountId,
    Number(hasAddress),
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
  readonly mailedAt: number | null;
  readonly mailDueAt: number | null;
  readonly mailError: string | null;
}

const columnsFor = (channel: EventChannel) =>
  'seq, id, type, account_id AS accountId, key_id AS keyId, data, created_at AS createdAt, ' +
  `${CHANNEL_COLUMNS[channel].attempts} AS attempts, delivered_at AS deliveredAt, ` +
  'last_error AS lastError, mailed_at AS mailedAt, mail_due_at AS mailDueAt, ' +
  'mail_error AS mailError';

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
      `SELECT ${columnsFor('webhook')} FROM event WHERE ${conditions.join(' AND ')} ` +
        `ORDER BY seq ${isNewestFirst ? 'DESC' : ''} LIMIT ?`,
      ...(after === undefined ? [] : [after]),
      ...(accountId === undefined ? [] : [accountId]),
      limit,
    )
    .map(eventOf);
}

export function takeDueEvents(
  connection: Connection,
  {
    channel,
    limit,
    leaseMs,
  }: { readonly channel: EventChannel; readonly limit: number; readonly leaseMs: number },
): readonly StoredEvent[] {
  const { due } = CHANNEL_COLUMNS[channel];
  return connection.write(() => {
    const now = Date.now();
    const rows = connection.all<EventRow>(
      `SELECT ${columnsFor(channel)} FROM event WHERE seq IN ` +
        `(SELECT min(seq) FROM event WHERE ${due} IS NOT NULL GROUP BY account_id) ` +
        `AND ${due} <= ? ORDER BY seq LIMIT ?`,
      now,
      limit,
    );
    for (const { seq } of rows) {
      connection.run(`UPDATE event SET ${due} = ? WHERE seq = ?`, now + leaseMs, seq);
    }
    return rows.map(eventOf);
  });
}

export function finishEvent(
  connection: Connection,
  channel: EventChannel,
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
  const { attempts, done, due, error: column } = CHANNEL_COLUMNS[channel];
  connection.write(() => {
    connection.run(
      `UPDATE event SET ${attempts} = ${attempts} + 1, ${done} = ?, ${due} = ?, ${column} = ? ` +
        `WHERE seq = ? AND ${done} IS NULL`,
      isDelivered ? Date.now() : null,
      retryAt?.getTime() ?? null,
      error,
      seq,
    );
  });
}

export function pruneEvents(
  connection: Connection,
  { finishedBefore, giveUp, limit }: EventPruning,
): number {
  return connection.write(() => {
    for (const channel of giveUp?.channels ?? []) {
      const { attempts, due, error } = CHANNEL_COLUMNS[channel];
      connection.run(
        `UPDATE event SET ${due} = NULL, ${error} = ? WHERE seq IN (SELECT seq FROM event ` +
          `WHERE ${due} IS NOT NULL AND ${attempts} = 0 AND created_at < ? LIMIT ?)`,
        NO_RECEIVER,
        giveUp?.before.getTime() ?? 0,
        limit,
      );
    }
    // The limit is in the inner query, so that it does not read the whole table.
    return connection.run(
      'DELETE FROM event WHERE seq IN (SELECT seq FROM (SELECT seq, created_at FROM event ' +
        'WHERE due_at IS NULL AND mail_due_at IS NULL ORDER BY seq LIMIT ?) WHERE created_at < ?)',
      limit,
      finishedBefore.getTime(),
    );
  });
}

function eventOf({ mailedAt, mailDueAt, ...row }: EventRow): StoredEvent {
  return {
    ...row,
    mail: mailState({ mailedAt, mailDueAt, mailError: row.mailError }),
    seq: BigInt(row.seq),
    keyId: row.keyId ?? undefined,
    data: JSON.parse(row.data) as StoredEvent['data'],
    createdAt: new Date(row.createdAt),
    deliveredAt: dateOf(row.deliveredAt),
  };
}
