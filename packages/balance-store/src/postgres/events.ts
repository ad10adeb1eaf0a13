/** Takes events for delivery, records the outcomes, and lists them. */

import type { Pool } from 'pg';
import type { EventChannel, EventState, EventType, StoredEvent } from '../event.js';
import { CHANNEL_COLUMNS, NO_RECEIVER, mailState } from '../ledger/rows/event-channels.js';
import type { EventTable } from '../ledger/database/ledger-database.js';
import { WRITE_TIMEOUT_MS, queryRows, reachingDatabase } from './query.js';

interface EventRow extends Omit<StoredEvent, 'seq' | 'type' | 'keyId' | 'mail'> {
  readonly seq: string;
  readonly type: EventType;
  readonly keyId: string | null;
  readonly mailedAt: Date | null;
  readonly mailDueAt: Date | null;
}

const columnsFor = (channel: EventChannel) =>
  'event.seq::text, id, type, account_id AS "accountId", key_id AS "keyId", data, ' +
  `created_at AS "createdAt", ${CHANNEL_COLUMNS[channel].attempts} AS attempts, ` +
  'delivered_at AS "deliveredAt", last_error AS "lastError", mailed_at AS "mailedAt", ' +
  'mail_due_at AS "mailDueAt", mail_error AS "mailError"';

const IN_STATE: Readonly<Record<EventState, string>> = {
  pending: 'due_at IS NOT NULL',
  delivered: 'delivered_at IS NOT NULL',
  undelivered: 'due_at IS NULL AND delivered_at IS NULL',
};

export function createEventTable(pool: Pool): EventTable {
  const query = async (text: string, values: readonly unknown[]) => {
    const rows = await reachingDatabase(() =>
      queryRows<EventRow>(pool, { text, values, timeoutMs: WRITE_TIMEOUT_MS }),
    );
    return rows.map(eventOf);
  };
  return {
    list({ order, state, accountId, after, limit }) {
      const isNewestFirst = order === 'newest';
      return query(
        `SELECT ${columnsFor('webhook')} FROM event ` +
          `WHERE ($1::int8 IS NULL OR event.seq ${isNewestFirst ? '<' : '>'} $1::int8) ` +
          `AND ($2::text IS NULL OR account_id = $2) ` +
          `${state === undefined ? '' : `AND ${IN_STATE[state]}`} ` +
          `ORDER BY event.seq ${isNewestFirst ? 'DESC' : ''} LIMIT $3`,
        [after?.toString() ?? null, accountId ?? null, limit],
      );
    },

    takeDue({ channel, limit, leaseMs }) {
      const { due } = CHANNEL_COLUMNS[channel];
      return query(
        `UPDATE event SET ${due} = clock_timestamp() + $2 * interval '1 millisecond' ` +
          'WHERE event.seq IN (SELECT e.seq FROM event e ' +
          `WHERE e.${due} <= clock_timestamp() AND e.seq = ` +
          '(SELECT min(f.seq) FROM event f WHERE f.account_id = e.account_id ' +
          `AND f.${due} IS NOT NULL) ` +
          `ORDER BY e.seq LIMIT $1 FOR UPDATE SKIP LOCKED) RETURNING ${columnsFor(channel)}`,
        [limit, leaseMs],
      );
    },

    async finish(channel, seq, { isDelivered, error, retryAt }) {
      const { attempts, done, due, error: column } = CHANNEL_COLUMNS[channel];
      await query(
        `UPDATE event SET ${attempts} = ${attempts} + 1, ` +
          `${done} = CASE WHEN $2 THEN clock_timestamp() END, ${due} = $3, ${column} = $4 ` +
          `WHERE event.seq = $1::int8 AND ${done} IS NULL RETURNING ${columnsFor(channel)}`,
        [seq.toString(), isDelivered, retryAt, error],
      );
    },

    async prune({ finishedBefore, giveUp, limit }) {
      for (const channel of giveUp?.channels ?? []) {
        const { attempts, due, error } = CHANNEL_COLUMNS[channel];
        await query(
          `UPDATE event SET ${due} = NULL, ${error} = $1 WHERE event.seq IN ` +
            `(SELECT e.seq FROM event e WHERE e.${due} IS NOT NULL AND e.${attempts} = 0 ` +
            'AND e.created_at < $2 LIMIT $3 FOR UPDATE SKIP LOCKED) ' +
            `RETURNING ${columnsFor(channel)}`,
          [NO_RECEIVER, giveUp?.before, limit],
        );
      }
      // The limit is in the inner query, so that it does not read the whole table.
      const deleted = await query(
        'DELETE FROM event WHERE event.seq IN (SELECT o.seq FROM (SELECT e.seq, e.created_at ' +
          'FROM event e WHERE e.due_at IS NULL AND e.mail_due_at IS NULL ' +
          'ORDER BY e.seq LIMIT $1) o ' +
          `WHERE o.created_at < $2) RETURNING ${columnsFor('webhook')}`,
        [limit, finishedBefore],
      );
      return deleted.length;
    },
  };
}

function eventOf({ seq, keyId, mailedAt, mailDueAt, ...row }: EventRow): StoredEvent {
  return {
    ...row,
    seq: BigInt(seq),
    keyId: keyId ?? undefined,
    mail: mailState({ mailedAt, mailDueAt, mailError: row.mailError }),
  };
}
