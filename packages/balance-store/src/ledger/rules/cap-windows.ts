/**
 * Windows of caps. Each begins at 00:00 UTC; its start is a number of days since 1970-01-01. The
 * SQL functions `day_of`, `month_start` and `caps_of` have the same rules for PostgreSQL.
 */

import { DAY_MS } from '../base/hours.js';
import { CAP_PERIODS } from '../../key.js';
import type { CapPeriod, CapUse, KeyCaps } from '../../key.js';

/** 1970-01-01 was a Thursday, three days after a Monday. */
const DAYS_AFTER_MONDAY = 3;

/** The first day of the current window of each period. The window of `total` never ends. */
export type WindowStarts = Readonly<Record<CapPeriod, number>>;

export function windowStartsAt(ms: number): WindowStarts {
  const day = Math.floor(ms / DAY_MS);
  const date = new Date(ms);
  return {
    day,
    week: day - ((day + DAYS_AFTER_MONDAY) % 7),
    month: Date.UTC(date.getUTCFullYear(), date.getUTCMonth()) / DAY_MS,
    total: 0,
  };
}

/** When the current window ends and the cap starts anew; `undefined` for `total`. */
export function renewalOf(period: CapPeriod, now: Date): Date | undefined {
  const { day, week } = windowStartsAt(now.getTime());
  switch (period) {
    case 'day':
      return new Date((day + 1) * DAY_MS);
    case 'week':
      return new Date((week + 7) * DAY_MS);
    case 'month':
      return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1));
    case 'total':
      return undefined;
  }
}

/**
 * The windows in which a key was last charged, as recorded in its row: when they began, and what
 * the key had used before.
 */
export interface WindowBases {
  readonly starts: WindowStarts;
  readonly bases: Readonly<Record<CapPeriod, bigint>>;
}

/**
 * The amount that a key has used in each window. A window that begins later than the current one
 * counts: the clock was set back since the key was charged.
 *
 * @param used - The amount that it has used since its creation.
 */
export function usedInWindows(
  used: bigint,
  { starts, bases }: WindowBases,
  current: WindowStarts,
): Record<CapPeriod, bigint> {
  const inWindow = (period: CapPeriod) =>
    starts[period] >= current[period] ? used - bases[period] : 0n;
  return {
    day: inWindow('day'),
    week: inWindow('week'),
    month: inWindow('month'),
    total: used,
  };
}

/** The caps that are set. The cap with the smallest unused part is the first. */
export function capUses(
  caps: KeyCaps,
  used: Readonly<Record<CapPeriod, bigint>>,
): readonly CapUse[] {
  const uses: CapUse[] = [];
  for (const period of CAP_PERIODS) {
    const cap = caps[period];
    if (cap !== null) uses.push({ period, cap, used: used[period] });
  }
  return uses.sort(
    (a, b) => compare(a.cap - a.used, b.cap - b.used) || compare(a.period, b.period),
  );
}

function compare<Value extends bigint | string>(a: Value, b: Value): number {
  return a < b ? -1 : Number(a > b);
}
