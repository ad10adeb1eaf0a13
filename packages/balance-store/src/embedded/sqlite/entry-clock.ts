/**
 * The time of new entries, in milliseconds since the epoch, unless their account has a later one: a
 * clock that was set back counts no further than the last entry. On PostgreSQL, the SQL function
 * `entry_time` has the same rule.
 */
export function entryClock(): number {
  return Date.now();
}
