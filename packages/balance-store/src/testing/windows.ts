/** For tests that change the time of charges, or of what caps count from. */

import { WINDOW_PERIODS } from '../key.js';
import { windowStartsAt } from '../ledger/rules/cap-windows.js';

/**
 * An SQL statement that sets what the caps of charged keys count from, as if all their charges were
 * settled at this time. Without it, an audit reports charges whose time a test has changed.
 */
export function windowsAt(time: Date, where = 'true'): string {
  const starts = windowStartsAt(time.getTime());
  const set = WINDOW_PERIODS.map(
    (period) => `${period}_start = ${String(starts[period])}, ${period}_base = '0.00000000000000'`,
  );
  return `UPDATE api_key SET ${set.join(', ')} WHERE day_start > 0 AND ${where}`;
}
