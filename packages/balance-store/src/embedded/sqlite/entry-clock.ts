import type { Connection } from './connection.js';

/**
 * The time of new entries, in milliseconds since the epoch, unless their account has a later one: a
 * clock that was set back counts no further than the last entry, and no entry gets into a closed
 * month. On PostgreSQL, the SQL function `entry_time` has the same rule.
 */
export function entryClock(connection: Connection): number {
  const closed = connection.get<{ readonly until: number | null }>(
    'SELECT max(until_at) AS until FROM closed_month',
  );
  return Math.max(Date.now(), closed?.until ?? 0);
}
