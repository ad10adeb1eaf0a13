/**
 * Recomputes what the caps of a key count from: the windows of its last charge, and what the key
 * had used before each.
 */

import type { AuditDifference } from '../../audit.js';
import { WINDOW_PERIODS } from '../../key.js';
import { windowStartsAt } from '../rules/cap-windows.js';
import { DAY_MS } from '../base/hours.js';
import type { WindowBases } from '../rules/cap-windows.js';

/** The current window of one period, as far as the charges say. */
interface Window {
  /**
   * The first and the last possible start. They differ only if the last charges are archived, and
   * their sum extends over the start of a window.
   */
  readonly starts: readonly [number, number];
  /** The least and the most that the key may have used before it. */
  readonly bases: readonly [bigint, bigint];
}

/** In the order of the periods. One array for each key, because there may be many keys. */
export type WindowFold = readonly [Window, Window, Window];

const NEVER: Window = { starts: [0, 0], bases: [0n, 0n] };
export const NO_WINDOWS: WindowFold = [NEVER, NEVER, NEVER];

/**
 * Adds one charge, or the sum of several archived ones.
 *
 * @param used - Before and after it.
 */
export function addToWindows(
  fold: WindowFold,
  { firstMs, lastMs }: { readonly firstMs: number; readonly lastMs: number },
  [before, after]: readonly [bigint, bigint],
): WindowFold {
  const first = windowStartsAt(firstMs);
  const last = firstMs === lastMs ? first : windowStartsAt(lastMs);
  const next = WINDOW_PERIODS.map((period, index): Window => {
    const window = fold[index] ?? NEVER;
    const [from, to] = [first[period], last[period]];
    if (from !== to) return { starts: [from, to], bases: [before, after] };
    const [earliest, latest] = window.starts;
    if (earliest === to && latest === to) return window;
    // The window has begun with this charge, or possibly with an archived charge before it.
    const least = from >= earliest && from <= latest ? window.bases[0] : before;
    return { starts: [to, to], bases: [least, before] };
  });
  return next as unknown as WindowFold;
}

/** Reports the windows of a key's row that its charges cannot have caused. */
export function compareWindows(
  key: { readonly id: string; readonly accountId: string; readonly windows: WindowBases },
  fold: WindowFold,
  complain: (found: AuditDifference) => void,
): void {
  WINDOW_PERIODS.forEach((period, index) => {
    const { starts, bases } = fold[index] ?? NEVER;
    const [start, base] = [key.windows.starts[period], key.windows.bases[period]];
    if (start >= starts[0] && start <= starts[1] && base >= bases[0] && base <= bases[1]) return;
    complain({
      check: 'cap_window',
      accountId: key.accountId,
      keyId: key.id,
      entryId: undefined,
      expected: `the ${period} of ${rangeText(starts.map(dayText))}, ${rangeText(bases.map(String))} used before`,
      found: `the ${period} of ${dayText(start)}, ${String(base)} used before`,
    });
  });
}

function rangeText([from, to]: readonly string[]): string {
  return from === to ? String(from) : `${String(from)} to ${String(to)}`;
}

/** A day, given as days since 1970-01-01. */
function dayText(day: number): string {
  const date = new Date(day * DAY_MS);
  return Number.isNaN(date.getTime()) ? String(day) : date.toISOString().slice(0, 10);
}
