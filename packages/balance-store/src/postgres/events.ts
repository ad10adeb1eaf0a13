/** Takes events for delivery, records the outcomes, and lists them. */

import type { Pool } from 'pg';
import type { EventState, EventType, StoredEvent } from '../event.js';
import { NO_RECEIVER } from '../ledger/ledger-database.js';
import type { EventTable } from '../ledger/ledger-database.js';
import { WRITE_TIMEOUT_MS, queryRows, reachingDatabase } from './query.js';

interface EventRow extends Omit<StoredEvent, 'seq' | 'type' | 'keyId'> {
  readonly seq: string;
  readonly type: EventType;
  readonly keyId: string | null;
}

const COLUMNS =
  'event.seq::text, id, type, account_id AS "accountId", key_id AS "keyId", data, ' +
  'created_at AS "createdAt", attempts, delivered_at AS "deliveredAt", ' +
  'last_error AS "lastError"';

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
        `SELECT ${COLUMNS} FROM event ` +
          `WHERE ($1::int8 IS NULL OR event.seq ${isNewestFirst ? '<' : '>'} $1::int8) ` +
          `AND ($2::text IS NULL OR account_id = $2) ` +
          `${state === undefined ? '' : `AND ${IN_STATE[state]}`} ` +
          `ORDER BY event.seq ${isNewestFirst ? 'DESC' : ''} LIMIT $3`,
        [after?.toString() ?? null, accountId ?? null, limit],
      );
    },

    takeDue: ({ limit, leaseMs }) =>
      query(
        "UPDATE event SET due_at = clock_timestamp() + $2 * interval '1 millisecond' " +
          'WHERE event.seq IN (SELECT e.seq FROM event e ' +
          'WHERE e.due_at <= clock_timestamp() AND e.seq = ' +
          '(SELECT min(f.seq) FROM event f WHERE f.account_id = e.account_id ' +
          'AND f.due_at IS NOT NULL) ' +
          `ORDER BY e.seq LIMIT $1 FOR UPDATE SKIP LOCKED) RETURNING ${COLUMNS}`,
        [limit, leaseMs],
      ),

    async finish(seq, { isDelivered, error, retryAt }) {
      await query(
        'UPDATE event SET attempts = attempts + 1, ' +
          'delivered_at = CASE WHEN $2 THEN clock_timestamp() END, due_at = $3, last_error = $4 ' +
          `WHERE event.seq = $1::int8 AND delivered_at IS NULL RETURNING ${COLUMNS}`,
        [seq.toString(), isDelivered, retryAt, error],
      );
    },

    async prune({ finishedBefore, giveUpBefore, limit }) {
      if (giveUpBefore !== null) {
        await query(
          'UPDATE event SET due_at = NULL, last_error = $1 WHERE event.seq IN ' +
            '(SELECT e.seq FROM event e WHERE e.due_at IS NOT NULL AND e.attempts = 0 ' +
            `AND e.created_at < $2 LIMIT $3 FOR UPDATE SKIP LOCKED) RETURNING ${COLUMNS}`,
          [NO_RECEIVER, giveUpBefore, limit],
        );
      }
      // The limit is in the inner query, so that it does not read the whole table.
      const deleted = await query(
        'DELETE FROM event WHERE event.seq IN (SELECT o.seq FROM (SELECT e.seq, e.created_at ' +
          'FROM event e WHERE e.due_at IS NULL ORDER BY e.seq LIMIT $1) o ' +
          `WHERE o.created_at < $2) RETURNING ${COLUMNS}`,
        [limit, finishedBefore],
      );
      return deleted.length;
    },
  };
}

function eventOf({ seq, keyId, ...row }: EventRow): StoredEvent {
  return { ...row, seq: BigInt(seq), keyId: keyId ?? undefined };
}
